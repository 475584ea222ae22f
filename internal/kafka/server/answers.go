package server

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answer is one request's place in the order of answers.
type answer struct {
	to            *answers
	key           int16
	version       int16
	correlationID int32
	clientID      string
	size          int // the request's bytes that count as pending
	began         time.Time

	ready  bool
	resp   Response
	err    error
	unsent int64 // bytes of an Encoded answer
}

// answers writes a connection's answers in request order. At any time at most one goroutine writes.
type answers struct {
	conn *conn
	room chan struct{} // gets a token when a waiting reader should look again

	mu      sync.Mutex
	queue   []*answer // in request order, from head on
	head    int
	unsent  int64   // bytes of Encoded answers that are ready and not written
	serving *answer // its handler is being called; the reader flushes afterwards
	writing bool
	last    bool      // close once the queue is empty
	gone    bool      // the connection is closed
	waiting bool      // the reader waits for room
	taken   []*answer // being written
}

func (a *answers) inFlight() int { return len(a.queue) - a.head + len(a.taken) }

// push appends a place for the answer to req, whose handler the reader calls next, and then flush.
func (a *answers) push(req *Request, size int, now time.Time) *answer {
	p := &answer{
		to: a, key: req.Key, version: req.Version, correlationID: req.CorrelationID, clientID: req.ClientID,
		size: size, began: now,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.head > 0 && len(a.queue) == cap(a.queue) {
		n := copy(a.queue, a.queue[a.head:])
		clear(a.queue[n:])
		a.queue, a.head = a.queue[:n], 0
	}
	a.queue = append(a.queue, p)
	a.serving = p
	return p
}

// reply is the handler's answer. It never blocks: when the answer is the next in order and the reader is not about to
// write itself, a goroutine is started that writes what is ready and ends.
func (p *answer) reply(resp Response, err error) {
	a := p.to
	a.mu.Lock()
	if p.ready {
		a.mu.Unlock()
		return
	}
	p.ready, p.resp, p.err = true, resp, err
	if e, ok := resp.(Encoded); ok {
		for _, b := range e.Buffers() {
			p.unsent += int64(len(b))
		}
		a.unsent += p.unsent
	}
	gone := a.gone
	write := !gone && !a.writing && a.serving != p && a.queue[a.head] == p
	if write {
		a.writing = true
	}
	a.mu.Unlock()
	p.free()
	switch {
	case gone:
		p.release()
	case write:
		go a.write()
	}
}

// free gives back what the request takes of the budgets, once.
func (p *answer) free() {
	p.to.mu.Lock()
	size := p.size
	p.size = 0
	p.to.mu.Unlock()
	if size > 0 {
		p.to.conn.releaseRequest(size)
	}
}

// release gives an answer's buffers back.
func (p *answer) release() {
	if e, ok := p.resp.(Encoded); ok {
		e.Release()
	}
	p.resp = nil
}

// flush writes what is ready, on the reader's goroutine.
func (a *answers) flush() {
	a.mu.Lock()
	a.serving = nil
	write := !a.writing && !a.gone && a.head < len(a.queue) && a.queue[a.head].ready
	if write {
		a.writing = true
	}
	a.mu.Unlock()
	if write {
		a.write()
	}
}

// awaitRoom waits while the connection has too many requests in flight or too much that its client has not taken.
func (a *answers) awaitRoom() error {
	set := &a.conn.srv.set
	for {
		a.mu.Lock()
		full := a.inFlight() >= set.MaxInFlight || a.unsent > set.MaxUnsentBytes
		a.waiting = full
		a.mu.Unlock()
		if !full {
			return nil
		}
		a.flush()
		select {
		case <-a.room:
		case <-a.conn.info.Draining.Done():
			return errDraining
		}
	}
}

// closeAfterLast ends the connection after the answers to what was read.
func (a *answers) closeAfterLast() {
	a.mu.Lock()
	a.last = true
	a.mu.Unlock()
	a.flush()
	a.mu.Lock()
	done := !a.writing && a.inFlight() == 0
	a.mu.Unlock()
	if done {
		a.conn.close()
	}
}

// abandon drops what was not written. Answers that come later are dropped as well.
func (a *answers) abandon() {
	a.mu.Lock()
	a.gone = true
	var ready []*answer
	for _, p := range a.queue[a.head:] {
		if p.ready {
			ready = append(ready, p)
		}
	}
	a.queue, a.head = nil, 0
	a.mu.Unlock()
	for _, p := range ready {
		p.release()
	}
}

// write writes what is ready until the next answer in order is not. The caller has set writing.
func (a *answers) write() {
	defer func() {
		if r := recover(); r != nil {
			a.conn.srv.metrics.Failure("write", "panic")
			a.conn.log().Error("closing connection: encoding an answer panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			a.conn.close()
		}
	}()
	for {
		batch, failed, more := a.take()
		if len(batch) > 0 && !a.writeBatch(batch) {
			a.conn.close()
			return
		}
		if failed != nil {
			a.refuse(failed)
			return
		}
		if !more {
			return
		}
	}
}

// take removes the answers that are next in order and ready. failed is one that closes the connection. When there is
// nothing to write it ends the writing and returns more = false.
func (a *answers) take() (batch []*answer, failed *answer, more bool) {
	a.mu.Lock()
	for _, p := range a.taken {
		a.unsent -= p.unsent
	}
	clear(a.taken)
	a.taken = a.taken[:0]
	for a.head < len(a.queue) && a.queue[a.head].ready && failed == nil {
		p := a.queue[a.head]
		a.queue[a.head] = nil
		a.head++
		if p.err != nil {
			failed = p
			continue
		}
		a.taken = append(a.taken, p)
	}
	if a.head == len(a.queue) {
		a.queue, a.head = a.queue[:0], 0
	}
	batch = a.taken
	more = len(batch) > 0
	end := false
	if !more && failed == nil {
		a.writing = false
		end = a.last && a.inFlight() == 0
	}
	if a.waiting {
		a.waiting = false
		select {
		case a.room <- struct{}{}:
		default:
		}
	}
	a.mu.Unlock()
	if end {
		a.conn.close()
	}
	return batch, failed, more
}

// refuse closes the connection because of a request that cannot be answered.
func (a *answers) refuse(p *answer) {
	srv := a.conn.srv
	srv.metrics.Request(p.key, ResultClosed, srv.now().Sub(p.began))
	srv.metrics.Failure("request", "refused")
	if !errors.Is(p.err, errPanicked) {
		a.conn.log().Warn("closing connection",
			slog.String("api", kmsg.NameForKey(p.key)), slog.Int("version", int(p.version)),
			slog.Int("correlation_id", int(p.correlationID)), slog.String("client_id", p.clientID),
			slog.Any("error", p.err))
	}
	a.conn.close()
}
