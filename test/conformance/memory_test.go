package conformance

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// residentBytes tells how much memory a process holds.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatalf("read memory of the broker: %v", err)
	}
	kib, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatalf("read memory of the broker: %v", err)
	}
	return kib << 10
}

// TestFramesThatPromiseTooMuchCostNoMemory sends frames that promise far more than they hold, again and again.
func TestFramesThatPromiseTooMuchCostNoMemory(t *testing.T) {
	to := startOwn(t)
	bystander := dial(t, to)
	const unfinished = "06400000 0003 0001" // as large as is allowed, and never sent
	frames := []string{
		"0000000f 0003 0001 00000001 0001 63 7fffffff",
		"00000011 0003 0009 00000001 0001 63 00 ffffffff0f",
		"474554202f20485454502f312e310d0a0d0a",
		unfinished,
	}
	burst := func() {
		for _, frame := range frames {
			c := dial(t, to)
			c.writeHex(frame)
			if frame != unfinished && !c.closed() {
				t.Fatalf("connection not closed after %s", frame)
			}
			c.nc.Close()
		}
		if !bystander.alive() {
			t.Fatal("another connection was harmed")
		}
	}
	burst() // what the first use costs does not count
	before := residentBytes(t, to.own.Pid())
	for range 100 {
		burst()
	}
	if grown := residentBytes(t, to.own.Pid()) - before; grown > 16<<20 {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
}
