package redisstream

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestEveryCombinationOfFieldsReadsBackAsWritten(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(nil)
	fields := map[string][]byte{"null": nil, "empty": {}, "short": []byte("x"), "long": []byte(strings.Repeat("ab\r\n", 3000))}
	headers := [][]byte{nil, {2, 2, 'h', 2, 'v'}, []byte(strings.Repeat("h", 1200))}
	offset := int64(0)
	for _, withTime := range []bool{true, false} {
		var list []record.Record
		for _, value := range fields {
			for _, key := range fields {
				for _, h := range headers {
					for _, ts := range []int64{-1, 0, 1_700_000_000_000, -1 << 40} {
						list = append(list, record.Record{Value: value, Key: key, Headers: h, Timestamp: ts})
					}
				}
			}
		}
		a := appendAt(token, f.Floor+1, offset, list)
		a.Sources[0].WithTime = withTime
		b.mustSend(a)
		got := b.entries(b.keys.Stream)[offset:]
		if len(got) != len(list) {
			t.Fatalf("%d of %d entries", len(got), len(list))
		}
		for i, e := range got {
			want := list[i]
			want.Offset = offset + int64(i)
			if !withTime {
				want.Timestamp = int64(a.Ms)
			}
			if !reflect.DeepEqual(e.Record, want) || e.AppendTime == withTime || e.ID != (ID{a.Ms, uint64(want.Offset)}) {
				t.Fatalf("entry %+v, want record %+v", e, want)
			}
		}
		offset += int64(len(list))
	}
}

func TestOffsetsAreCountedUpThroughCarriesAndBeyondDoubles(t *testing.T) {
	b := newBench(t)
	_, token := b.mustFence(nil)
	ms := uint64(1 << 42)
	for _, base := range []int64{0, 8, 97, 996, 99_997, 1<<53 - 2, 999_999_999_999_999_997, 1<<63 - 8} {
		ms++
		b.mustSend(appendAt(token, ms, base, values(5)))
		got := b.entries(b.keys.Stream)
		for i := range 5 {
			want := ID{ms, uint64(base) + uint64(i)}
			if e := got[len(got)-5+i]; e.ID != want || e.Record.Offset != base+int64(i) {
				t.Errorf("entry %v with offset %d, want %v", e.ID, e.Record.Offset, want)
			}
		}
	}
}

func TestSeveralSourcesAreOneAppend(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(nil)
	a := appendAt(token, f.Floor+1, 0, values(3))
	a.Sources = append(a.Sources, Source{Records: &records{list: values(2)}, Count: 2, WithTime: false})
	a.Fields = []Field{{"p:7", "\x01\x00binary\r\n"}, {"tail", "0 5 9"}}
	b.mustSend(a)
	got := b.entries(b.keys.Stream)
	if want := fmt.Sprintf("%[1]d-0 %[1]d-1 %[1]d-2 %[1]d-3 %[1]d-4", a.Ms); ids(got) != want {
		t.Errorf("entries %s, want %s", ids(got), want)
	}
	if got[2].AppendTime || !got[3].AppendTime {
		t.Error("the sources' kinds of timestamp are mixed up")
	}
	want := map[string]string{"exp": fmt.Sprint(a.Expiry), "last": a.Last().String(), "p:7": "\x01\x00binary\r\n", "tail": "0 5 9"}
	if state := b.hash(b.keys.State(token)); !reflect.DeepEqual(state, want) {
		t.Errorf("state %v, want %v", state, want)
	}
}

// mustRefuse appends and checks that Redis refuses with this code and applies nothing.
func (b *bench) mustRefuse(a *Append, code string) {
	b.Helper()
	before := b.text("XLEN", b.keys.Stream)
	state := b.hash(b.keys.State(a.Token))
	err := b.send(a)
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || refused.Code != code {
		b.Fatalf("append: %v, want refused with %s", err, code)
	}
	if after := b.text("XLEN", b.keys.Stream); after != before {
		b.Errorf("a refused append left %s entries of %s", after, before)
	}
	if after := b.hash(b.keys.State(a.Token)); !reflect.DeepEqual(after, state) {
		b.Errorf("a refused append changed the state from %v to %v", state, after)
	}
}

