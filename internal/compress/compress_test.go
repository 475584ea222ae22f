package compress

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var codecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

// event is the n-th of values that share their structure.
func event(n int) []byte {
	return fmt.Appendf(nil, `{"order":%d,"customer":"customer-%05d","status":"shipped","total":%d.%02d,"note":"thank you for your order"}`,
		1_000_000+n, n*7919%10_000, n%500, n%100)
}

// noise does not shrink.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func dictionary(t testing.TB, id uint32) *Dictionary {
	t.Helper()
	var values [][]byte
	for i := range 500 {
		values = append(values, event(i))
	}
	blob, err := Train(values, 8<<10, id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDictionary(blob)
	if err != nil {
		t.Fatal(err)
	}
	if d.ID() != id {
		t.Fatalf("the id is %d, want %d", d.ID(), id)
	}
	return d
}

func values() [][]byte {
	return [][]byte{
		{}, {0}, []byte("x"), event(7), bytes.Repeat([]byte("ab"), 300_000), noise(1), noise(300), noise(70_000), bytes.Repeat(event(1), 3000),
	}
}

func TestEveryValueComesBackBehindWhatIsThere(t *testing.T) {
	d := dictionary(t, 7)
	for _, c := range codecs {
		for _, with := range []*Dictionary{nil, d} {
			for _, v := range values() {
				frame := c.Append([]byte("before"), v, with)
				got, err := c.Decode([]byte("head"), frame[len("before"):], len(v), with)
				if err != nil || string(got) != "head"+string(v) || !bytes.HasPrefix(frame, []byte("before")) {
					t.Fatalf("%s, %d bytes: %d bytes come back, %v", c, len(v), len(got), err)
				}
			}
		}
	}
}

func TestAnEmptyValueIsAnEmptyFrame(t *testing.T) {
	for _, c := range codecs {
		if got := c.Append(nil, []byte{}, nil); len(got) != 0 {
			t.Errorf("%s: %x", c, got)
		}
	}
}

func TestAValueThatDoesNotShrinkCostsAFewBytes(t *testing.T) {
	most := map[Codec]int{None: 0, Gzip: 25, Snappy: 18, LZ4: 15, Zstd: 12}
	d := dictionary(t, 200)
	for _, c := range codecs {
		for _, n := range []int{16, 300, 4000, 60_000} {
			for _, with := range []*Dictionary{nil, d} {
				if more := len(c.Append(nil, noise(n), with)) - n; more > most[c] {
					t.Errorf("%s: %d bytes become %d more, want at most %d", c, n, more, most[c])
				}
			}
		}
	}
}

func TestAZstdFrameTellsItsSizeAndDictionaryAndNothingMore(t *testing.T) {
	for _, d := range []*Dictionary{nil, dictionary(t, 3), dictionary(t, 300)} {
		for _, v := range values()[1:] {
			var h zstd.Header
			if err := h.Decode(Zstd.Append(nil, v, d)); err != nil {
				t.Fatal(err)
			}
			want := uint32(0)
			if d != nil {
				want = d.ID()
			}
			if h.DictionaryID != want || !h.HasFCS || h.FrameContentSize != uint64(len(v)) || h.HasCheckSum {
				t.Errorf("%d bytes: %+v", len(v), h)
			}
			if len(v) <= zstdWindow && !h.SingleSegment {
				t.Errorf("%d bytes are not one segment", len(v))
			}
		}
	}
}

func TestADictionaryMakesSmallValuesMuchSmaller(t *testing.T) {
	d := dictionary(t, 1)
	plain, with := 0, 0
	for i := range 200 {
		plain += len(Zstd.Append(nil, event(10_000+i), nil))
		with += len(Zstd.Append(nil, event(10_000+i), d))
	}
	if with > plain/2 {
		t.Errorf("%d bytes with the dictionary, %d without", with, plain)
	}
}

