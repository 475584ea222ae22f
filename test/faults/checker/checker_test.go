package checker

import (
	"slices"
	"strings"
	"testing"
)

// good is a run in which everything went well: an idempotent producer 1 and a plain producer 2 on two partitions, one
// record of each of unknown outcome (one is in the log, one is not), a plain duplicate, and a consumer of partition 0.
func good() Run {
	digest := func(id ID) uint64 { return uint64(id.Producer)*1000 + uint64(id.Seq) }
	sent := func(producer int32, partition int32, seq int64, o Outcome, offset int64) Sent {
		return Sent{partition, seq, digest(ID{producer, seq}), o, offset}
	}
	log := func(ids ...ID) []Entry {
		var es []Entry
		for i, id := range ids {
			es = append(es, Entry{int64(i), id, digest(id)})
		}
		return es
	}
	run := Run{
		Producers: []Producer{
			{ID: 1, Idempotent: true, Sent: []Sent{
				sent(1, 0, 0, Acked, 0), sent(1, 1, 1, Acked, 0), sent(1, 0, 2, Acked, 2), sent(1, 0, 3, Unknown, 0),
			}},
			{ID: 2, Sent: []Sent{
				sent(2, 0, 0, Acked, 3), sent(2, 0, 1, Unknown, 0), sent(2, 0, 2, Acked, 4), sent(2, 1, 3, Acked, 1),
			}},
		},
		Final: map[int32][]Entry{
			0: log(ID{1, 0}, ID{2, 0}, ID{1, 2}, ID{2, 0}, ID{2, 2}, ID{1, 3}),
			1: log(ID{1, 1}, ID{2, 3}),
		},
	}
	run.Views = []View{{Consumer: "c", Partition: 0, Complete: true, Entries: slices.Clone(run.Final[0])}}
	return run
}

func TestARunWithoutFaultsPassesAndIsCounted(t *testing.T) {
	r := Check(good())
	if !r.OK() {
		t.Fatal(r)
	}
	want := Report{Sent: 8, Acked: 6, Unknown: 2, UnknownPresent: 1, Duplicates: 1, Entries: 8, Seen: 6}
	got := *r
	got.Faults = nil
	if got.String() != want.String() {
		t.Errorf("counts\n got %s\nwant %s", &got, &want)
	}
}

