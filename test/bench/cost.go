package main

import (
	"time"

	"github.com/korvet-io/korvet/test/bench/proc"
)

// cost watches what a load costs a system's processes.
type cost struct {
	processes map[string]int // by part
	before    map[string]float64
	peaks     map[string]func() int64
}

func watch(processes map[string]int) (*cost, error) {
	c := &cost{processes: processes, before: map[string]float64{}, peaks: map[string]func() int64{}}
	for part, pid := range processes {
		cpu, err := proc.CPU(pid)
		if err != nil {
			c.forget()
			return nil, err
		}
		c.before[part] = cpu
		c.peaks[part] = proc.Peak(pid, 50*time.Millisecond)
	}
	return c, nil
}

func (c *cost) forget() {
	for _, peak := range c.peaks {
		peak()
	}
}

// stop calls each with every part's processor seconds since the start and its peak of resident memory in bytes.
func (c *cost) stop(each func(part string, cpu float64, peak int64)) error {
	var failed error
	for part, pid := range c.processes {
		after, err := proc.CPU(pid)
		peak := c.peaks[part]()
		if err != nil {
			failed = err
			continue
		}
		each(part, after-c.before[part], peak)
	}
	return failed
}
