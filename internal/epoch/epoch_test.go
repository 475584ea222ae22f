package epoch

import (
	"slices"
	"testing"
)

func TestWhereTwoHistoriesFork(t *testing.T) {
	for name, c := range map[string]struct {
		a, b       string
		aEnd, bEnd int64
		want       int64
	}{
		"same":                                {"1:0,5:10", "1:0,5:10", 20, 20, 20},
		"one is longer":                       {"1:0,5:10", "1:0,5:10", 30, 20, 20},
		"a newer epoch after the end":         {"1:0,5:10,7:20", "1:0,5:10", 30, 20, 20},
		"a newer epoch below the end":         {"1:0,5:10,7:15", "1:0,5:10", 30, 20, 15},
		"a newer epoch, and no longer":        {"1:0,7:12", "1:0,5:10", 12, 20, 10},
		"epochs that had no record":           {"1:0,5:10,6:10,7:10", "1:0,7:10", 30, 20, 20},
		"two rewinds":                         {"1:0,9:5", "1:0,5:10,7:15", 30, 20, 5},
		"the log start let the first go":      {"5:10,7:15", "1:0,5:10", 30, 20, 15},
		"no epoch in common":                  {"7:0", "1:0", 30, 20, 0},
		"a backup of the branch that was cut": {"1:0,5:10", "1:0,7:12", 30, 20, 10},
		"nothing is known of one":             {"", "1:0,5:10", 30, 20, 20},
		"known from different offsets on":     {"9:12", "1:0,5:10", 30, 20, 12},
	} {
		a, _ := Parse(c.a)
		b, err := Parse(c.b)
		if got, back := Fork(a, c.aEnd, b, c.bEnd), Fork(b, c.bEnd, a, c.aEnd); got != c.want || back != c.want || err != nil {
			t.Errorf("%s: fork at %d and %d, want %d, %v", name, got, back, c.want, err)
		}
	}
}

func TestBelowKeepsTheNewestEpochs(t *testing.T) {
	var h History
	for i := range int64(3 * Kept) {
		h = append(h, Epoch{int32(i), i})
	}
	got := h.Below(250)
	if len(got) != Kept || got.Newest() != 249 {
		t.Errorf("%d epochs, newest %d", len(got), got.Newest())
	}
	h, _ = Parse("1:0,2:0,3:5,4:9")
	if got := h.Below(9).Text(); got != "2:0,3:5" {
		t.Errorf("below 9: %s", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "1:0", "1:0,5:10", "-1:0", "1:-5", "x", "1:0,,", "2147483648:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(h.Text())
		if err != nil || !slices.Equal(again, h) {
			t.Errorf("%q: %v, then %v, %v", text, h, again, err)
		}
	})
}