// Each case breaks one promise of the good run.
func TestEveryFaultIsReported(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(*Run)
		want  []Kind // all kinds that follow from it
	}{
		{"an acknowledged record is lost at the end", func(r *Run) {
			r.Final[1] = r.Final[1][:1]
		}, []Kind{Lost}},
		{"an acknowledged record is lost in the middle, later ones move up", func(r *Run) {
			r.Final[0] = slices.Delete(r.Final[0], 2, 3)
			renumber(r.Final[0])
			r.Views = nil
		}, []Kind{Lost, Misplaced}},
		{"an idempotent record is there twice", func(r *Run) {
			r.Final[0] = append(r.Final[0], Entry{6, r.Final[0][0].ID, r.Final[0][0].Digest})
			r.Views = nil
		}, []Kind{Duplicated}},
		{"an unknown idempotent record is there twice", func(r *Run) {
			r.Final[0] = append(r.Final[0], Entry{6, r.Final[0][5].ID, r.Final[0][5].Digest})
			r.Views = nil
		}, []Kind{Duplicated}},
		{"two idempotent records changed places", func(r *Run) {
			swap(r.Final[0], 0, 2)
			r.Producers[0].Sent[0].Offset, r.Producers[0].Sent[2].Offset = 2, 0
			r.Views = nil
		}, []Kind{Reordered}},
		{"an unknown idempotent record overtook an acknowledged one", func(r *Run) {
			swap(r.Final[0], 2, 5)
			r.Producers[0].Sent[2].Offset = 5
			r.Views = nil
		}, []Kind{Reordered}},
		{"two plain records changed places", func(r *Run) {
			r.Final[0] = []Entry{r.Final[0][0], r.Final[0][4], r.Final[0][2], r.Final[0][3], r.Final[0][1], r.Final[0][5]}
			renumber(r.Final[0])
			r.Producers[1].Sent[2].Offset = 1
			r.Views = nil
		}, []Kind{Reordered}},
		{"a plain record that was given up comes before one acknowledged earlier", func(r *Run) {
			r.Final[0] = slices.Insert(r.Final[0], 1, Entry{0, ID{2, 1}, 2001})
			renumber(r.Final[0])
			for p := range r.Producers {
				for i := range r.Producers[p].Sent {
					if s := &r.Producers[p].Sent[i]; s.Partition == 0 && s.Offset > 0 {
						s.Offset++
					}
				}
			}
			r.Views = nil
		}, []Kind{Reordered}},
		{"a record's content changed", func(r *Run) {
			r.Final[1][0].Digest++
		}, []Kind{Changed, Lost}},
		{"a record went to another partition", func(r *Run) {
			r.Final[1] = append(r.Final[1], Entry{2, r.Final[0][5].ID, r.Final[0][5].Digest})
		}, []Kind{Changed}},
		{"a record nobody sent", func(r *Run) {
			r.Final[1] = append(r.Final[1], Entry{2, ID{Producer: -1}, 7})
		}, []Kind{Unsent}},
		{"an acknowledgement named another offset", func(r *Run) {
			r.Producers[0].Sent[1].Offset = 1
		}, []Kind{Misplaced}},
		{"a gap between offsets", func(r *Run) {
			r.Final[1][1].Offset = 2
			r.Producers[1].Sent[3].Offset = 2
		}, []Kind{Gap}},
		{"offsets do not begin at 0", func(r *Run) {
			r.Final[1][0].Offset, r.Final[1][1].Offset = 1, 2
			r.Producers[0].Sent[1].Offset, r.Producers[1].Sent[3].Offset = 1, 2
		}, []Kind{Gap}},
		{"a consumer was led over a record", func(r *Run) {
			r.Views[0].Entries = slices.Delete(r.Views[0].Entries, 3, 4)
		}, []Kind{LiveGap}},
		{"a consumer did not get the first record", func(r *Run) {
			r.Views[0].Entries = r.Views[0].Entries[1:]
		}, []Kind{LiveGap}},
		{"a consumer got a record twice", func(r *Run) {
			r.Views[0].Entries = slices.Insert(r.Views[0].Entries, 3, r.Views[0].Entries[2])
		}, []Kind{LiveRepeat}},
		{"a consumer saw another record at an offset", func(r *Run) {
			r.Views[0].Entries[3].ID = ID{2, 1}
		}, []Kind{LiveChanged}},
		{"a consumer saw other content at an offset", func(r *Run) {
			r.Views[0].Entries[3].Digest++
		}, []Kind{LiveChanged}},
		{"a consumer saw a record that is gone in the end", func(r *Run) {
			r.Views[0].Entries = append(r.Views[0].Entries, Entry{6, ID{2, 1}, 2001})
		}, []Kind{LiveGone}},
		{"a consumer starved", func(r *Run) {
			r.Views[0].Entries = r.Views[0].Entries[:4]
		}, []Kind{LiveShort}},
		{"two records of a history have one id", func(r *Run) {
			r.Producers[0].Sent = append(r.Producers[0].Sent, r.Producers[0].Sent[0])
		}, []Kind{TwiceSent, Reordered}},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			run := good()
			c.spoil(&run)
			report := Check(run)
			got := kinds(report)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Errorf("reported %q, want %q\n%s", got, c.want, report)
			}
		})
	}
}

func TestAPlainRecordGivenUpMayArriveLate(t *testing.T) {
	run := good()
	run.Final[0] = append(run.Final[0], Entry{6, ID{2, 1}, 2001})
	run.Views[0].Entries = slices.Clone(run.Final[0])
	if r := Check(run); !r.OK() || r.UnknownPresent != 2 {
		t.Error(r)
	}
}

func TestAConsumerThatWasStoppedEarlyIsNotStarved(t *testing.T) {
	run := good()
	run.Views[0].Complete = false
	run.Views[0].Entries = run.Views[0].Entries[:2]
	if r := Check(run); !r.OK() {
		t.Error(r)
	}
}

func TestAReportListsFewFaultsOfAKindAndCountsAll(t *testing.T) {
	run := good()
	for i := range int64(100) {
		run.Final[1] = append(run.Final[1], Entry{2 + i, ID{9, i}, 1})
	}
	r := Check(run)
	if r.Count(Unsent) != 100 {
		t.Errorf("counted %d unsent records, want 100", r.Count(Unsent))
	}
	if text := r.String(); !strings.Contains(text, "100 unsent") || strings.Count(text, "\n") != 1+shown {
		t.Errorf("report is\n%s", text)
	}
}

func kinds(r *Report) []Kind {
	var ks []Kind
	for _, f := range r.Faults {
		if !slices.Contains(ks, f.Kind) {
			ks = append(ks, f.Kind)
		}
	}
	slices.Sort(ks)
	return ks
}

func renumber(log []Entry) {
	for i := range log {
		log[i].Offset = int64(i)
	}
}

// swap exchanges two records but not their offsets.
func swap(log []Entry, i, j int) {
	log[i], log[j] = log[j], log[i]
	log[i].Offset, log[j].Offset = int64(i), int64(j)
}
