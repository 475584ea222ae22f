package copying_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// A log of one partition through both tiers, whose Redis comes back as it was some steps ago.

// unheard is a partition's observer.
type unheard struct{}

func (unheard) AppendDone(int, int, time.Duration, error)  {}
func (unheard) ReadDone(string, int, time.Duration, error) {}
func (unheard) Fenced(string)                              {}
func (unheard) Truncated(partition.Ref, int64)             {}
func (unheard) ValuesCompressed(partition.Ref, int, int)   {}
func (unheard) ValueCorrupt(partition.Ref)                 {}

// away is a store that may be away.
type away struct {
	objectstore.Store
	gone atomic.Bool
}

var errAway = errors.New("the store is away")

func (a *away) List(ctx context.Context, prefix string, f func(objectstore.Object) error) error {
	if a.gone.Load() {
		return errAway
	}
	return a.Store.List(ctx, prefix, f)
}

func (a *away) Size(ctx context.Context, location string) (int64, error) {
	if a.gone.Load() {
		return 0, errAway
	}
	return a.Store.Size(ctx, location)
}

func (a *away) Read(ctx context.Context, location string) ([]byte, error) {
	if a.gone.Load() {
		return nil, errAway
	}
	return a.Store.Read(ctx, location)
}

// rewound is one log, and what was acknowledged of it.
type rewound struct {
	*tiertest.Rig
	topic   *metadata.Topic
	part    *workertest.Part
	ref     partition.Ref
	store   *away // of the brokers
	broker  *partition.Manager
	brokers int
	told    told     // what the brokers log
	log     []string // value by offset
	epoch   int32    // under which the newest was appended
}

func (w *rewound) open() {
	tier, err := remote.Open(w.Context(), remote.Settings{Path: w.Root, Namespace: "korvet"}, w.Tables, chain.NoHint{}, slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatal(err)
	}
	w.store = &away{Store: w.Plain}
	tier.Store = w.store
	w.brokers++
	s := partition.DefaultSettings()
	s.Owner, s.Lease = fmt.Sprintf("%d/b", w.brokers), 200*time.Millisecond
	s.RemoteEndWait, s.RemoteRetry = 200*time.Millisecond, 20*time.Millisecond
	shard := workertest.OpenShard(w, w.Redis.URI())
	w.broker = partition.NewManager(s, partition.Dependencies{
		Shard: shard, Remote: remote.NewReader(tier, remote.DefaultReaderSettings(), nil), Observer: unheard{}, Log: slog.New(slog.NewTextHandler(&w.told, nil)),
		Tiered: func(ref partition.Ref) bool { return w.Tables.MayHave(ref) },
	})
	broker := w.broker
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = broker.Close(ctx)
		shard.Close()
	})
}

// begin makes an empty log.
func (w *rewound) begin(name string) {
	w.Do("FLUSHALL")
	configs := map[string]string{"remote.storage.enable": "true", "local.retention.ms": "1"}
	w.topic = &metadata.Topic{Name: name, ID: uuid.Must(uuid.NewV7()), Partitions: 1, Configs: configs, Config: w.Schema.Effective(name, configs)}
	w.Topics.List = []*metadata.Topic{w.topic}
	w.part = &workertest.Part{Rig: w.Rig.Rig, Keys: redisstream.NewKeys("korvet", name, 0), Topic: w.topic}
	w.ref = partition.Ref{Topic: name, ID: w.topic.ID}
	w.Rig.Logged.Reset()
}

// told keeps what is logged.
type told struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *told) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *told) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// append tries once.
func (w *rewound) append(values ...string) (base int64, err error) {
	var b batch.Builder
	b.Reset(nil, batch.BuildOptions{})
	for i, v := range values {
		b.Put(&record.Record{Offset: int64(i), Timestamp: 1000, Value: []byte(v)})
	}
	parsed, err := batch.Parse(b.Finish(), batch.Limits{})
	if err != nil {
		w.Fatal(err)
	}
	done := make(chan error, 1)
	w.broker.Append(w.ref, parsed, partition.AppendOptions{AllReplicas: true}, func(a partition.Appended, err error) { base = a.BaseOffset; done <- err })
	err = <-done
	return base, err
}