func TestAFrameOfAnotherDictionaryNamesIt(t *testing.T) {
	one, two := dictionary(t, 1), dictionary(t, 2)
	frame := Zstd.Append(nil, event(1), two)
	for _, d := range []*Dictionary{nil, one} {
		_, err := Zstd.Decode(nil, frame, 1000, d)
		var unknown *UnknownDictionaryError
		if !errors.As(err, &unknown) || unknown.ID != 2 {
			t.Errorf("the error is %v", err)
		}
	}
	if id, err := FrameDictionary(frame); id != 2 || err != nil {
		t.Errorf("the frame names %d, %v", id, err)
	}
	if size, err := FrameSize(frame); size != len(event(1)) || err != nil {
		t.Errorf("the frame says that it holds %d bytes, %v", size, err)
	}
	if got, err := Zstd.Decode(nil, Zstd.Append(nil, event(1), nil), 1000, one); err != nil || !bytes.Equal(got, event(1)) {
		t.Errorf("a frame without a dictionary: %q, %v", got, err)
	}
}

func TestALongerValueThanAllowedIsNotDecoded(t *testing.T) {
	d := dictionary(t, 1)
	for _, c := range codecs {
		for _, v := range values()[3:] {
			got, err := c.Decode([]byte("head"), c.Append(nil, v, d), len(v)-1, d)
			if !errors.Is(err, ErrTooLong) || string(got) != "head" {
				t.Errorf("%s, %d bytes: %d bytes, %v", c, len(v), len(got), err)
			}
		}
	}
}

func TestADamagedFrameIsAnError(t *testing.T) {
	d := dictionary(t, 1)
	for _, c := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		frame := c.Append(nil, bytes.Repeat(event(1), 5), d)
		for _, bad := range [][]byte{frame[:len(frame)/2], frame[:len(frame)-1], []byte("plain text, not a frame"), append(bytes.Clone(frame), "tail"...)} {
			if got, err := c.Decode(nil, bad, 1<<20, d); !errors.Is(err, ErrCorrupt) || len(got) > 0 {
				t.Errorf("%s: %q is %q, %v", c, bad, got, err)
			}
		}
	}
}

func TestAFrameThatDoesNotTellItsSizeIsRead(t *testing.T) {
	d := dictionary(t, 9)
	var made bytes.Buffer
	w, err := zstd.NewWriter(&made, zstd.WithEncoderDict(d.Blob()))
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat(event(3), 50)
	for half := range bytes.SplitSeq(want, []byte("\n")) {
		if _, err := w.Write(half); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Zstd.Decode(nil, made.Bytes(), len(want), d); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := Zstd.Decode(nil, made.Bytes(), len(want)-1, d); !errors.Is(err, ErrTooLong) {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestNoDictionaryIsMadeOfTooLittle(t *testing.T) {
	same := make([][]byte, 5)
	for i := range same {
		same[i] = []byte("x")
	}
	for _, values := range [][][]byte{nil, same, {{}, {}, {}}} {
		if _, err := Train(values, 32<<10, 1); !errors.Is(err, ErrUntrainable) {
			t.Errorf("%d values: %v", len(values), err)
		}
	}
}

func TestWhatIsNoDictionaryIsRefused(t *testing.T) {
	good := dictionary(t, 1).Blob()
	noID := bytes.Clone(good)
	copy(noID[4:8], []byte{0, 0, 0, 0})
	for _, blob := range [][]byte{nil, []byte("short"), []byte(strings.Repeat("text", 100)), noID, good[:40]} {
		if _, err := NewDictionary(blob); err == nil {
			t.Errorf("%d bytes are taken", len(blob))
		}
	}
}

func TestCodecsHaveTheNamesOfTheSetting(t *testing.T) {
	for _, c := range codecs {
		if got, err := Parse(c.String()); got != c || err != nil {
			t.Errorf("%s is %v, %v", c, got, err)
		}
	}
	if _, err := Parse("brotli"); err == nil {
		t.Error("an unknown name is taken")
	}
}
