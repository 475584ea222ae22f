package datafile

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

func TestCheckReadsEveryColumn(t *testing.T) {
	rows := some(3000, 7)
	m := write(t, Options{PageBytes: 2000, RowGroupBytes: 30_000}, rows)
	size := int64(len(m.data))
	if err := Check(t.Context(), m, size, 3); err != nil {
		t.Errorf("a file that is whole: %v", err)
	}
	if err := Check(t.Context(), m, size, 4); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another partition's: %v, want ErrCorrupt", err)
	}
	lost := errors.New("lost")
	if err := Check(t.Context(), failing{lost}, size, 3); !errors.Is(err, lost) || errors.Is(err, ErrCorrupt) {
		t.Errorf("a store that fails: %v", err)
	}
	plain, found := bytes.Clone(m.data), 0
	for at := range 200 {
		copy(m.data, plain)
		m.data[4+at*(len(plain)/210)] ^= 0x55
		if Check(t.Context(), m, size, 3) != nil {
			found++
		}
	}
	if found < 150 { // what is in the middle of an uncompressed value shows only to whoever compares records
		t.Errorf("%d of 200 damaged bytes were found", found)
	}
}

type failing struct{ error }

func (f failing) ReadRange(context.Context, []byte, int64) error { return f.error }

func TestSameHeadersComparesWhatTheySay(t *testing.T) {
	a := section("k", "v", "k", nil)
	longer := append([]byte{0x84, 0}, a[1:]...) // the count in two bytes
	if !SameHeaders(a, a) || !SameHeaders(a, longer) || !SameHeaders(nil, nil) || !SameHeaders(nil, []byte{0}) {
		t.Error("the same headers differ")
	}
	for _, b := range [][]byte{nil, section("k", "v"), section("k", "v", "k", ""), section("k", nil, "k", "v"), a[:3]} {
		if SameHeaders(a, b) {
			t.Errorf("%q is %q", a, b)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(write(f, Options{PageBytes: 500, RowGroupBytes: 4000}, some(200, 1)).data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := Check(t.Context(), &memory{data: data}, int64(len(data)), 3); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v, want ErrCorrupt", err)
		}
	})
}
