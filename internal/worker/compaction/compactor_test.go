package compaction

import (
	"testing"
)

func TestNewestRecordOfEachKeyStaysAtItsOffset(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1", "b=1", "a=2", "b", "c=1")
	if !l.compact() {
		t.Fatal("no pass")
	}
	l.want("2:a=2 3:b 4:c=1")
	if l.compact() {
		t.Error("a pass although nothing is dirty")
	}
	l.put("c=2", "d=1")
	l.compact()
	l.want("2:a=2 3:b 5:c=2 6:d=1")
}

func TestNewestAppendIsLeftAlone(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1")
	if l.compact() {
		t.Error("a pass over nothing but the newest append")
	}
	l.put("a=2")
	l.compact()
	l.want("0:a=1 1:a=2") // the key's newest record is in the newest append, which is not looked at
	l.put("b=1")
	l.compact()
	l.want("1:a=2 2:b=1")
}

func TestTombstoneStaysUntilConsumersHadTimeToSeeIt(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1", "a", "b=1", "x=1")
	l.now = l.ms + 500_000 // however old it is
	l.compact()
	l.want("1:a 2:b=1 3:x=1")
	l.now += 1000
	if l.compact() {
		t.Error("a pass before the tombstone may go")
	}
	l.now++
	if !l.compact() {
		t.Error("no pass although the tombstone may go")
	}
	l.want("2:b=1 3:x=1")
	if l.now += 100_000; l.compact() {
		t.Error("a pass although no tombstone is left")
	}
}

func TestRecordsWithoutAKeyGo(t *testing.T) {
	l := newKeyedLog(t)
	l.put("=1", "a=1", "=2", "=3")
	l.compact()
	l.want("1:a=1 3:=3")
}

func TestEmptyKeyIsAKey(t *testing.T) {
	l := newKeyedLog(t)
	for _, v := range []string{"1", "2", "3"} {
		r := keyed("", v)
		r.Key = []byte{}
		l.append(r)
	}
	l.put("x=1")
	l.compact()
	l.want("2:=3 3:x=1")
}

func TestYoungRecordsStayForMinCompactionLag(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1", "a=2", "a=3", "x=1")
	l.cfg.MinCompactionLagMs = 100
	l.now = l.ms
	if l.compact() {
		t.Error("a pass although all is young")
	}
	l.now = l.ms + 98 // a=1 and a=2 are 101 and 100 ms old
	l.compact()
	l.want("1:a=2 2:a=3 3:x=1")
	l.now += 1000
	l.compact()
	l.want("2:a=3 3:x=1")
}

func TestDirtyRatioDecides(t *testing.T) {
	l := newKeyedLog(t)
	l.cfg.MinCleanableDirtyRatio = 0.5
	l.put("a=1", "b=1", "c=1", "d=1", "a=2")
	l.compact() // all was dirty: 1.0
	l.want("0:a=1 1:b=1 2:c=1 3:d=1 4:a=2")
	l.put("a=3", "a=4", "a=5", "x=1")
	if l.compact() {
		t.Error("a pass at a ratio of 4 of 8")
	}
	l.put("y=1")
	if !l.compact() {
		t.Error("no pass at a ratio of 5 of 9")
	}
	l.want("1:b=1 2:c=1 3:d=1 7:a=5 8:x=1 9:y=1")
}

func TestRecordsDirtyForMaxCompactionLagAreCompactedAtAnyRatio(t *testing.T) {
	l := newKeyedLog(t)
	l.cfg.MinCleanableDirtyRatio, l.cfg.MaxCompactionLagMs = 0.99, 1000
	l.put("a=1", "b=1", "c=1", "x=1")
	l.compact()
	l.put("a=2", "x=2")
	l.now = l.ms + 1000 - 2
	if l.compact() {
		t.Error("a pass before the lag is over")
	}
	if l.now += 2; !l.compact() {
		t.Error("no pass although the lag is over")
	}
	l.want("1:b=1 2:c=1 3:x=1 4:a=2 5:x=2")
}

func TestPassThatFindsMoreKeysThanItHasMemoryForGoesOnNextTime(t *testing.T) {
	l := newKeyedLog(t)
	l.memory = 8 * newestSlotBytes // six keys
	for range 3 {
		for _, k := range "abcdefghijklmnop" {
			l.put(string(k) + "=1")
		}
	}
	l.put("x=1")
	n := 0
	for l.compact() {
		n++
	}
	if n < 6 {
		t.Errorf("%d passes", n)
	}
	if got, want := len(l.content()), len("32:a=1 ")*16+len("48:x=1"); got != want {
		t.Errorf("left: %s", l.content())
	}
}
