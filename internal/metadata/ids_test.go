package metadata

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestIDsCarryTheirTimeAndRise(t *testing.T) {
	random := bytes.NewReader(bytes.Repeat([]byte{0xff}, 1000))
	id, err := newID(1_700_000_000_000, random)
	if err != nil || timeOf(id) != 1_700_000_000_000 || id.Version() != 7 || id.Variant() != uuid.RFC4122 {
		t.Fatalf("id %s, %v", id, err)
	}
	for range 5 {
		next, err := newID(1_700_000_000_000, random, uuid.Nil, id)
		if err != nil || next.String() <= id.String() {
			t.Fatalf("id %s, %v, not above %s", next, err, id)
		}
		id = next
	}
}

func TestClusterIDsDoNotBeginWithADash(t *testing.T) {
	first, second := bytes.Repeat([]byte{0xf8}, 16), bytes.Repeat([]byte{0x10}, 16) // 0xf8 is "-P..."
	id, err := newClusterID(bytes.NewReader(append(first, second...)))
	if err != nil || len(id) != 22 || strings.HasPrefix(id, "-") {
		t.Errorf("cluster id %q, %v", id, err)
	}
}

func TestMissingRandomnessIsAnError(t *testing.T) {
	if _, err := newID(1, bytes.NewReader(nil)); err == nil {
		t.Error("an id without random bits")
	}
	if _, err := newClusterID(bytes.NewReader(nil)); err == nil {
		t.Error("a cluster id without random bits")
	}
}
