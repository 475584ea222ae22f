package groups

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/test/bench/stats"
)

// Load is what a load of requests saw.
type Load struct {
	PerSecond float64         // requests answered within its time
	Latency   stats.Quantiles // ms from when a request was due; of those still waiting at the end, what they had waited
}

// caller sends one request after the other over its connection.
type caller struct {
	*conn
	request func() kmsg.Request
	answer  kmsg.Response // every answer is read into it
	check   func() error  // of what was read

	latencies []int64 // ns
	answered  int     // within the load's time

	mu      sync.Mutex
	busy    bool
	sentDue time.Time
	waiting []time.Time // when the requests that are not sent yet were due
	ended   bool
}

// pacerTick is how often due requests are sent: shorter sleeps cost more than they are worth.
const pacerTick = time.Millisecond

// openLoop sends requests at a steady rate, to the callers in turn, whatever the answers take. A caller whose last request
// is not answered sends the next one late, and its latency counts from when it was due.
func openLoop(ctx context.Context, callers []*caller, rate float64, lasting time.Duration) (Load, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer closeAfter(ctx, callers)()
	began := time.Now()
	var reading sync.WaitGroup
	for _, c := range callers {
		reading.Go(func() {
			if err := c.readAnswers(began.Add(lasting)); err != nil {
				cancel(err)
			}
		})
	}
	period := float64(time.Second) / rate
	for sent := 0; ; {
		passed := min(time.Since(began), lasting)
		for ; float64(sent)*period < float64(passed); sent++ {
			due := began.Add(time.Duration(float64(sent) * period))
			if err := callers[sent%len(callers)].enqueue(due); err != nil {
				cancel(err)
			}
		}
		if passed == lasting || !pause(ctx, pacerTick) {
			break
		}
	}
	for _, c := range callers {
		c.finish(began.Add(lasting))
	}
	reading.Wait()
	return loadOf(callers, lasting), context.Cause(ctx)
}

// closeAfter closes all connections when ctx ends, so that nobody waits for answers any more, unless stop is called before.
func closeAfter(ctx context.Context, callers []*caller) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		for _, c := range callers {
			c.close()
		}
	})
}

func (c *caller) enqueue(due time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		c.waiting = append(c.waiting, due)
		return nil
	}
	return c.sendDue(due)
}

// sendDue sends a request; the caller holds mu.
func (c *caller) sendDue(due time.Time) error {
	c.busy, c.sentDue = true, due
	return c.send(c.request())
}

// readAnswers reads until finish was called and nothing is on its way.
func (c *caller) readAnswers(end time.Time) error {
	for {
		if err := c.receive(c.answer); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return c.nc.SetReadDeadline(time.Time{})
			}
			return err
		}
		now := time.Now()
		if err := c.check(); err != nil {
			return err
		}
		if last, err := c.answeredAt(now, end); err != nil || last {
			return err
		}
	}
}

// answeredAt notes an answer and sends what is due.
func (c *caller) answeredAt(now, end time.Time) (last bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latencies = append(c.latencies, int64(now.Sub(c.sentDue)))
	if !now.After(end) {
		c.answered++
	}
	c.busy = false
	if c.ended {
		return true, nil
	}
	if len(c.waiting) > 0 {
		due := c.waiting[0]
		c.waiting = c.waiting[1:]
		return false, c.sendDue(due)
	}
	return false, nil
}

// finish has the caller send nothing more. What was due counts as answered now.
func (c *caller) finish(end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, due := range c.waiting {
		c.latencies = append(c.latencies, int64(end.Sub(due)))
	}
	if !c.busy {
		_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // a broken connection ends reading as well
	}
}

// closedLoop has every caller send the next request when the last one is answered.
func closedLoop(ctx context.Context, callers []*caller, lasting time.Duration) (Load, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer closeAfter(ctx, callers)()
	end := time.Now().Add(lasting)
	var running sync.WaitGroup
	for _, c := range callers {
		running.Go(func() {
			if err := c.callUntil(ctx, end); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return loadOf(callers, lasting), context.Cause(ctx)
}

func (c *caller) callUntil(ctx context.Context, end time.Time) error {
	for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
		if err := c.send(c.request()); err != nil {
			return err
		}
		if err := c.receive(c.answer); err != nil {
			return err
		}
		if err := c.check(); err != nil {
			return err
		}
		last := now
		now = time.Now()
		c.latencies = append(c.latencies, int64(now.Sub(last)))
		if !now.After(end) {
			c.answered++
		}
	}
	return nil
}

func loadOf(callers []*caller, lasting time.Duration) Load {
	var all []int64
	answered := 0
	for _, c := range callers {
		all = append(all, c.latencies...)
		answered += c.answered
	}
	return Load{PerSecond: float64(answered) / lasting.Seconds(), Latency: stats.QuantilesOf(all)}
}
