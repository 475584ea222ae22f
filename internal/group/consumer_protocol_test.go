package group

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAssignmentsAreEncodedInTheVersionOfTheSubscription(t *testing.T) {
	img := simTopics()
	set := partitionSet{parts(1, 0, 2), parts(2, 1), parts(9, 0)}
	for version := range int16(4) {
		sub := kmsg.NewConsumerMemberMetadata()
		sub.Version = version
		text := encodeAssignment(set, img, sub.AppendTo(nil))
		var a kmsg.ConsumerMemberAssignment
		if err := a.ReadFrom(text); err != nil || a.Version != version {
			t.Errorf("version %d: %d, %v", version, a.Version, err)
		}
		back, custom, err := parseAssignment(text, img)
		if err != nil || custom || !back.equal(set[:2]) {
			t.Errorf("version %d: %v, %v, %v", version, back, custom, err)
		}
	}
}

func TestAssignmentWithAnAssignorsOwnDataIsNoticed(t *testing.T) {
	a := kmsg.NewConsumerMemberAssignment()
	a.UserData = []byte("x")
	if _, custom, err := parseAssignment(a.AppendTo(nil), simTopics()); !custom || err != nil {
		t.Errorf("custom %v, %v", custom, err)
	}
}

func TestSubscriptionOfVersion3HasARackAndPartitions(t *testing.T) {
	rack := "r"
	sub := kmsg.NewConsumerMemberMetadata()
	sub.Version, sub.Topics, sub.Rack = 3, []string{"b", "a"}, &rack
	sub.OwnedPartitions = []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "t000", Partitions: []int32{3, 1}}, {Topic: "gone", Partitions: []int32{0}}}
	s, err := parseSubscription(sub.AppendTo(nil))
	if err != nil || s.rack != "r" || !slices.Equal(s.topics, sub.Topics) {
		t.Fatalf("got %+v, %v", s, err)
	}
	if got := setOf(s.owned(simTopics())); !got.equal(partitionSet{parts(1, 1, 3)}) {
		t.Errorf("owned %v", got)
	}
}

// FuzzEmbeddedProtocol gives members any metadata and assignment: they are refused, or the group lives with them.
func FuzzEmbeddedProtocol(f *testing.F) {
	f.Add(subscription("t000"), []byte(assignmentOf(0, 1)))
	f.Add([]byte{0, 1, 0, 0, 0, 1}, []byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, metadata, assignment []byte) {
		r := newConsumerRig(t)
		if _, _, err := parseAssignment(assignment, r.img); err != nil && len(assignment) == 0 {
			t.Error("no assignment is none")
		}
		r.mustBeat(joining("a", "t000"))
		req := aJoin("c")
		req.Protocols = []Protocol{{Name: "range", Metadata: metadata}}
		if resp := r.joined(r.join(req)); resp.Err == nil {
			r.synced(r.sync(aSync("c", resp.Generation, nil)))
			r.mustBeat(plain("a", -1))
			if r.g.Type() != Classic {
				t.Error("not downgraded")
			}
		}
	})
}
