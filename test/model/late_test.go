package model

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// slowPost is a way to Redis on which an append, and whatever a connection sends behind it, stays until the test lets it
// arrive, also when who sent it is gone.
type slowPost struct {
	listener net.Listener
	upstream string

	mu   sync.Mutex
	held []letter
	all  []net.Conn
}

type letter struct {
	to    net.Conn
	bytes []byte
}

func newSlowPost(t *testing.T, upstream string) *slowPost {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &slowPost{listener: l, upstream: upstream}
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.all {
			_ = c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", upstream)
			if err != nil {
				_ = c.Close()
				continue
			}
			p.mu.Lock()
			p.all = append(p.all, c, up)
			p.mu.Unlock()
			go p.answers(c, up)
			go p.commands(c, up)
		}
	}()
	return p
}

func (p *slowPost) answers(c, up net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		_, _ = c.Write(buf[:n]) // when nobody listens any more Redis is read all the same
	}
}

func (p *slowPost) commands(c, up net.Conn) {
	holding := false
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if holding = holding || bytes.Contains(buf[:n], []byte("\r\nMULTI\r\n")); !holding {
			_, _ = up.Write(buf[:n])
			continue
		}
		p.mu.Lock()
		p.held = append(p.held, letter{up, bytes.Clone(buf[:n])})
		p.mu.Unlock()
	}
}

// whole tells whether an append is held to its end.
func (p *slowPost) whole() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []byte
	for _, l := range p.held {
		all = append(all, l.bytes...)
	}
	return bytes.HasSuffix(all, []byte("\r\nEXEC\r\n"))
}

// deliver lets what is held arrive.
func (p *slowPost) deliver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.held {
		_, _ = l.to.Write(l.bytes)
	}
	p.held = nil
}

// late is a world in which a broker's first append comes late.
type late struct {
	*testing.T
	*world
}

// dies has a broker lead that knows the newest dictionary, and die with its first append on its way.
func (l *late) dies() *slowPost {
	l.Helper()
	post := newSlowPost(l.T, l.uri.Address)
	direct := l.uri.Address
	l.uri.Address = post.listener.Addr().String()
	l.leads(l.startBroker(1))
	l.uri.Address = direct
	l.must(l.knows())
	p := l.producers[0]
	if _, err := l.broker().send(l.ref, []Record{{Value: []byte("late")}}, p.identity, l.options()); err != nil {
		l.Fatal(err)
	}
	redistest.Eventually(l, "the append to be on its way", post.whole)
	l.broker().crash()
	l.dead.Store(l.broker().owner, true)
	return post
}

// leads has a new broker lead.
func (l *late) leads(b *broker) {
	l.Helper()
	if old := l.brokers[0]; !l.isDead(old.owner) {
		l.must(old.stop(l.ctx))
	}
	l.brokers[0] = b
}

func (l *late) must(errs ...error) {
	l.Helper()
	if err := errors.Join(errs...); err != nil {
		l.Fatal(err)
	}
}

// left has the storage worker work with the log start at its newest records, and tells which dictionaries there are then.
func (l *late) left(records int64) string {
	l.Helper()
	start := l.log.End - records
	if _, err := l.broker().DeleteBefore(l.ctx, l.ref, start); err != nil {
		l.Fatal(err)
	}
	l.log.StartAt(start)
	_, err := l.tick()
	l.must(err)
	left, err := l.dictionaryIDs()
	l.must(err)
	return left
}

func (l *late) expect(want, got string) {
	l.Helper()
	if got != want {
		l.Errorf("%s, want %s", got, want)
	}
}

// An owner that was replaced sends its dictionary again with what comes late. Meanwhile a broker that has not heard of any
// newer one uses it again: it must not go for what the late append says of its use.
func TestALateAppendDoesNotSayWhenADictionaryWasUsed(t *testing.T) {
	w, err := newStage(t).open(t.Context(), 1, map[string]string{
		"segment.bytes": "-1", "retention.ms": "-1", "storage.compression.type": "zstd", "storage.compression.dictionary.enabled": "true",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	l := &late{t, w}
	l.must(l.retrain())
	stale := l.startBroker(2)
	before := l.brokers[0]
	l.brokers[0] = stale
	l.must(l.knows())
	stale.end() // it hears of no other dictionary any more
	l.brokers[0] = before
	first := l.dies()

	l.leads(l.startBroker(1))
	l.must(l.retrain(), l.fill(100)(), l.retrain(), l.fill(100)())
	l.leads(stale)
	l.must(l.fill(100)())
	l.arrives(first, "1")
	l.expect("dictionaries of the partition [1], of the topic [1 3]", l.left(100))

	second := l.dies()
	l.leads(l.startBroker(1))
	l.must(l.retrain(), l.fill(100)())
	l.expect("dictionaries of the partition [4], of the topic [4]", l.left(100))
	l.arrives(second, "3")
	l.must(l.fill(100)())
	l.expect("dictionaries of the partition [3 4], of the topic [4]", l.left(150))
}

// arrives lets a late append arrive, which brings its dictionary and nothing else.
func (l *late) arrives(post *slowPost, dictionary string) {
	l.Helper()
	if _, err := l.redis.Do(l.ctx, l.redis.B().Hdel().Key(l.keys.Dictionaries).Field(dictionary).Build()).AsInt64(); err != nil {
		l.Fatal(err)
	}
	post.deliver()
	redistest.Eventually(l, "the late dictionary", func() bool {
		ids, err := l.dictionaryIDs()
		l.must(err)
		partition, _, _ := strings.Cut(ids, "]")
		return strings.Contains(partition, dictionary)
	})
	l.must(l.checkAnew(make([]Latitude, 1)))
}
