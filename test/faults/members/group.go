// Package members runs consumer groups whose members do nothing but read and commit, and remembers what they were told,
// for the checker.
package members

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	size      = 2 // members of a group
	poll      = 10 * time.Millisecond
	retryWait = 50 * time.Millisecond
)

// Config describes a group.
type Config struct {
	Brokers    []string
	Topic      string
	Partitions int
	Group      string
	Consumer   bool      // of the consumer protocol (KIP-848), else classic
	Log        io.Writer // where clients say what they do; nil: nowhere. Safe for concurrent use
}

// Group is two members at work, a ghost that commits as nobody may any more, and somebody who looks at the commits.
type Group struct {
	cfg     Config
	clock   atomic.Int64
	members []*member
	admin   *kadm.Client
	cancel  context.CancelFunc
	working sync.WaitGroup

	committing sync.RWMutex // read-locked during a commit
	hush       context.CancelFunc
	loud       context.Context // of commits; ends with hush

	mu  sync.Mutex
	run checker.GroupRun
}

// Start lets one member join, the other one later, so that there are old generations, and returns when they have settled:
// from then on there is no reason for a rebalance.
func Start(ctx context.Context, cfg Config) (*Group, error) {
	client, err := kgo.NewClient(patient(cfg.Brokers)...)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	g := &Group{cfg: cfg, admin: kadm.NewClient(client), run: checker.GroupRun{Group: cfg.Group}}
	work, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	g.loud, g.hush = context.WithCancel(work)
	for i := range size {
		m, err := g.join("member " + strconv.Itoa(i+1))
		if err == nil {
			g.members = append(g.members, m)
			err = g.awaitSettled(ctx)
		}
		if err != nil {
			g.Abort()
			return nil, err
		}
	}
	for _, m := range g.members {
		g.run.Settled = append(g.run.Settled, m.membership())
		m.settled.Store(true)
		g.working.Go(func() { m.work(work) })
	}
	g.working.Go(func() { g.look(work) })
	g.working.Go(func() { g.haunt(work) })
	return g, nil
}

// patient are options of a client that waits for its only broker to be back. Without them it gives up its membership,
// which is no fault of the broker's: where no broker can be dialled for some milliseconds, and where one is killed before
// it answered a connection's first request, which clients take for a missing login.
func patient(brokers []string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.Dialer(dial), kgo.AlwaysRetryEOF(), kgo.MetadataMinAge(retryWait),
		kgo.RetryBackoffFn(func(int) time.Duration { return retryWait }),
	}
}

// dial connects when there is somebody to connect to.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(poll):
		}
	}
}

// awaitSettled waits until the members have all partitions between them, in one generation, and the broker agrees.
func (g *Group) awaitSettled(ctx context.Context) error {
	for {
		if g.settled(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("group %s does not settle: %w", g.cfg.Group, ctx.Err())
		case <-time.After(poll):
		}
	}
}

func (g *Group) settled(ctx context.Context) bool {
	partitions := 0
	for _, m := range g.members {
		n := len(m.partitions())
		if n == 0 || m.membership().Generation != g.members[0].membership().Generation {
			return false
		}
		partitions += n
	}
	if partitions != g.cfg.Partitions {
		return false
	}
	kind := "classic"
	if g.cfg.Consumer {
		kind = "consumer"
	}
	listed, err := g.admin.ListGroupsByType(ctx, []string{kind}, "Stable")
	_, stable := listed[g.cfg.Group]
	return err == nil && stable
}

// tick reads the clock, which is different at each reading.
func (g *Group) tick() int64 { return g.clock.Add(1) }

// Acked tells how many commits were acknowledged to each member so far.
func (g *Group) Acked() []int64 {
	acked := make([]int64, len(g.members))
	for i, m := range g.members {
		acked[i] = m.acked.Load()
	}
	return acked
}

// AwaitCommits waits until every member had n more commits acknowledged than it has now.
func (g *Group) AwaitCommits(ctx context.Context, n int64) error {
	before := g.Acked()
	for i, m := range g.members {
		for m.acked.Load() < before[i]+n {
			select {
			case <-ctx.Done():
				return fmt.Errorf("await %d more commits of %s of group %s, which had %d and has %d: %w", n, m.name, g.cfg.Group, before[i], m.acked.Load(), ctx.Err())
			case <-time.After(poll):
			}
		}
	}
	return nil
}

// Quietly does something while members commit nothing; a commit on its way is given up. So what is looked at meanwhile is
// exactly what was acknowledged before, or was given up.
func (g *Group) Quietly(do func()) {
	g.hush()
	g.committing.Lock()
	defer g.committing.Unlock()
	do()
	g.loud, g.hush = context.WithCancel(context.Background())
}

// AwaitLook waits until the committed offsets were fetched by somebody who began after now.
func (g *Group) AwaitLook(ctx context.Context) error {
	for now := g.tick(); !g.lookedAfter(now); {
		select {
		case <-ctx.Done():
			return fmt.Errorf("await a look at the commits of group %s: %w", g.cfg.Group, ctx.Err())
		case <-time.After(poll):
		}
	}
	return nil
}

func (g *Group) lookedAfter(tick int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.run.Looks)
	return n > 0 && g.run.Looks[n-1].Began > tick
}

// look fetches the committed offsets over and over.
func (g *Group) look(ctx context.Context) {
	for ctx.Err() == nil {
		_ = g.Look(ctx) // while things are broken there is nothing to see
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// Look fetches the committed offsets once. It is not for use while the group's own looking goes on, before Stop.
func (g *Group) Look(ctx context.Context) error {
	began := g.tick()
	committed, err := g.admin.FetchOffsets(ctx, g.cfg.Group)
	ended := g.tick()
	if err == nil {
		err = committed.Error()
	}
	if err != nil {
		return fmt.Errorf("fetch offsets of group %s: %w", g.cfg.Group, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range int32(g.cfg.Partitions) {
		l := checker.Look{Partition: p, Offset: -1, Began: began, Ended: ended}
		if o, ok := committed.Lookup(g.cfg.Topic, p); ok {
			l.Offset = o.At
		}
		g.run.Looks = append(g.run.Looks, l)
	}
	return nil
}

// Stop ends the work, looks once more, and only then lets the members leave.
func (g *Group) Stop(ctx context.Context) error {
	g.cancel()
	g.working.Wait()
	err := g.Look(ctx)
	for _, m := range g.members {
		m.settled.Store(false) // what follows is no fault
		m.client.Close()
	}
	return err
}

// Run is what is known of the group, after Stop.
func (g *Group) Run() checker.GroupRun {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run
}

// Abort ends everything, whatever has been done before.
func (g *Group) Abort() {
	g.cancel()
	g.working.Wait()
	for _, m := range g.members {
		m.client.Close()
	}
	g.admin.Close()
}
