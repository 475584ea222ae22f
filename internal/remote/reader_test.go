package remote

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

func TestRecordsAreReadFromAnyOffset(t *testing.T) {
	g := newRig(t, small())
	all := slices.Concat(span(0, 3000), span(3005, 4000), span(4000, 4001), span(5000, 7000)) // with holes
	g.commit(g.write(all[:1000], plain, testOptions), g.write(all[1000:3500], plain, testOptions), g.write(all[3500:], plain, testOptions))
	if got := g.read(0, 7000, math.MaxInt); !slices.Equal(got, all) {
		t.Fatalf("%d records, want %d", len(got), len(all))
	}
	if got := g.read(0, 7000, 37); !slices.Equal(got, all) {
		t.Fatalf("37 at a time: %d records, want %d", len(got), len(all))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		from := random.Int64N(7000)
		end := from + random.Int64N(300)
		i, _ := slices.BinarySearch(all, from)
		j, _ := slices.BinarySearch(all, end)
		if got := g.read(from, min(end, 7000), math.MaxInt); !slices.Equal(got, all[i:j]) {
			t.Fatalf("[%d, %d): %v, want %v", from, end, got, all[i:j])
		}
	}
}

func TestConsumersReadSideBySide(t *testing.T) {
	s := small()
	s.CacheBytes = 200 << 10
	g := newRig(t, s)
	g.commit(g.write(span(0, 5000), plain, testOptions), g.write(span(5000, 10_000), plain, testOptions))
	var all sync.WaitGroup
	for i := range int64(8) {
		all.Go(func() {
			if got := g.read(i*100, 10_000, 500); !slices.Equal(got, span(i*100, 10_000)) {
				t.Errorf("consumer %d got %d records", i, len(got))
			}
		})
	}
	all.Wait()
	g.reader.pieces.mu.Lock() // what was read in advance may still be coming
	defer g.reader.pieces.mu.Unlock()
	if used := g.reader.pieces.used; used > 2*s.CacheBytes {
		t.Errorf("%d bytes are kept, more than twice the bound", used)
	}
}

