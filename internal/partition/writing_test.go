package partition_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
	"github.com/korvet-io/korvet/internal/redistest"
)

// tappedConn shows a test the pieces of a request as they are written, and what becomes of its answer.
type tappedConn struct {
	redisstream.Conn
	write func(w io.Writer, piece []byte) (int, error)
	reply func(redisstream.Reply) redisstream.Reply
}

func (c *tappedConn) Send(write func(io.Writer) error, r redisstream.Reply) {
	c.Conn.Send(func(w io.Writer) error {
		return write(writerFunc(func(p []byte) (int, error) { return c.write(w, p) }))
	}, c.reply(r))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// tappedReply tells when an answer begins and when it is lost.
type tappedReply struct {
	redisstream.Reply
	begins, lost func()
}

func (r tappedReply) Read(in *resp.Reader) error {
	r.begins()
	return r.Reply.Read(in)
}

func (r tappedReply) Lost(err error) {
	r.lost()
	r.Reply.Lost(err)
}

// A group whose connection is lost is sent again: not before its first writing has ended, as both walk the same batches.
// The answer had begun already, so that it is the connection's reader that notices.
func TestGroupIsNotGivenUpWhileItIsBeingWritten(t *testing.T) {
	s := redistest.Start(t)
	var armed, writing, overlapped atomic.Bool
	answering := make(chan struct{}, 100)
	h := &hookedShard{wrap: func(c redisstream.Conn) redisstream.Conn {
		return &tappedConn{
			Conn: c,
			write: func(w io.Writer, p []byte) (int, error) {
				if !bytes.HasPrefix(p, []byte("*1\r\n$5\r\nMULTI")) || !armed.Swap(false) {
					return w.Write(p)
				}
				writing.Store(true)
				defer writing.Store(false)
				n, err := w.Write(p)
				<-answering
				go c.Close(errors.New("reset by peer"))
				for c.Alive() {
					runtime.Gosched()
				}
				for range 10_000 { // a chance for whoever does not wait
					runtime.Gosched()
				}
				return n, err
			},
			reply: func(r redisstream.Reply) redisstream.Reply {
				return tappedReply{Reply: r, begins: func() {
					if writing.Load() {
						answering <- struct{}{}
					}
				}, lost: func() {
					if writing.Load() {
						overlapped.Store(true)
					}
				}}
			},
		}
	}}
	f := hooked(t, s, h, nil, partition.Dependencies{})
	ref := newRef("t")
	f.mustAppend(ref, "warm")
	var values []string
	for i := range 400 { // several pieces
		values = append(values, fmt.Sprintf("%04d", i)+strings.Repeat("x", 996))
	}
	armed.Store(true)
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, values...), all); o.err != nil {
		t.Errorf("got %+v", o)
	}
	if overlapped.Load() {
		t.Error("the append was given up while it was being written")
	}
	if got := f.readAll(ref, 1, 1<<20); !same(got, dense(1, values...)) {
		t.Errorf("%d records are in the log", len(got))
	}
}
