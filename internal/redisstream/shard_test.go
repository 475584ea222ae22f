package redisstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestAcquireWaitsWhileTheBreakerIsClosed(t *testing.T) {
	s := redistest.Start(t)
	s.Kill()
	o := testOptions(t, s)
	o.Breaker = false
	sh := Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(sh.Close)
	acquired := make(chan error, 1)
	sh.Acquire("s", func(_ Conn, err error) { acquired <- err })
	redistest.Eventually(t, "an attempt to fail", func() bool {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		return !sh.failing.IsZero()
	})
	select {
	case err := <-acquired:
		t.Fatalf("answered before there was a connection: %v", err)
	default:
	}
	s.Restart()
	if err := <-acquired; err != nil {
		t.Errorf("acquire: %v", err)
	}
	if !sh.Available() {
		t.Error("not available")
	}
}

func TestBreakerOpensAndClosesByItself(t *testing.T) {
	s := redistest.Start(t)
	sh := openShard(t, s)
	b := &bench{TB: t, Server: s, shard: sh, keys: NewKeys("korvet", "t", 0)}
	first := b.acquire().Identity()
	s.Kill()
	refused := func() bool {
		_, err := Await(within(t), func(done func(Conn, error)) { sh.Acquire("s", done) })
		return errors.Is(err, ErrUnavailable)
	}
	redistest.Eventually(t, "the breaker to open", func() bool {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		return sh.open()
	})
	if !refused() || sh.Available() {
		t.Error("an open breaker refuses nobody")
	}
	if _, err := sh.Look(t.Context(), b.keys); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a read behind an open breaker: %v", err)
	}
	s.Restart()
	redistest.Eventually(t, "the breaker to close without being asked", sh.Available)
	if refused() {
		t.Error("a closed breaker refuses")
	}
	if sh.Identity() == first || sh.Identity() == (Identity{}) {
		t.Errorf("identity %v after %v", sh.Identity(), first)
	}
}

func TestAnotherRedisInItsPlaceIsNoticedWhileNobodyWrites(t *testing.T) {
	s := redistest.Start(t)
	sh := openShard(t, s)
	redistest.Eventually(t, "redis to be reached", sh.Available)
	first := sh.Identity()
	s.Restart()
	redistest.Eventually(t, "another identity", func() bool { return sh.Identity() != first })
}

func TestEveryRequestOnALostConnectionIsAnsweredOnce(t *testing.T) {
	for name, lose := range map[string]func(b *bench){
		"killed":  func(b *bench) { b.Kill() },
		"cut":     func(b *bench) { b.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") },
		"closed":  func(b *bench) { b.conn.Close(ErrConnClosed) },
		"stopped": func(b *bench) { b.shard.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var mu sync.Mutex
			calls := map[int]int{}
			var answered sync.WaitGroup
			const n = 300
			answered.Add(n)
			for i := range n {
				if i == n/2 {
					lose(b)
				}
				ask(b.conn, resp.AppendCommand(nil, "ECHO", fmt.Sprint(i)), func(v resp.Value, err error) {
					if err == nil && v.Str != fmt.Sprint(i) {
						t.Errorf("request %d was answered %q", i, v.Str)
					}
					mu.Lock()
					calls[i]++
					if calls[i] == 1 {
						answered.Done()
					}
					mu.Unlock()
				})
			}
			answered.Wait()
			b.shard.Close()
			for i, n := range calls {
				if n != 1 {
					t.Errorf("request %d was answered %d times", i, n)
				}
			}
		})
	}
}

func TestReadCancelledByItsContextLeavesThePoolUsable(t *testing.T) {
	b, _, _ := filled(t, 10)
	b.Pause()
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		read := make(chan error, 1)
		go func() {
			_, err := b.shard.Look(ctx, b.keys)
			read <- err
		}()
		cancel()
		if err := <-read; !errors.Is(err, context.Canceled) && !errors.Is(err, ErrUnavailable) {
			t.Errorf("look: %v", err)
		}
	}
	b.Resume()
	for range 5 {
		if v := b.look(); EndOffset(v.LastSeq) != 10 {
			t.Errorf("afterwards: %+v", v)
		}
		if got := b.entries(b.keys.Stream); len(got) != 10 {
			t.Errorf("%d entries", len(got))
		}
	}
}

func TestErrorAnswerLeavesTheReadConnectionUsable(t *testing.T) {
	b, _, _ := filled(t, 3)
	b.Do("SET", "string", "x")
	var k kept
	for range 5 {
		if _, err := b.shard.Range(t.Context(), "string", ID{}, true, 10, &k); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("range of a string: %v", err)
		}
		if got := b.entries(b.keys.Stream); len(got) != 3 {
			t.Errorf("%d entries", len(got))
		}
	}
}

func TestSinkThatWantsNoMoreGetsNoMoreAndTheConnectionStaysInOrder(t *testing.T) {
	b, _, ms := filled(t, 100)
	for limit := 1; limit < 5; limit++ {
		k := kept{limit: limit}
		page, err := b.shard.Range(t.Context(), b.keys.Stream, ID{ms, 3}, false, 50, &k)
		if err != nil || page.Entries != 50 || len(k.entries) != limit || k.entries[0].Record.Offset != 4 {
			t.Errorf("limit %d: %+v, %v, %s", limit, page, err, ids(k.entries))
		}
	}
}