func TestARandomSeekAsksForAnIndexAndOneRange(t *testing.T) {
	s := DefaultReaderSettings()
	g := newRig(t, s)
	g.reader.gap = objectGap
	g.commit(g.write(span(0, 20_000), plain, datafile.Options{PageBytes: 20_000, RowGroupBytes: 200_000, CreatedBy: "test"}))
	first := func(from int64) {
		_, err := g.reader.Read(t.Context(), g.ref, partition.RemoteRead{From: from, End: 20_000}, func(r *record.Record, _ int64) bool {
			if r.Offset != from {
				t.Errorf("read %d, want %d", r.Offset, from)
			}
			return false
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.reader.known(t.Context(), g.ref); err != nil { // the table itself
		t.Fatal(err)
	}
	g.asked.Take()
	first(12_345)
	if asked := g.asked.Take(); len(asked) != 2 || asked[0].Operation != "range" || asked[1].Operation != "range" {
		t.Errorf("the first seek asked for %+v", asked)
	}
	first(7_000)
	if asked := g.asked.Take(); len(asked) != 1 || asked[0].Operation != "range" {
		t.Errorf("the second seek asked for %+v", asked)
	}
	first(7_001)
	if asked := g.asked.Take(); len(asked) != 0 {
		t.Errorf("a seek to what was read asked for %+v", asked)
	}
}

func TestDeletedRecordsArePassedOver(t *testing.T) {
	g := newRig(t, small())
	a, b, c := g.write(span(0, 1000), plain, testOptions), g.write(span(1000, 2000), plain, testOptions), g.write(span(2500, 3000), plain, testOptions)
	all := slices.Concat(span(0, 1000), span(1000, 2000), span(2500, 3000))
	alive := func(o int64) bool { return o%3 != 0 && o != 999 && o < 2990 }
	var list []deletedRow
	for _, f := range []struct {
		tables.Added
		from int64
	}{{a, 0}, {b, 1000}, {c, 2500}} {
		for o := f.FirstOffset; o <= f.LastOffset; o++ {
			if !alive(o) {
				list = append(list, deletedRow{strings.Replace(f.Location, "file:///", "file:/", 1), o - f.from})
			}
		}
	}
	g.known(3000, []tables.Deletes{g.deletes(list)}, a, b, c)
	all = slices.DeleteFunc(all, func(o int64) bool { return !alive(o) })
	if got := g.read(0, 3000, 100); !slices.Equal(got, all) {
		t.Errorf("%d records, want %d", len(got), len(all))
	}
	if got := g.read(2985, 3000, 100); !slices.Equal(got, []int64{2986, 2987, 2989}) {
		t.Errorf("the end reads as %v", got)
	}
	if got := g.read(2991, 3000, 100); len(got) != 0 {
		t.Errorf("what was deleted reads as %v", got)
	}
}

// deletedRow is a row of a file of position deletes.
type deletedRow struct {
	Path     string `parquet:"file_path,id(2147483546)"`
	Position int64  `parquet:"pos,id(2147483545)"`
}

func (g *rig) deletes(rows []deletedRow) tables.Deletes {
	g.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		g.Fatal(err)
	}
	d := tables.Deletes{Location: g.entry.Location + "/data/deletes.parquet", Bytes: int64(b.Len()), Sequence: 10}
	if err := g.tier.Store.Put(g.Context(), d.Location, &b); err != nil {
		g.Fatal(err)
	}
	return d
}

func TestFilesThatLieBetweenEachOtherAreMerged(t *testing.T) {
	g := newRig(t, small())
	var even, odd, thirds []int64
	for o := range int64(3000) {
		switch {
		case o >= 1000 && o < 2000:
			thirds = append(thirds, o)
		case o%2 == 0:
			even = append(even, o)
		default:
			odd = append(odd, o)
		}
	}
	again := g.write(span(100, 150), plain, testOptions) // the same records once more
	g.known(3500, nil, g.write(even, plain, testOptions), g.write(odd, plain, testOptions), g.write(thirds, plain, testOptions), again, g.write(span(3000, 3500), plain, testOptions))
	for _, from := range []int64{0, 1, 120, 999, 1000, 1999, 2000, 2999, 3000} {
		if got := g.read(from, 3500, 170); !slices.Equal(got, span(from, 3500)) {
			t.Errorf("from %d: %d records, want %d", from, len(got), 3500-from)
		}
	}
}

func TestAFileThatAnEngineWroteInDisorderIsReadInOrder(t *testing.T) {
	g := newRig(t, small())
	rows := engineRows(slices.Concat(span(500, 1000), span(0, 200), span(200, 500)))
	slices.Reverse(rows[:50])
	for _, pageRows := range []int{20, 100_000} {
		g.known(1000, nil, g.engineFile(rows, pageRows))
		for _, from := range []int64{0, 450, 499, 500, 990} {
			if got := g.read(from, 1000, 130); !slices.Equal(got, span(from, 1000)) {
				t.Errorf("from %d: %v", from, got)
			}
		}
	}
}

// Clients do not get over offsets that stand still.
func TestARecordThatIsTwiceInAFileIsReadOnce(t *testing.T) {
	g := newRig(t, small())
	offsets := slices.Concat(span(0, 200), span(0, 200), []int64{500, 500, 500}, span(600, 1000))
	slices.Sort(offsets)
	want := slices.Compact(slices.Clone(offsets))
	for _, pageRows := range []int{3, 100_000} {
		g.known(1000, nil, g.engineFile(engineRows(offsets), pageRows))
		for _, most := range []int{1, 7, 1000} {
			if got := g.read(0, 1000, most); !slices.Equal(got, want) {
				t.Errorf("%d at a time: %v", most, got)
			}
		}
	}
}

// engineRows are the plain records of offsets.
func engineRows(offsets []int64) (rows []engineRow) {
	for _, o := range offsets {
		r := plain(o)
		rows = append(rows, engineRow{Offset: o, Timestamp: datafile.Micros(r.Timestamp), AppendTime: datafile.Micros(r.AppendMs), Key: r.Key, Value: r.Value})
	}
	return rows
}

// engineFile writes a data file of partition 0 as an engine does: with the rows as they come.
func (g *rig) engineFile(rows []engineRow, pageRows int) tables.Added {
	g.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[engineRow](&b, parquet.PageBufferSize(pageRows*20), parquet.MaxRowsPerRowGroup(300))
	if _, err := w.Write(rows); err != nil {
		g.Fatal(err)
	}
	if err := w.Close(); err != nil {
		g.Fatal(err)
	}
	g.files++
	a := tables.Added{Location: fmt.Sprintf("%s/data/engine-%d.parquet", g.entry.Location, g.files)}
	a.Bytes, a.Rows, a.LastOffset = int64(b.Len()), int64(len(rows)), 999
	if err := g.tier.Store.Put(g.Context(), a.Location, &b); err != nil {
		g.Fatal(err)
	}
	return a
}

// engineRow is a row as an engine writes it.
type engineRow struct {
	Partition  int32           `parquet:"partition,id(1)"`
	Offset     int64           `parquet:"offset,id(2)"`
	Timestamp  int64           `parquet:"timestamp,timestamp(microsecond:utc),id(3)"`
	AppendTime int64           `parquet:"append_time,timestamp(microsecond:utc),id(4)"`
	Key        []byte          `parquet:"key,optional,id(5)"`
	Value      []byte          `parquet:"value,optional,id(6)"`
	Headers    []*engineHeader `parquet:"headers,optional,list,id(7)" parquet-element:",optional,id(8)"`
}

type engineHeader struct {
	Key   string `parquet:"key,id(9)"`
	Value []byte `parquet:"value,optional,id(10)"`
}

func TestSearchesByTime(t *testing.T) {
	g := newRig(t, small())
	random := rand.New(rand.NewPCG(3, 4))
	stamps := make([]int64, 4000)
	for i := range stamps {
		stamps[i] = 1000 + int64(i/3) - random.Int64N(40)
	}
	of := func(o int64) datafile.Row {
		r := plain(o)
		r.Timestamp, r.AppendMs = stamps[o], 5000+o/4
		return r
	}
	g.commit(g.write(span(0, 1500), of, testOptions), g.write(span(1500, 4000), of, testOptions))
	for range 300 {
		from := random.Int64N(4000)
		end, ms := min(4000, from+1+random.Int64N(2000)), 900+random.Int64N(1600)
		want, largest := int64(-1), int64(-1)
		for o := from; o < end; o++ {
			if want < 0 && stamps[o] >= ms {
				want = o
			}
			if largest < 0 || stamps[o] > stamps[largest] {
				largest = o
			}
		}
		if got, err := g.reader.SeekTime(t.Context(), g.ref, ms, partition.RemoteRead{From: from, End: end}); err != nil || got.Offset != want || want >= 0 && got.Timestamp != stamps[want] {
			t.Fatalf("time %d in [%d, %d): %+v, %v, want %d", ms, from, end, got, err, want)
		}
		if got, err := g.reader.Largest(t.Context(), g.ref, partition.RemoteRead{From: from, End: end}); err != nil || got.Offset != largest || got.Timestamp != stamps[largest] {
			t.Fatalf("largest in [%d, %d): %+v, %v, want %d", from, end, got, err, largest)
		}
		appended := 5000 + random.Int64N(1010)
		if got, err := g.reader.SeekAppend(t.Context(), g.ref, appended, from); err != nil || got != max(from, min(4000, (appended-5000)*4)) {
			t.Fatalf("append time %d from %d: %d, %v", appended, from, got, err)
		}
	}
	g.reader = NewReader(g.tier, small(), nil)
	if _, err := g.reader.known(t.Context(), g.ref); err != nil {
		t.Fatal(err)
	}
	g.asked.Take()
	if got, err := g.reader.SeekTime(t.Context(), g.ref, 1<<50, partition.RemoteRead{From: 0, End: 4000}); err != nil || got.Offset >= 0 || len(g.asked.Take()) > 0 {
		t.Errorf("the future: %+v, %v, and files were read", got, err)
	}
	if bytes, err := g.reader.Bytes(t.Context(), g.ref, 1500); err != nil || bytes <= 0 {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	if start, end, err := g.reader.Range(t.Context(), g.ref); err != nil || start != 0 || end != 4000 {
		t.Errorf("the table has %d to %d, %v", start, end, err)
	}
}

func TestWhatIsMissingIsLookedForAnew(t *testing.T) {
	g := newRig(t, small())
	g.commit(g.write(span(0, 100), plain, testOptions))
	if got := g.read(0, 100, 1000); len(got) != 100 {
		t.Fatalf("read %d records", len(got))
	}
	g.commit(g.write(span(100, 200), plain, testOptions))
	if got := g.read(0, 200, 1000); !slices.Equal(got, span(0, 200)) { // the registry says 200, the index does not yet
		t.Errorf("read %v", got)
	}
	_, err := g.reader.Read(t.Context(), g.ref, partition.RemoteRead{From: 200, End: 300}, func(*record.Record, int64) bool { return true })
	if !errors.Is(err, partition.ErrRemote) || !errors.Is(err, errNotCovered) {
		t.Errorf("what the table never had: %v", err)
	}
	other := partition.Ref{Topic: "other", ID: uuid.New()}
	if _, err := g.reader.Read(t.Context(), other, partition.RemoteRead{End: 1}, nil); !errors.Is(err, partition.ErrRemote) || !errors.Is(err, errNoTable) {
		t.Errorf("a topic without table: %v", err)
	}
}

func TestFilesThatWereRewrittenAreLookedForAnew(t *testing.T) {
	g := newRig(t, small())
	old, other := g.write(span(0, 100), plain, testOptions), g.write(span(100, 200), plain, testOptions)
	rewritten := g.write(span(0, 200), plain, testOptions)
	g.commit(rewritten)
	g.known(200, nil, old, other)
	for _, f := range []tables.Added{old, other} {
		if err := os.Remove(strings.TrimPrefix(f.Location, "file://")); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.read(0, 200, 1000); !slices.Equal(got, span(0, 200)) {
		t.Errorf("read %v", got)
	}
	if err := os.Remove(strings.TrimPrefix(rewritten.Location, "file://")); err != nil {
		t.Fatal(err)
	}
	g.reader = NewReader(g.tier, small(), nil)
	_, err := g.reader.Read(t.Context(), g.ref, partition.RemoteRead{End: 200}, func(*record.Record, int64) bool { return true })
	if !errors.Is(err, partition.ErrRemote) || !strings.Contains(err.Error(), rewritten.Location) {
		t.Errorf("a file that is gone for good: %v", err)
	}
}

func TestADamagedFileIsNamed(t *testing.T) {
	g := newRig(t, small())
	good, bad := g.write(span(0, 1000), plain, testOptions), g.write(span(1000, 2000), plain, testOptions)
	g.commit(good, bad)
	name := strings.TrimPrefix(bad.Location, "file://")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data[:len(data)/2] {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := g.read(0, 1000, 1000); len(got) != 1000 {
		t.Errorf("the good file gave %d records", len(got))
	}
	for range 2 {
		_, err = g.reader.Read(t.Context(), g.ref, partition.RemoteRead{From: 1000, End: 2000}, func(*record.Record, int64) bool { return true })
		if !errors.Is(err, partition.ErrRemote) || !errors.Is(err, datafile.ErrCorrupt) || !strings.Contains(err.Error(), bad.Location) {
			t.Errorf("a damaged file: %v", err)
		}
	}
}
