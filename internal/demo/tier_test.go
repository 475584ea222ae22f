package demo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// tier has one partition: segments 2 to 5 of ten records each are sealed, 6 is open with two.
func tier() Tier {
	var l Log
	for n := int64(2); n < 6; n++ {
		l.Sealed = append(l.Sealed, Segment{Number: n, First: 10 * n, Next: 10*n + 10, Values: 4096, Stored: 1024, Bytes: 2048, Age: time.Duration(60-10*n) * time.Second})
	}
	l.Open = Segment{Number: 6, First: 60, Next: 62, Values: 512, Stored: 128, Bytes: 1024, Age: 1500 * time.Millisecond}
	return Tier{Codec: "zstd", Dictionary: true, Logs: []Log{l}}
}

func TestSegmentsAreShownFromTheOpenOneToWhatWasDropped(t *testing.T) {
	want := strings.Split(`  redis  1 open, 4 sealed, 2 gone  zstd + dictionary 4.0x
  events-0                   offsets   records   values   stored in redis   age
  open                         60-61         2   0.5 KB   0.1 KB   1.0 KB   1 s
  sealed 5                     50-59        10   4.0 KB   1.0 KB   2.0 KB  10 s
  sealed 4                     40-49        10   4.0 KB   1.0 KB   2.0 KB  20 s
  sealed 3                     30-39        10   4.0 KB   1.0 KB   2.0 KB  30 s
  sealed 2                     20-29        10   4.0 KB   1.0 KB   2.0 KB  40 s
  dropped                       0-19        20  by retention`, "\n")
	if got := tier().lines(len(want)); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	want = slices.Concat(want[:4], []string{"  3 older                      20-49        30  12.0 KB   3.0 KB   6.0 KB  40 s"}, want[7:])
	if got := tier().lines(len(want)); !slices.Equal(got, want) {
		t.Errorf("with less room\n%s", strings.Join(got, "\n"))
	}
	want = slices.Concat(want[:3], []string{"  4 older                      20-59        40  16.0 KB   4.0 KB   8.0 KB  40 s"}, want[5:])
	if got := tier().lines(0); !slices.Equal(got, want) {
		t.Errorf("with no room\n%s", strings.Join(got, "\n"))
	}
}

func TestSegmentsOfATieredTopicAreCopiedThenRemote(t *testing.T) {
	one := tier()
	one.Logs[0].Start, one.Logs[0].Tiered = 5, 40
	want := strings.Split(`  redis  1 open, 4 sealed, 2 gone  zstd + dictionary 4.0x  table 35
  events-0                   offsets   records   values   stored in redis   age
  open                         60-61         2   0.5 KB   0.1 KB   1.0 KB   1 s
  sealed 5                     50-59        10   4.0 KB   1.0 KB   2.0 KB  10 s
  sealed 4                     40-49        10   4.0 KB   1.0 KB   2.0 KB  20 s
  copied 3                     30-39        10   4.0 KB   1.0 KB   2.0 KB  30 s
  copied 2                     20-29        10   4.0 KB   1.0 KB   2.0 KB  40 s
  remote                        5-19        15  in the table alone
  dropped                        0-4         5  by retention`, "\n")
	if got := one.lines(len(want)); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := one.lines(0); len(got) != tierLines {
		t.Errorf("with no room\n%s", strings.Join(got, "\n"))
	}
}

func TestValuesThatAreNotKnownAreNotMadeUp(t *testing.T) {
	one := tier()
	one.Logs[0].Sealed[1].Values = 0
	lines := one.lines(0)
	if got := lines[3]; !strings.Contains(got, "        -        -   8.0 KB") {
		t.Errorf("got %s", got)
	}
	one.Logs[0] = Log{}
	if got := one.lines(0); len(got) != 3 || !strings.HasSuffix(got[0], "dictionary") || !strings.Contains(got[2], "open                             -         0") {
		t.Errorf("an empty log: %q", got)
	}
	if got := (Tier{}).lines(0); len(got) != 1 {
		t.Errorf("nothing known: %q", got)
	}
}

func TestAgesHaveOneUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{99*time.Second + 999*time.Millisecond: "99 s", 100 * time.Second: "1 m", 99 * time.Minute: "99 m", 26 * time.Hour: "26 h"} {
		if got := age(d); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