// produce appends records of these many values, as a client that tries again, and says at which offset.
func (w *rewound) produce(prefix string, n int) int64 {
	w.Helper()
	var base int64
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("%s%d", prefix, i))
	}
	redistest.Eventually(w, "records to be acknowledged", func() bool {
		var err error
		base, err = w.append(values...)
		return err == nil
	})
	if base > int64(len(w.log)) {
		w.Fatalf("appended at %d, the log ended at %d", base, len(w.log))
	}
	w.log = append(w.log[:base:base], values...)
	bounds, err := w.broker.Bounds(w.Context(), w.ref)
	if err != nil {
		w.Fatal(err)
	}
	w.epoch = bounds.LeaderEpoch
	return base
}

func (w *rewound) roll() {
	w.Helper()
	noted := w.Do("HGET", w.part.Keys.Segments, "fence")
	fence, err := noted.AsInt64()
	if err != nil {
		fence = 1
	}
	claim := redisstream.Claim{TopicID: w.ref.TopicID(), Fence: fence}
	if _, _, err := w.Shard.Roll(w.Context(), w.part.Keys, claim, w.part.View().Open); err != nil {
		w.Fatal(err)
	}
}

// try makes a tick, which may fail.
func (w *rewound) try() { _ = w.Storage.RunOnce(w.Context()) }

// read reads the log through the broker.
func (w *rewound) read() (values []string) {
	w.Helper()
	for offset := int64(0); ; {
		var res partition.ReadResult
		var err error
		redistest.Eventually(w, "a read to be answered", func() bool {
			res, err = w.broker.Read(w.Context(), w.ref, partition.ReadRequest{Offset: offset, MaxBytes: 1 << 20, AtLeastOne: true}, nil)
			return err == nil && (len(res.Batches) > 0 || offset >= res.LogEnd)
		})
		if len(res.Batches) == 0 {
			return values
		}
		for rest := res.Batches; len(rest) > 0; {
			h, _ := batch.Peek(rest)
			var rb kmsg.RecordBatch
			if err := rb.ReadFrom(rest[:h.Size]); err != nil {
				w.Fatal(err)
			}
			list := rb.Records
			for range rb.NumRecords {
				var r kmsg.Record
				length, n := binary.Varint(list)
				if err := r.ReadFrom(list[:n+int(length)]); err != nil {
					w.Fatal(err)
				}
				list = list[n+int(length):]
				if at := rb.FirstOffset + int64(r.OffsetDelta); at >= offset {
					if at != int64(len(values)) {
						w.Fatalf("after %d records there is offset %d", len(values), at)
					}
					values = append(values, string(r.Value))
				}
			}
			offset, rest = h.LastOffset+1, rest[h.Size:]
		}
	}
}

// steps are what happens to a log: each is one that a rewind may take back.
func (w *rewound) steps() []func() {
	tick := func() { w.Tick() }
	return []func(){
		func() { w.produce("a", 10) }, w.roll, tick, tick, tick,
		func() { w.produce("b", 10) }, w.roll, tick, tick, tick,
		func() { w.produce("c", 5) },
	}
}

