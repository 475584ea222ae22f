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
			if frame == unfinished {
				continue // stays open until the test ends
			}
			if !c.closed() {
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

// TestDecompressionBombsCostNoMemory sends small batches that decompress to 256 MiB.
func TestDecompressionBombsCostNoMemory(t *testing.T) {
	to := startOwn(t)
	c := dial(t, to)
	topic := c.newTopic()
	c.must(topic, values("v"))
	bomb := strings.Repeat("x", 256<<20)
	before := residentBytes(t, to.own.Pid())
	for _, codec := range []int16{codecGzip, codecLz4, codecZstd} {
		req := produceTo(9, topic, -1, values(bomb).codec(codec).bytes())
		for range 5 {
			if got := c.produced(req); got != "MESSAGE_TOO_LARGE" {
				t.Fatalf("codec %d: %s", codec, got)
			}
		}
	}
	if grown := residentBytes(t, to.own.Pid()) - before; grown > 192<<20 { // less than one bomb's
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
	if end := c.end(topic); end != 1 {
		t.Errorf("log end %d, want 1", end)
	}
}