func TestClosedShardRefuses(t *testing.T) {
	b, _, _ := filled(t, 3)
	b.shard.Close()
	b.shard.Close() // again does nothing
	if _, err := b.shard.Look(t.Context(), b.keys); !errors.Is(err, ErrUnavailable) {
		t.Errorf("look: %v", err)
	}
	if _, err := Await(t.Context(), func(done func(Conn, error)) { b.shard.Acquire("s", done) }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("acquire: %v", err)
	}
	if b.conn.Alive() {
		t.Error("a connection is open")
	}
}

func TestShardClosesWhileARedisIsFrozen(t *testing.T) {
	b, _, _ := filled(t, 3)
	b.Pause()
	read := make(chan error, 1)
	go func() {
		_, err := b.shard.Look(context.Background(), b.keys)
		read <- err
	}()
	lost := make(chan error, 1)
	ask(b.conn, resp.AppendCommand(nil, "PING"), func(_ resp.Value, err error) { lost <- err })
	b.shard.Close()
	if err := <-read; err == nil {
		t.Error("a frozen redis answered a read")
	}
	if err := <-lost; err == nil {
		t.Error("a frozen redis answered a request")
	}
}

func TestPasswordDatabaseAndUnixSocketAreUsed(t *testing.T) {
	path := t.TempDir() + "/s"
	s := redistest.Start(t, "--unixsocket", path)
	s.Do("ACL", "SETUSER", "korvet", "on", ">secret", "~*", "+@all")
	for _, uri := range []string{
		strings.Replace(s.URI(), "redis://", "redis://korvet:secret@", 1) + "/3", "redis+unix://korvet:secret@" + path + "?db=3",
	} {
		o, err := ParseURI(uri)
		if err != nil {
			t.Fatal(err)
		}
		o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 1, 5*time.Second
		sh := Open(o, slog.New(slog.DiscardHandler))
		v, err := sh.reads.value(t.Context(), resp.AppendCommand(nil, "CLIENT", "INFO"))
		if err != nil || !strings.Contains(v.Str, " db=3 ") || !strings.Contains(v.Str, " user=korvet ") {
			t.Errorf("%s: %q, %v", uri, v.Str, err)
		}
		sh.Close()
	}
	o, _ := ParseURI(strings.Replace(s.URI(), "redis://", "redis://korvet:wrong@", 1))
	o.WriteConnections, o.ReadConnections, o.DialTimeout, o.Breaker = 1, 1, 5*time.Second, true
	sh := Open(o, slog.New(slog.DiscardHandler))
	defer sh.Close()
	if _, err := sh.Look(t.Context(), NewKeys("korvet", "t", 0)); err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "wrong@") {
		t.Errorf("a wrong password: %v", err)
	}
}

func TestURIErrorsDoNotRepeatThePassword(t *testing.T) {
	for _, uri := range []string{"redis://user:secret@ho st:6379", "redis://user:secret@host:port", "http://user:secret@host", "redis://user:secret@host/x"} {
		if _, err := ParseURI(uri); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// A server that answers a greeting and then nonsense.
func TestNonsenseFromAServerEndsTheConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	serve := func(c net.Conn) {
		info := resp.AppendBulk(nil, "run_id:x\r\nmaster_replid:y\r\n")
		_, _ = c.Write(append(info, info...)) // a failure shows in the client's reads
		r := resp.NewReader(c)
		for range 2 {
			_, _ = r.Value()
		}
		if _, err := r.Value(); err == nil {
			_, _ = c.Write([]byte("nonsense\r\n"))
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	o := Options{Network: "tcp", Address: l.Addr().String(), WriteConnections: 1, ReadConnections: 1, DialTimeout: 5 * time.Second}
	sh := Open(o, slog.New(slog.DiscardHandler))
	defer sh.Close()
	c, err := Await(within(t), func(done func(Conn, error)) { sh.Acquire("s", done) })
	if err != nil || c.Identity() != (Identity{"x", "y"}) {
		t.Fatalf("acquire: %v, %v", c, err)
	}
	_, err = Await(within(t), func(done func(resp.Value, error)) { ask(c, resp.AppendCommand(nil, "PING"), done) })
	if !errors.Is(err, resp.ErrProtocol) {
		t.Errorf("got %v, want a protocol error", err)
	}
	redistest.Eventually(t, "the connection to be given up", func() bool { return !c.Alive() })
	if _, err := sh.Look(within(t), NewKeys("korvet", "t", 0)); err == nil {
		t.Error("a read took nonsense for an answer")
	}
}

func TestIdentityOfAProviderThatHidesItIsNeverTheSame(t *testing.T) {
	for _, info := range []string{"", "run_id:x\r\n", "master_replid:y\r\n", "run_id:\r\nmaster_replid:\r\n"} {
		if a, b := identityOf(info), identityOf(info); a == b {
			t.Errorf("%q gave %v twice", info, a)
		}
	}
	if id := identityOf("# Server\r\nrun_id:x\r\n\nrole:master\r\nmaster_replid:y\r\nmaster_replid2:z\r\n"); id != (Identity{"x", "y"}) {
		t.Errorf("identity %v", id)
	}
}
