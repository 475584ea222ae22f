package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/migrate"
)

func TestATopicIsCopiedAsItIs(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 3, "retention.ms", "123456789")
	w.fill("orders", 3, 5000)
	for _, partitions := range []int32{3, 5, 1} {
		target := fmt.Sprintf("orders-%d", partitions)
		if err := w.run(t.Context(), w.client, "orders", target, partitions); err != nil {
			t.Fatal(err)
		}
		w.same("orders", target)
		result := w.cutover("orders", target)
		records := int64(0)
		for _, c := range result.Checked {
			records += c.Records
		}
		if records != 5000 {
			t.Errorf("%d records compared: %+v", records, result.Checked)
		}
		configs, err := w.admin.DescribeTopicConfigs(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		own, _ := configs.On(target, nil)
		for _, c := range own.Configs {
			if c.Key == "retention.ms" && c.MaybeValue() != "123456789" {
				t.Errorf("retention.ms is %s", c.MaybeValue())
			}
		}
	}
}

// The migration is cut after every number of writes, with the last one arriving or not, and each run begins while the last
// write of the one before may still be on its way.
func TestNoCrashLosesOrDuplicatesARecord(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 2)
	w.fill("orders", 2, 300)
	for _, partitions := range []int32{2, 3} {
		for n := int64(0); ; n++ {
			target := fmt.Sprintf("t-%d-%d", partitions, n)
			finished := w.crash("orders", target, partitions, n, n%2 == 0)
			for again := int64(0); !finished; again++ {
				w.fill("orders", 2, 3)
				finished = w.crash("orders", target, partitions, n/2+again, again%2 == 0)
			}
			w.cutover("orders", target)
			w.same("orders", target)
			if finished && n > 40 {
				break
			}
		}
	}
}

func TestATargetThatNothingExplainsIsRefused(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.create("other", 1)
	w.fill("orders", 1, 10)
	w.fill("other", 1, 1)
	if err := w.run(t.Context(), w.client, "orders", "other", 0); err == nil || !strings.Contains(err.Error(), "holds records") {
		t.Errorf("a topic with records: %v", err)
	}
	if err := w.run(t.Context(), w.client, "orders", "copy", 0); err != nil {
		t.Fatal(err)
	}
	w.fill("copy", 1, 1)
	if err := w.run(t.Context(), w.client, "orders", "copy", 0); err == nil || !strings.Contains(err.Error(), "does not explain") {
		t.Errorf("a target that somebody else wrote to: %v", err)
	}
}

func TestTheNewestRunIsTheOnlyOne(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.fill("orders", 1, 10)
	first, err := migrate.Open(t.Context(), w.options(w.client, "orders", "copy", 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.run(t.Context(), w.client, "orders", "copy", 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Copy(t.Context(), true); err == nil || !strings.Contains(err.Error(), migrate.ErrTakenOver.Error()) {
		t.Errorf("the older run: %v", err)
	}
	w.same("orders", "copy")
}
