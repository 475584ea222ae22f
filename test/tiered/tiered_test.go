package tiered

import (
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestATopicIsOneLogOverBothTiers(t *testing.T) {
	for name, at := range places {
		t.Run(name, func(t *testing.T) {
			w := start(t, at(t))
			w.create("Orders.eu", 2, tiered())
			const records = 4000 // of each partition, in about four segments
			for p := range int32(2) {
				w.produce("Orders.eu", p, 0, records)
			}
			for p := range int32(2) {
				w.awaitDropped("Orders.eu", p, records/2)
				if got := w.offset("Orders.eu", p, earliest); got != 0 {
					t.Errorf("the log of partition %d starts at %d", p, got)
				}
				w.consume("Orders.eu", p, 0, records)
			}
			w.produce("Orders.eu", 0, records, records+10)
			w.consume("Orders.eu", 0, records-5, records+10)
			w.accepted("Orders.eu", "log.append.timestamp.header=true")
			w.stamped("Orders.eu", 0, records+10)
			w.accepted("Orders.eu", "log.append.timestamp.header=false")
			if tables := w.tables(); len(tables) != 1 || !strings.HasPrefix(tables[0], "orders_eu-") {
				t.Errorf("tables are %v", tables)
			}
			w.Restart()
			w.consume("Orders.eu", 1, 0, records)
			if _, err := w.admin.DeleteTopic(t.Context(), "Orders.eu"); err != nil {
				t.Fatal(err)
			}
			redistest.Eventually(t, "the table's folder to go", func() bool { return len(w.tables()) == 0 })
		})
	}
}
