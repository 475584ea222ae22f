package demo

import (
	"context"
	"fmt"
	"time"
)

const (
	plainEvery = time.Second
	drawEvery  = 500 * time.Millisecond
	history    = 40 // rates in the sparkline
	askTimeout = time.Second
)

// show prints or draws a sample at a time until ctx ends.
func (r *run) show(ctx context.Context) {
	every := plainEvery
	if r.opt.Terminal != nil {
		every = drawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	before := Sample{}
	for {
		s := r.sample(ctx, before)
		switch {
		case r.opt.Terminal != nil:
			_, rows := r.opt.Terminal.Size()
			r.opt.Terminal.Show(lines(r.opt.Places, s, rows))
		case before.Elapsed > 0: // there is nothing to say before the first second is over
			fmt.Fprintln(r.opt.Out, plain(s))
		}
		before = s
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sample measures the moment; rates are since the sample before.
func (r *run) sample(ctx context.Context, before Sample) Sample {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s := Sample{
		Elapsed:      max(r.opt.Now().Sub(r.started), 1),
		In:           r.acked.Load(),
		Out:          r.read.total(),
		Failed:       r.failed.Load(),
		Partitions:   make([]Partition, Partitions),
		GroupState:   before.GroupState,
		ratesHistory: before.ratesHistory,
	}
	if seconds := (s.Elapsed - before.Elapsed).Seconds(); before.Elapsed > 0 && seconds > 0 {
		s.InRate = float64(s.In-before.In) / seconds
		s.OutRate = float64(s.Out-before.Out) / seconds
		s.ratesHistory = append(s.ratesHistory, s.InRate)
		s.ratesHistory = s.ratesHistory[max(0, len(s.ratesHistory)-history):]
	}
	p := r.latency.percentiles(0.5, 0.99)
	s.P50, s.P99 = p[0], p[1]
	r.latency.next()
	var err error
	if s.RedisMemory, err = r.opt.Memory(ctx); err != nil {
		s.RedisMemory = -1
	}
	copy(s.Partitions, before.Partitions)
	r.group(ctx, &s)
	r.offsets(ctx, &s)
	if s.Tier, err = r.opt.Tier(ctx); err != nil {
		s.Tier = before.Tier
	}
	s.Tier.Codec = r.codec
	r.mu.Lock()
	s.LastEvent, s.LastProblem = r.lastEvent, r.lastProblem
	r.mu.Unlock()
	return s
}

// offsets fills in the partitions' ends; where they cannot be had, those of the sample before stay.
func (r *run) offsets(ctx context.Context, s *Sample) {
	ends, err := r.admin.ListEndOffsets(ctx, Topic)
	if err != nil {
		return
	}
	starts, err := r.admin.ListStartOffsets(ctx, Topic)
	if err != nil {
		return
	}
	for i := range s.Partitions {
		if end, ok := ends.Lookup(Topic, int32(i)); ok && end.Err == nil {
			s.Partitions[i].End = end.Offset
		}
		if start, ok := starts.Lookup(Topic, int32(i)); ok && start.Err == nil {
			s.Partitions[i].Start = start.Offset
		}
	}
}
