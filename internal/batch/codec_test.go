package batch

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lz4BlockSize is what a block of the LZ4 frames made here holds, in bytes.
const lz4BlockSize = 64 << 10

// bodies are texts of the sizes around the codecs' blocks, and one that does not compress.
func bodies() [][]byte {
	text := bytes.Repeat([]byte("a log of records, "), 20_000)
	random := make([]byte, 200_000)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(random)
	return [][]byte{{}, {'x'}, text[:100], text[:xerialBlockSize], text[:xerialBlockSize+1], text[:lz4BlockSize], text[:lz4BlockSize+1], text, random}
}

func TestCodecsRoundTripAtEveryLevel(t *testing.T) {
	levels := map[Codec][]int{
		Gzip:   {DefaultLevel, -1, 1, 6, 9, 99},
		Snappy: {DefaultLevel},
		LZ4:    {DefaultLevel, 1, 8, 9, 10, 17, 99},
		Zstd:   {DefaultLevel, -131072, 1, 3, 6, 22, 99},
	}
	for codec, levels := range levels {
		for _, level := range levels {
			for _, body := range bodies() {
				packed := codec.compress([]byte("before"), body, level)
				if !bytes.HasPrefix(packed, []byte("before")) {
					t.Fatalf("%v level %d: what was there is lost", codec, level)
				}
				got, err := codec.decompress(nil, packed[len("before"):], len(body))
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%v level %d: %d bytes came back as %d: %v", codec, level, len(body), len(got), err)
				}
			}
		}
	}
}

func TestFranzGoReadsWhatTheCodecsWrite(t *testing.T) {
	for _, codec := range allCodecs[1:] {
		for _, body := range bodies()[1:] {
			got, err := kgo.DefaultDecompressor().Decompress(codec.compress(nil, body, DefaultLevel), kgo.CompressionCodecType(codec))
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("%v: %d bytes came back as %d: %v", codec, len(body), len(got), err)
			}
		}
	}
}

func TestCodecsReadWhatFranzGoWrites(t *testing.T) {
	for _, codec := range allCodecs[1:] {
		for _, body := range bodies() {
			got, err := codec.decompress(nil, foreignCompress(t, codec, body), len(body))
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("%v: %d bytes came back as %d: %v", codec, len(body), len(got), err)
			}
		}
	}
}

func TestBombsAreRefusedBeforeMemoryGrows(t *testing.T) {
	const limit = 256 << 10
	zeroes := make([]byte, 16<<20)
	for _, codec := range allCodecs[1:] {
		for _, bomb := range [][]byte{codec.compress(nil, zeroes, DefaultLevel), foreignCompress(t, codec, zeroes)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := codec.decompress(nil, bomb, limit)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%v: got %v", codec, err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4*limit+lz4LargestBlock {
				t.Errorf("%v: %d bytes allocated for a limit of %d", codec, allocated, limit)
			}
		}
	}
}

// lz4LargestBlock is what a reader of LZ4 frames needs whatever the limit, in bytes.
const lz4LargestBlock = 4 << 20

func TestDecompressRefusesWhatConsumersCannotRead(t *testing.T) {
	body := bodies()[7]
	frame := func(opt ...lz4.Option) []byte {
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		if err := errors.Join(w.Apply(opt...), writeAll(w, body)); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	linked := frame()
	linked[lz4DescriptorAt] &^= lz4IndependentBit
	raw := LZ4.compress(nil, body, DefaultLevel)
	rows := []struct {
		name  string
		codec Codec
		src   []byte
	}{
		{"lz4 of dependent blocks", LZ4, repairLZ4(linked)},
		{"lz4 of the legacy format", LZ4, frame(lz4.LegacyOption(true))},
		{"two lz4 frames", LZ4, append(bytes.Clone(raw), raw...)},
		{"lz4 without its end", LZ4, raw[:len(raw)-4]},
		{"lz4 with a byte after its end", LZ4, append(bytes.Clone(raw), 0)},
		{"a repeated offset of s2", Snappy, s2.Encode(nil, bytes.Repeat([]byte("0123456789abcde!fghij0123456789"), 50))},
		{"snappy that says it is huge", Snappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}},
		{"xerial header only in part", Snappy, []byte(xerialMagic)},
		{"xerial block longer than the rest", Snappy, append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0)},
		{"xerial block of negative length", Snappy, append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0, 0, 9, 0)},
		{"xerial length only in part", Snappy, append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0)},
		{"gzip without its end", Gzip, Gzip.compress(nil, body, DefaultLevel)[:100]},
		{"zstd without its end", Zstd, Zstd.compress(nil, body, DefaultLevel)[:20]},
		{"nothing", Gzip, nil},
	}
	for _, row := range rows {
		if out, err := row.codec.decompress(nil, row.src, 1<<20); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%s: got %d bytes and %v, want ErrInvalidRecord", row.name, len(out), err)
		}
	}
	for _, opt := range [][]lz4.Option{{lz4.SizeOption(uint64(len(body)))}, {lz4.BlockChecksumOption(true)}, {lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block4Mb)}} {
		if out, err := LZ4.decompress(nil, frame(opt...), len(body)); err != nil || !bytes.Equal(out, body) {
			t.Errorf("an allowed frame was refused: %v", err)
		}
	}
}

func writeAll(w *lz4.Writer, body []byte) error {
	_, err := w.Write(body)
	return errors.Join(err, w.Close())
}

func TestZstdOfSeveralFramesIsOneBody(t *testing.T) {
	one := Zstd.compress(nil, []byte("one "), DefaultLevel)
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9}
	src := append(append(bytes.Clone(one), skippable...), Zstd.compress(nil, []byte("two"), DefaultLevel)...)
	if out, err := Zstd.decompress(nil, src, 7); err != nil || string(out) != "one two" {
		t.Fatalf("got %q, %v", out, err)
	}
}

func TestCodecNames(t *testing.T) {
	for _, codec := range allCodecs {
		if got, err := ParseCodec(codec.String()); err != nil || got != codec {
			t.Errorf("%v: got %v, %v", codec, got, err)
		}
	}
	if got, err := ParseCodec("none"); err != nil || got != None {
		t.Errorf("none: got %v, %v", got, err)
	}
	for _, name := range []string{"", "producer", "brotli", "GZIP"} {
		if _, err := ParseCodec(name); !errors.Is(err, ErrUnsupportedCompression) {
			t.Errorf("%q: got %v", name, err)
		}
	}
	if got := Codec(6).String(); got != "codec 6" {
		t.Errorf("got %q", got)
	}
}

func TestVarintsRoundTrip(t *testing.T) {
	for _, v := range []int64{0, -1, 1, 63, 64, -64, -65, 8191, 8192, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		buf := make([]byte, maxVarint64)
		n := putVarint(buf, 0, v)
		got, next := readVarint64(buf, 0)
		if got != v || next != n || n != varintSize(v) {
			t.Errorf("%d came back as %d, %d bytes written, %d read, size %d", v, got, n, next, varintSize(v))
		}
		got32, next32 := readVarint32(buf, 0)
		if fits := int64(int32(v)) == v; fits != (next32 >= 0) || fits && int64(got32) != v {
			t.Errorf("%d read as 32 bits is %d, position %d", v, got32, next32)
		}
	}
}