func TestRefusedAppendsTellRedisCodeAndApplyNothing(t *testing.T) {
	for _, c := range []struct {
		code      string
		set, undo []string
	}{
		{"OOM", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		{"NOREPLICAS", []string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{"READONLY", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
	} {
		t.Run(c.code, func(t *testing.T) {
			b, token, ms := filled(t, 3)
			b.Do(c.set...)
			b.mustRefuse(appendAt(token, ms+1, 3, values(2)), c.code)
			b.Do(c.undo...)
			b.mustSend(appendAt(token, ms+2, 3, values(2)))
			if got := len(b.entries(b.keys.Stream)); got != 5 {
				t.Errorf("%d entries, want 5", got)
			}
		})
	}
}

func TestAppendIsRefusedWithMisconfWhenTheLastSaveFailed(t *testing.T) {
	b, token, ms := filled(t, 3)
	b.Do("CONFIG", "SET", "save", "3600 1")
	if err := os.RemoveAll(b.Dir()); err != nil {
		t.Fatal(err)
	}
	c := b.Client()
	if err := c.Do(t.Context(), c.B().Arbitrary("BGSAVE").Build()).Error(); err != nil {
		t.Fatalf("begin to save: %v", err)
	}
	redistest.Eventually(t, "the save to fail", func() bool {
		return strings.Contains(b.text("INFO", "persistence"), "rdb_last_bgsave_status:err")
	})
	b.mustRefuse(appendAt(token, ms+1, 3, values(2)), "MISCONF")
}

func TestAppendIsRefusedWhileRedisLoads(t *testing.T) {
	b, token, ms := filled(t, 3, "--appendonly", "yes")
	b.Do("EVAL", "for i = 1, 20000 do redis.call('RPUSH', 'l', i) end", "0")
	b.RestartLoading()
	redistest.Eventually(t, "a connection to the loading server", func() bool {
		c, err := Await(within(t), func(done func(Conn, error)) { b.shard.Acquire(b.keys.Stream, done) })
		b.conn = c
		return err == nil && c.Alive()
	})
	refused, ok := errors.AsType[*RefusedError](b.send(appendAt(token, ms+1, 3, values(2))))
	if !ok || refused.Code != "LOADING" {
		t.Errorf("refused: %v, want LOADING", refused)
	}
	if _, _, err := b.fence(nil); !strings.Contains(fmt.Sprint(err), "LOADING") {
		t.Errorf("fence: %v, want LOADING", err)
	}
	b.FinishLoading()
	if got := b.text("XLEN", b.keys.Stream); got != "3" {
		t.Errorf("%s entries, want 3", got)
	}
}

func TestAppendToAMissingStreamHasAnUnknownOutcome(t *testing.T) {
	b, token, ms := filled(t, 3)
	b.Do("DEL", b.keys.Stream)
	if err := b.send(appendAt(token, ms+1, 3, values(2))); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if got := b.text("EXISTS", b.keys.Stream); got != "0" {
		t.Error("the append made the stream")
	}
}

func TestAppendBelowTheFloorHasAnUnknownOutcomeAndChangesNoEntry(t *testing.T) {
	b, token, ms := filled(t, 3)
	f, _ := b.mustFence(func(q *FenceRequest) { q.Stamped = ms })
	for _, stamp := range []uint64{ms, f.Floor - 1} {
		if err := b.send(appendAt(token, stamp, 3, values(2))); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("append at %d: %v, want an unknown outcome", stamp, err)
		}
	}
	if got := len(b.entries(b.keys.Stream)); got != 3 {
		t.Errorf("%d entries, want 3", got)
	}
}

func TestAppendToAKeyOfAnotherTypeHasAnUnknownOutcomeAndFenceSaysWhy(t *testing.T) {
	b, token, ms := filled(t, 3)
	b.Do("SET", b.keys.Stream, "x")
	if err := b.send(appendAt(token, ms+1, 3, values(2))); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("append: %v, want an unknown outcome", err)
	}
	_, _, err := b.fence(nil)
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Code != "WRONGTYPE" {
		t.Errorf("fence: %v, want WRONGTYPE", err)
	}
	if _, err := b.shard.Look(t.Context(), b.keys); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("look: %v, want WRONGTYPE", err)
	}
}

