package atrest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// huge is what a bomb holds, in bytes: far more than a value may have.
const huge = 600 << 20

// zeros writes as many zeros.
func zeros(t *testing.T, w interface {
	Write(p []byte) (int, error)
	Close() error
}) {
	t.Helper()
	page := make([]byte, 1<<20)
	for range huge / len(page) {
		if _, err := w.Write(page); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// bomb is a small frame of a codec that holds a huge value.
func bomb(t *testing.T, codec string) []byte {
	t.Helper()
	var out bytes.Buffer
	switch codec {
	case "gzip":
		zeros(t, kgzip.NewWriter(&out))
	case "lz4":
		zeros(t, lz4.NewWriter(&out))
	default:
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		zeros(t, w) // without its size in the header
	}
	return out.Bytes()
}

// damages make of a frame one that does not decode.
func damages(t *testing.T, codec string) map[string]func(frame []byte) []byte {
	all := map[string]func(frame []byte) []byte{
		"cut in two":  func(f []byte) []byte { return f[:len(f)/2] },
		"no end":      func(f []byte) []byte { return f[:len(f)-1] },
		"no frame":    func([]byte) []byte { return []byte("plain text") },
		"first byte":  func(f []byte) []byte { f[0] ^= 1; return f },
		"one more":    func(f []byte) []byte { return append(f, 0) },
		"a bomb":      func([]byte) []byte { return bomb(t, codec) },
		"only a head": func(f []byte) []byte { return f[:min(len(f), 9)] },
	}
	if codec != "zstd" {
		return all
	}
	all["another dictionary"] = func(f []byte) []byte { f[5] = 77; return f } // one byte, behind magic and descriptor
	all["a block's kind"] = func(f []byte) []byte { f[8] |= 6; return f }     // one that there is not; behind one or two bytes of size
	all["a claim of 500 MB"] = func([]byte) []byte {
		frame := binary.LittleEndian.AppendUint32([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0}, 500<<20)
		return append(frame, 0x01, 0, 0) // a last block without content
	}
	return all
}

// rewrite puts other values in the place of some of a stream's, by offset, under the same ids.
func rewrite(t *testing.T, redis rueidis.Client, stream string, change map[int]func([]byte) []byte) (ids []string) {
	t.Helper()
	entries, err := do(t, redis, "XRANGE", stream, "-", "+").AsXRangeSlices()
	if err != nil {
		t.Fatal(err)
	}
	if err := do(t, redis, "DEL", stream).Error(); err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		words := []string{"XADD", stream, e.ID}
		for _, f := range e.FieldValues {
			if damage := change[i]; damage != nil && f.Field == "value" {
				f.Value = string(damage([]byte(f.Value)))
			}
			words = append(words, f.Field, f.Value)
		}
		if err := do(t, redis, words...).Error(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

// mostMemory is the most memory that a broker has taken so far, in bytes; 0 where the system does not tell.
func mostMemory(t *testing.T, b *harness.Broker) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.Pid()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

func TestDamagedValuesAreCorruptMessagesAndOtherPartitionsAreRead(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "200MiB") // of the broker: its collector is not to be late on a busy machine. It bounds nothing that is in use
	for _, codec := range []string{"zstd", "gzip", "lz4", "snappy"} {
		t.Run(codec, func(t *testing.T) {
			b, client, redis := start(t)
			create(t, client, "healthy", codec)
			create(t, client, "hurt", codec)
			if codec == "zstd" {
				train(t, client, redis, "hurt", 300)
			}
			produce(t, client, "healthy", 0, 10, 300)
			all := damages(t, codec)
			if codec == "snappy" {
				delete(all, "a bomb") // twenty to one is no bomb
			}
			names := make([]string, 0, len(all))
			for name := range all {
				names = append(names, name)
			}
			slices.Sort(names)
			results := client.ProduceSync(t.Context(), &kgo.Record{Topic: "hurt", Value: payload(1, 300)})
			if err := results.FirstErr(); err != nil {
				t.Fatal(err)
			}
			first := results[0].Record.Offset + 1
			produce(t, client, "hurt", 0, 2*len(names), 300) // every second one is damaged
			b.Stop()
			change := map[int]func([]byte) []byte{}
			for i, name := range names {
				change[int(first)+2*i] = all[name]
			}
			ids := rewrite(t, redis, "korvet:storage:local:hurt:0", change)
			b.Restart()
			for i, name := range names {
				at := first + int64(2*i)
				readsAround(t, b, name, at)
				want := fmt.Sprintf("stream=korvet:storage:local:hurt:0 entry=%s", ids[at])
				if !strings.Contains(b.Logs(), want) {
					t.Errorf("%s: the log does not name the entry: no %q in it", name, want)
				}
			}
			if most := mostMemory(t, b); most > 300<<20 {
				t.Errorf("the broker took %d MB", most>>20)
			}
			if strings.Contains(b.Logs(), "panic") {
				t.Error("the broker panicked")
			}
		})
	}
}

// readsAround reads a damaged record together with another topic, and then those beside it.
func readsAround(t *testing.T, b *harness.Broker, name string, at int64) {
	t.Helper()
	from := func(offset int64) kgo.Opt {
		return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"hurt": {0: kgo.NewOffset().At(offset)}, "healthy": {0: kgo.NewOffset().At(0)}})
	}
	for _, offset := range []int64{at, at - 1, at + 1} {
		reader, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.KeepRetryableFetchErrors(), from(offset), kgo.FetchMaxPartitionBytes(1))
		if err != nil {
			t.Fatal(err)
		}
		healthy, beside, corrupt := 0, offset == at, offset != at
		for healthy < 10 || !beside || !corrupt {
			fetched := reader.PollFetches(t.Context())
			for _, e := range fetched.Errors() {
				if e.Topic != "hurt" || e.Err != kerr.CorruptMessage {
					t.Fatalf("%s, read from %d for %d: %s: %v", name, offset, at, e.Topic, e.Err)
				}
				corrupt = true
			}
			for _, r := range fetched.Records() {
				switch {
				case r.Topic == "healthy":
					healthy++
				case r.Offset == at || len(r.Value) < 200:
					t.Fatalf("%s: offset %d is read as %.100q", name, r.Offset, r.Value)
				default:
					beside = true
				}
			}
		}
		reader.Close()
	}
}
