package proc

import "testing"

func TestProcessorTimeIsFoundBehindAnyName(t *testing.T) {
	stat := []byte("42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 5 6 7")
	if got, err := parseCPU(stat); err != nil || got != 2 {
		t.Fatalf("got %v, error %v, want 2 seconds", got, err)
	}
	for _, broken := range []string{"", "42 (a)", "42 (a) S 1 2 3 4 5 6 7 8 9 10 x y"} {
		if _, err := parseCPU([]byte(broken)); err == nil {
			t.Errorf("%q was accepted", broken)
		}
	}
}

func TestResidentMemoryIsInBytes(t *testing.T) {
	if got, err := parseResident([]byte("Name:\tx\nVmRSS:\t   40 kB\nThreads:\t1\n")); err != nil || got != 40960 {
		t.Fatalf("got %v, error %v, want 40960", got, err)
	}
	if _, err := parseResident([]byte("Name:\tx\n")); err == nil {
		t.Error("a status without VmRSS was accepted")
	}
}
