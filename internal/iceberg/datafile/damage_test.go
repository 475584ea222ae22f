package datafile

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
)

// try opens a file that may be damaged, reads and seeks. Only its own damage may be an error.
func try(data []byte) (rows int, err error) {
	ctx, m := context.Background(), &memory{data: data}
	f, err := OpenTyped(ctx, m, int64(len(data)), typedColumns)
	if err != nil {
		return 0, err
	}
	q := Request{Bytes: 1 << 20, Gap: 1 << 20}
	for done := false; !done; {
		before := q.Offset
		if q.Offset, done, err = f.Read(ctx, m, q, func(r *Row) bool {
			rows++
			return true
		}); err != nil {
			return rows, err
		}
		if !done && q.Offset == before {
			return rows, errors.New("no progress")
		}
	}
	for _, ms := range []int64{0, 1_700_000_000_500} {
		if _, err = f.SeekTime(ctx, m, Seek{Ms: ms}); err != nil {
			return rows, err
		}
		if _, err = f.SeekAppend(ctx, m, Seek{Ms: ms}); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func tryDeletes(data []byte) error {
	set := NewPositions(3000)
	return ReadDeletes(context.Background(), &memory{data: data}, int64(len(data)), func(string) *Positions { return set })
}

// mostTaken bounds what a read of a damaged file of some 30 KB may allocate. Lists of values are the largest part of it.
const mostTaken = 512 << 20

func damaged(t *testing.T, what string, data []byte, do func([]byte) error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := do(data)
	runtime.ReadMemStats(&after)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Fatalf("%s: %v", what, err)
	}
	if err != nil && len(err.Error()) < len(ErrCorrupt.Error())+20 {
		t.Fatalf("%s: %v: says nothing", what, err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > mostTaken {
		t.Fatalf("%s: %d bytes allocated, %v", what, taken, err)
	}
}

func withRows(data []byte) error {
	_, err := try(data)
	return err
}

func samples(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for name, m := range engineFiles(t, "*.parquet") {
		files[name] = m.data
	}
	files["ours"] = write(t, Options{PageBytes: 2000, RowGroupBytes: 20_000, KeyBloom: true}, some(300, 2)).data
	files["ours-typed"] = write(t, Options{PageBytes: 2000, RowGroupBytes: 20_000, Typed: typedColumns}, withCells(300)).data
	return files
}

func TestDamageIsNoticedOrHarmless(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, data := range samples(t) {
		do := withRows
		if strings.HasSuffix(name, "-deletes") {
			do = tryDeletes
		}
		if err := do(data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 25 {
			bad := bytes.Clone(data)
			at := random.IntN(len(bad))
			if random.IntN(3) > 0 { // where most of the metadata is
				at = len(bad) - 1 - random.IntN(min(len(bad), 6000))
			}
			bad[at] ^= byte(1 + random.IntN(255))
			damaged(t, name, bad, do)
		}
		for range 6 {
			damaged(t, name, data[:random.IntN(len(data))], do)
		}
	}
}

// A flipped bit in a page of ours is never taken for data.
func TestDamagedPagesOfOursAreErrors(t *testing.T) {
	data := write(t, Options{PageBytes: 2000, RowGroupBytes: 20_000, Typed: typedColumns}, withCells(300)).data
	f := openTyped(t, &memory{data: data}, typedColumns...)
	for _, g := range f.groups {
		for i, k := range g.chunks {
			if i == partitionColumn {
				continue
			}
			for _, p := range k.pages {
				bad := bytes.Clone(data)
				bad[p.end-1] ^= 1
				if _, err := try(bad); !errors.Is(err, ErrCorrupt) {
					t.Errorf("column %d, page at %d: %v", i, p.start, err)
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data, uint32(0), byte(0))
		f.Add(data, uint32(len(data)-30), byte(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint32, flip byte) {
		if len(data) > 0 {
			data[int(at)%len(data)] ^= flip
		}
		if _, err := try(data); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	})
}

func FuzzReadDeletes(f *testing.F) {
	for _, name := range []string{"arrow-deletes", "duckdb-deletes"} {
		data, err := os.ReadFile("testdata/engines/" + name + ".parquet")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := tryDeletes(data); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	})
}

// The decoders of pages and footers alone: what comes before them is hard to get past.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte{128, 1, 4, 10, 2, 3, 0, 0, 0, 0}, byte(3), uint16(100))
	f.Add(make([]byte, 18), byte(14), uint16(0)) // nothing to decompress
	f.Fuzz(func(t *testing.T, data []byte, width byte, n uint16) {
		count := int(n)
		if got, err := hybrid([]byte(nil), data, int(width%9), count); err == nil && len(got) != count {
			t.Errorf("%d levels, want %d", len(got), count)
		}
		if got, err := hybrid([]uint32(nil), data, int(width%33), count); err == nil && len(got) != count {
			t.Errorf("%d indexes, want %d", len(got), count)
		}
		for _, encoding := range []int64{encodingPlain, encodingRLE, encodingDelta} {
			if got, err := readBools(nil, encoding, data, count); err == nil && len(got) != count {
				t.Errorf("encoding %d: %d booleans, want %d", encoding, len(got), count)
			}
		}
		if got, _, err := delta(nil, data, count); err == nil && len(got) > count {
			t.Errorf("%d numbers, at most %d", len(got), count)
		}
		if got, out, err := deltaBytes(nil, nil, data, count, 1<<20); err == nil && (len(got) != count || len(out) > 1<<20) {
			t.Errorf("%d values of %d bytes", len(got), len(out))
		}
		for _, codec := range []int64{codecSnappy, codecGzip, codecZstd, codecLZ4Raw, 4} {
			if got, err := decompress(codec, new([]byte), data, int64(n)); err == nil && len(got) != count {
				t.Errorf("codec %d: %d bytes, want %d", codec, len(got), count)
			}
		}
		_, _ = readFooter(data)
		_, _, _ = readPageHeader(data)
		if pages, err := readOffsetIndex(data); err == nil {
			_ = readColumnIndex(data, pages)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add(section("a", nil, "hex:61", "x", "\xff", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again headerSection
		if eachHeader(data, func(key, value []byte) { again.add(encodeHeaderKey(key), value) }) != nil {
			return
		}
		_, got := again.appendTo(nil)
		var pairs, want [][]byte
		_ = eachHeader(data, func(key, value []byte) { want = append(want, key, value) })
		if err := eachHeader(got, func(key, value []byte) { pairs = append(pairs, key, value) }); err != nil || len(pairs) != len(want) {
			t.Fatalf("%d of %d, %v", len(pairs), len(want), err)
		}
		for i := range want {
			if !bytes.Equal(pairs[i], want[i]) || (pairs[i] == nil) != (want[i] == nil) {
				t.Errorf("%q instead of %q", pairs[i], want[i])
			}
		}
	})
}