// rewind has Redis be what it was when it was saved; nil: empty.
func (w *rewound) rewind(saved []byte) {
	w.Redis.Kill()
	file := filepath.Join(w.Redis.Dir(), "dump.rdb")
	err := os.WriteFile(file, saved, 0o644)
	if saved == nil {
		err = os.RemoveAll(file)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Redis.Restart()
}

func (w *rewound) save() []byte {
	w.Do("SAVE")
	saved, err := os.ReadFile(filepath.Join(w.Redis.Dir(), "dump.rdb"))
	if err != nil {
		w.Fatal(err)
	}
	return saved
}

// inRedis is where the log ends that Redis has.
func (w *rewound) inRedis() int64 { return redisstream.EndOffset(w.part.View().LastSeq) }

// waits checks that nobody is given anything of a log that Redis has lost while the store is away.
func (w *rewound) waits(what string) {
	w.Helper()
	logged := w.told.count("nobody can read or write the partition")
	redistest.Eventually(w, "appends to be refused: "+what, func() bool {
		_, err := w.append("z")
		if err == nil {
			w.Fatalf("%s: an append was acknowledged", what)
		}
		return errors.Is(err, partition.ErrRemoteAway)
	})
	if _, err := w.broker.Read(w.Context(), w.ref, partition.ReadRequest{Offset: 3, MaxBytes: 100}, nil); !errors.Is(err, partition.ErrRemoteAway) {
		w.Fatalf("%s: a read is answered %v", what, err)
	}
	if _, err := w.broker.Bounds(w.Context(), w.ref); !errors.Is(err, partition.ErrRemoteAway) {
		w.Fatalf("%s: the ends are answered %v", what, err)
	}
	if n := w.told.count("nobody can read or write the partition") - logged; n != 1 || w.broker.Waiting() != 1 {
		w.Fatalf("%s: told %d times, %d partitions wait", what, n, w.broker.Waiting())
	}
}

// ended is where the table ends.
func (w *rewound) ended() int64 {
	if !w.Exists(w.part) {
		return 0
	}
	_, state := w.Files(w.part)
	return state.Ends[0]
}

func (w *rewound) check(what string) {
	w.Helper()
	if got := w.read(); fmt.Sprint(got) != fmt.Sprint(w.log) {
		w.Fatalf("%s: the log reads as\n%v, want\n%v", what, got, w.log)
	}
	for i, r := range w.Rows(w.part) {
		if r.Offset != int64(i) || string(r.Value) != w.log[i] {
			w.Fatalf("%s: row %d of the table is %d=%s, want %s\n%s", what, i, r.Offset, r.Value, w.log[i], w.Rig.Logged)
		}
	}
}

func TestRewindsLoseNothingThatWasAcknowledgedSince(t *testing.T) {
	for _, how := range []string{"a broker leads first", "the worker looks first", "a new broker", "the store is away", "a new broker, the store is away"} {
		w := &rewound{Rig: tiertest.New(t)}
		w.open()
		n := len(w.steps())
		for i := range n {
			if how == "a new broker, the store is away" && i%5 != 0 { // that begins each time in another second
				continue
			}
			for j := i + 1; j <= n; j += 2 {
				w.rewinds(how, i, j)
			}
		}
	}
}

// rewinds takes steps i to j of a log back and goes on, twice.
func (w *rewound) rewinds(how string, i, j int) {
	what := fmt.Sprintf("%s, steps %d to %d are taken back", how, i, j)
	w.begin(fmt.Sprintf("t%d-%d", i, j))
	w.log, w.epoch = nil, 0
	steps := w.steps()
	for _, step := range steps[:i] {
		step()
	}
	saved, kept := w.save(), len(w.log)
	for _, step := range steps[i:j] {
		step()
	}
	for again := range 2 {
		table, epoch := w.ended(), w.epoch
		w.rewind(saved)
		switch how {
		case "the worker looks first":
			w.try()
			w.try()
		case "a new broker":
			w.open()
		case "the store is away":
			w.store.gone.Store(true)
		case "a new broker, the store is away":
			w.open()
			w.store.gone.Store(true)
			redistest.Eventually(w, "another second, that is another leader epoch", func() bool { return time.Now().Unix()-1704067200 > int64(epoch) })
		}
		waits := false
		if w.store.gone.Load() {
			if waits = table > 0 && (i == 0 || how == "the store is away" && int64(len(w.log)) > w.inRedis()); waits {
				w.waits(what)
				w.store.gone.Store(false)
			}
		}
		base := w.produce(fmt.Sprintf("x%d-", again), 12+again)
		if want := max(int64(kept), table); (waits || !w.store.gone.Load()) && base != want {
			w.Fatalf("%s: the log goes on at %d, want %d: it had %d when it was saved, the table %d", what, base, want, kept, table)
		}
		if _, end, err := w.broker.EndOfEpoch(w.Context(), w.ref, epoch); err != nil || epoch > 0 && end > base {
			w.Fatalf("%s: epoch %d ends at %d, %v, and other records follow from %d on", what, epoch, end, err, base)
		}
		w.store.gone.Store(false)
		w.roll()
		for range 4 {
			w.try()
		}
		w.produce("y", 3)
		w.check(what)
		if end := w.ended(); end != int64(len(w.log)-3) {
			w.Fatalf("%s: the table ends at %d, want %d\n%s", what, end, len(w.log)-3, w.Rig.Logged)
		}
	}
}
