package atrest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
)

// stored are the values of a topic's first partition as Redis has them.
func stored(t *testing.T, s *redistest.Server, topic string) [][]byte {
	t.Helper()
	c := s.Client()
	entries, err := c.Do(t.Context(), c.B().Xrange().Key("korvet:storage:local:"+topic+":0").Start("-").End("+").Build()).AsXRangeSlices()
	if err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	for _, e := range entries {
		var value []byte
		for _, f := range e.FieldValues {
			if f.Field == "value" {
				value = []byte(f.Value)
			}
		}
		values = append(values, value)
	}
	return values
}

// run pipes a value through a program.
func run(t *testing.T, value []byte, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = bytes.NewReader(value)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s of %d bytes: %v", program, len(value), err)
	}
	return out
}

// There is no stock program for the snappy framing format: a library's reader stands in.
func unsnappy(t *testing.T, value []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := out.ReadFrom(snappy.NewReader(bytes.NewReader(value))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestStockProgramsReadEveryValue(t *testing.T) {
	b, client, redis := start(t)
	blob := filepath.Join(t.TempDir(), "dictionary")
	decoders := map[string]func([]byte) []byte{
		"none":   func(v []byte) []byte { return v },
		"gzip":   func(v []byte) []byte { return run(t, v, "gzip", "-dc") },
		"lz4":    func(v []byte) []byte { return run(t, v, "lz4", "-dc") },
		"snappy": func(v []byte) []byte { return unsnappy(t, v) },
		"zstd":   func(v []byte) []byte { return run(t, v, "zstd", "-dc", "-D", blob) },
	}
	for codec, decode := range decoders {
		create(t, client, codec, codec)
		produce(t, client, codec, 0, 20, 500)
		nothing := []*kgo.Record{{Topic: codec, Key: []byte("null")}, {Topic: codec, Value: []byte{}}}
		if err := client.ProduceSync(t.Context(), nothing...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		produce(t, client, codec, 20, 21, 200_000)
		if codec == "zstd" {
			train(t, client, redis, codec, 500)
			raw, err := do(t, redis, "GET", "korvet:storage:zdict:zstd").AsBytes()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(blob, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		frames := stored(t, b.Redis, codec)
		consumed := consume(t, b, codec, 0, int64(len(frames)))
		for i, frame := range frames {
			if i > 40 && i < len(frames)-40 { // as those around it
				continue
			}
			want := consumed[i].Value
			switch {
			case len(frame) == 0:
				if (frame == nil) != (want == nil) || len(want) > 0 {
					t.Errorf("%s: record %d is %q in Redis and %q to a consumer", codec, i, frame, want)
				}
			case !bytes.Equal(decode(frame), want):
				t.Errorf("%s: record %d is read differently", codec, i)
			}
		}
		if n := len(frames); consumed[20].Value != nil || consumed[21].Value == nil || n < 23 {
			t.Errorf("%s: null is %v and empty is %v", codec, consumed[20].Value, consumed[21].Value)
		}
	}
}
