package load

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
	"time"
)

func TestValuesHaveTheirSizeAndAreNeverTakenForStamps(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 100, 1024} {
		content := NewContent(size, 0.5, 1)
		for range 2 * (4<<20/max(size, 1) + 1) {
			value := content.Next()
			if len(value) != size {
				t.Fatalf("a value of %d bytes where %d were asked for", len(value), size)
			}
			if _, stamped := stampOf(value); stamped {
				t.Fatalf("value %x looks stamped", value)
			}
		}
	}
}

func TestStampsComeBack(t *testing.T) {
	content := NewContent(100, 0, 1)
	for _, at := range []time.Duration{0, time.Nanosecond, time.Hour} {
		if got, ok := stampOf(content.Stamped(at)); !ok || got != at {
			t.Errorf("stamp %v came back as %v, %v", at, got, ok)
		}
	}
}

func TestMoreWordsCompressBetter(t *testing.T) {
	length := func(compressible float64) int {
		var out bytes.Buffer
		writer := gzip.NewWriter(&out)
		content := NewContent(100, compressible, 1)
		for range 1000 {
			if _, err := writer.Write(content.Next()); err != nil {
				t.Fatal(err)
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Len()
	}
	if none, half, all := length(0), length(0.5), length(1); none <= half || half <= all {
		t.Errorf("compressed to %d, %d and %d bytes", none, half, all)
	}
}

func TestJSONValuesHaveTheirSizeAndDiffer(t *testing.T) {
	for _, size := range []int{400, 1024, 4096} {
		c := NewJSON(size, 1)
		seen := map[string]bool{}
		for range 50 {
			value := c.Next()
			if len(value) != size || !json.Valid(value) {
				t.Fatalf("%d bytes: %s", len(value), value)
			}
			seen[string(value)] = true
		}
		if len(seen) != 50 {
			t.Errorf("%d different values of 50", len(seen))
		}
	}
}