func TestHalfAnAppendHasAnUnknownOutcome(t *testing.T) {
	b, token, ms := filled(t, 3)
	b.Do("XADD", b.keys.Stream, fmt.Sprintf("%d-4", ms+1), "stranger", "1")
	if err := b.send(appendAt(token, ms+1, 3, values(4))); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
}

func TestCursorThatEndsEarlyAppendsNothing(t *testing.T) {
	b, token, ms := filled(t, 3)
	a := appendAt(token, ms+1, 3, values(2))
	a.Sources[0].Count = 4
	if err := b.send(a); !errors.Is(err, ErrNotSent) {
		t.Errorf("got %v, want not sent", err)
	}
	if b.conn.Alive() {
		t.Error("the connection goes on in the middle of a MULTI")
	}
}

// Where MULTI alone is refused, the commands behind it run one by one and answer other lines than expected: whatever comes
// next on that connection would be taken for another request's answer.
func TestRefusedMultiGivesTheConnectionUp(t *testing.T) {
	b, token, ms := filled(t, 3)
	b.Do("ACL", "SETUSER", "default", "-multi")
	appended, echoed := make(chan error, 1), make(chan error, 1)
	NewAppender(b.keys).Send(b.conn, appendAt(token, ms+1, 3, values(2)), func(err error) { appended <- err })
	ask(b.conn, resp.AppendCommand(nil, "ECHO", "hello"), func(v resp.Value, err error) {
		if err == nil && v.Str != "hello" {
			t.Errorf("ECHO was answered %+v", v)
		}
		echoed <- err
	})
	if err := <-appended; !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if err := <-echoed; err == nil {
		t.Error("the connection goes on")
	}
}

func TestAppendOnALostConnectionIsNotSent(t *testing.T) {
	b, token, ms := filled(t, 3)
	b.conn.Close(ErrConnClosed)
	err := b.send(appendAt(token, ms+1, 3, values(2)))
	if !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrConnClosed) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v, want not sent because of the closed connection", err)
	}
}

// Only the append whose end could not be written is known not to be there; that of the one before it, which a frozen Redis
// got whole, is not.
func TestAppendOfWhichAFrozenRedisGotNoEndIsNotSent(t *testing.T) {
	s := redistest.Start(t)
	o := testOptions(t, s)
	o.DialTimeout = 300 * time.Millisecond
	sh := Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(sh.Close)
	b := &bench{TB: t, Server: s, shard: sh, keys: NewKeys("korvet", "t", 0)}
	b.conn = b.acquire()
	f, token := b.mustFence(nil)
	b.Pause()
	whole, torn, behind := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	large := &records{}
	for range 100 {
		large.list = append(large.list, record.Record{Value: make([]byte, 1<<20)})
	}
	NewAppender(b.keys).Send(b.conn, appendAt(token, f.Floor+1, 0, values(2)), func(err error) { whole <- err })
	NewAppender(b.keys).Send(b.conn, &Append{
		Token: token, Ms: f.Floor + 1, Base: 2, Expiry: f.Expiry, Sources: []Source{{Records: large, Count: len(large.list)}},
	}, func(err error) { torn <- err })
	NewAppender(b.keys).Send(b.conn, appendAt(token, f.Floor+1, 102, values(2)), func(err error) { behind <- err })
	b.Resume()
	if err := <-whole; !errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrNotSent) {
		t.Errorf("what was sent before: %v, want an unknown outcome", err)
	}
	for what, outcome := range map[string]chan error{"without its end": torn, "behind it": behind} {
		if err := <-outcome; !errors.Is(err, ErrNotSent) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("what was sent %s: %v, want not sent", what, err)
		}
	}
	redistest.Eventually(t, "the first append", func() bool { return b.text("XLEN", b.keys.Stream) == "2" })
}
