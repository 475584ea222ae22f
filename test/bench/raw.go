package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/korvet-io/korvet/test/bench/load"
	"github.com/korvet-io/korvet/test/bench/rawredis"
)

// rawJob is a load of the bare Redis client.
type rawJob struct {
	Command      string     `json:"command"` // XADD or XRANGE
	Address      string     `json:"address"`
	Connections  [][]string `json:"connections"` // the streams of each
	Records      int        `json:"records"`     // over all connections
	RecordSize   int        `json:"record_size"`
	Compressible float64    `json:"compressible"`
}

const (
	rawBatch    = 1000 // XADDs written at once, entries of an XRANGE
	rawInFlight = 4    // batches of XADDs not answered yet
	rawReaders  = 2    // connections that read, where there are as many streams
)

func runRaw(ctx context.Context, j rawJob) (load.Result, error) {
	began := time.Now()
	share := j.Records / len(j.Connections)
	errs := make([]error, len(j.Connections))
	counts := make([]int64, len(j.Connections))
	var working sync.WaitGroup
	for i, streams := range j.Connections {
		records := share
		if i < j.Records%len(j.Connections) {
			records++
		}
		working.Go(func() {
			if j.Command == "XRANGE" {
				counts[i], _, errs[i] = rawredis.Range{Address: j.Address, Streams: streams, Count: rawBatch}.Run(ctx)
				return
			}
			content := load.NewContent(j.RecordSize, j.Compressible, uint64(i)+1)
			counts[i] = int64(records)
			errs[i] = rawredis.Append{
				Address: j.Address, Streams: streams, Records: records, Batch: rawBatch, InFlight: rawInFlight,
				Value: content.Next, Now: time.Now,
			}.Run(ctx)
		})
	}
	working.Wait()
	took := time.Since(began).Seconds()
	total := int64(0)
	for i, err := range errs {
		if err != nil {
			return load.Result{}, err
		}
		total += counts[i]
	}
	if total != int64(j.Records) {
		return load.Result{}, fmt.Errorf("%s: %d entries where %d were due", j.Command, total, j.Records)
	}
	rate := float64(total) / took
	if j.Command == "XRANGE" {
		return load.Result{Records: j.Records, ConsumedPerSecond: rate}, nil
	}
	return load.Result{Records: j.Records, ProducedPerSecond: rate}, nil
}

// rawStreams shares a scenario's streams out to connections, as only one may write a stream.
func rawStreams(partitions, connections int) [][]string {
	shares := make([][]string, min(partitions, connections))
	for p := range partitions {
		i := p % len(shares)
		shares[i] = append(shares[i], fmt.Sprintf("korvet:storage:local:bench:%d", p))
	}
	return shares
}

// visitRaw measures the ceiling: the same records, from a bare client to an empty Redis and back.
func (r *runner) visitRaw(ctx context.Context, shape scenario, counted bool) (err error) {
	catchUp := r.wanted["catchup"] && shape.Producers == r.Producers[0]
	if !r.wanted["produce"] && !catchUp {
		return nil
	}
	if err := r.redis.Open(ctx); err != nil {
		return err
	}
	defer func() {
		if closeErr := r.redis.Close(); err == nil {
			err = closeErr
		}
	}()
	m := &measurement{
		runner: r, name: "raw", shape: shape, counted: counted,
		processes: func() map[string]int { return map[string]int{"redis": r.redis.PID()} },
	}
	result, err := m.observe(ctx, "produce", m.rawJob("XADD", shape.Producers))
	if err != nil {
		return err
	}
	m.add("produce.rate", result.ProducedPerSecond)
	if !catchUp {
		return nil
	}
	result, err = m.observe(ctx, "catchup", m.rawJob("XRANGE", rawReaders))
	m.add("catchup.rate", result.ConsumedPerSecond)
	return err
}

func (m *measurement) rawJob(command string, connections int) job {
	return job{Raw: &rawJob{
		Command: command, Address: m.redis.Address(), Connections: rawStreams(m.shape.Partitions, connections),
		Records: m.Records[m.shape.Size], RecordSize: m.shape.Size, Compressible: m.Compressible,
	}}
}
