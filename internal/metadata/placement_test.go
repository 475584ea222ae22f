package metadata

import (
	"testing"

	"github.com/google/uuid"
)

func TestOneBrokerLeadsEverything(t *testing.T) {
	nodes := []Node{{ID: 7}}
	for p := range int32(10) {
		if id, ok := Leader(nodes, uuid.Max, p); id != 7 || !ok {
			t.Errorf("leader of partition %d: %d, %v, want 7", p, id, ok)
		}
	}
	if _, ok := Leader(nil, uuid.Max, 0); ok {
		t.Error("an empty cluster has a leader")
	}
}

func TestPartitionsAreSpreadAndOnlyThoseOfALeavingBrokerMove(t *testing.T) {
	const partitions = 9000
	all := []Node{{ID: 0}, {ID: 1}, {ID: 2}}
	rest := []Node{{ID: 2}, {ID: 0}} // in another order
	topic := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	count := map[int32]int{}
	for p := range int32(partitions) {
		before, _ := Leader(all, topic, p)
		after, _ := Leader(rest, topic, p)
		count[before]++
		if before != 1 && before != after {
			t.Fatalf("partition %d moved from %d to %d although broker 1 left", p, before, after)
		}
	}
	for id, n := range count {
		if n < partitions/3-300 || n > partitions/3+300 {
			t.Errorf("broker %d leads %d of %d partitions", id, n, partitions)
		}
	}
}

func TestControllerIsTheLowestLiveBroker(t *testing.T) {
	if id, ok := Controller([]Node{{ID: 4}, {ID: 2}, {ID: 3}}); id != 2 || !ok {
		t.Errorf("controller %d, %v, want 2", id, ok)
	}
}
