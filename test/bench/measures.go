package main

import (
	"context"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/test/bench/load"
	"github.com/korvet-io/korvet/test/bench/stats"
	"github.com/korvet-io/korvet/test/bench/system"
)

// sampleEvery is how many records go by between two whose latency is taken in a load that is about rates.
const sampleEvery = 100

// visit measures one system in one scenario.
func (r *runner) visit(ctx context.Context, s system.System, shape scenario, counted bool) (err error) {
	if err := s.Open(ctx); err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	m := &measurement{runner: r, system: s, name: s.Name(), processes: s.Processes, shape: shape, counted: counted}
	// What does not depend on the number of producers, or hardly, is measured with the first.
	first := shape.Producers == r.Producers[0]
	if r.wanted["produce"] || r.wanted["catchup"] && first {
		if err := m.produceAndCatchUp(ctx, first); err != nil {
			return err
		}
	}
	if r.wanted["tail"] && first {
		if err := m.tail(ctx); err != nil {
			return err
		}
	}
	if r.wanted["paced"] && first {
		if err := m.paced(ctx); err != nil {
			return err
		}
	}
	if r.wanted["latency"] && first && shape.Partitions == r.Partitions[0] {
		if err := m.latency(ctx); err != nil {
			return err
		}
	}
	if r.wanted["stock"] && first {
		return m.stock(ctx)
	}
	return nil
}

// measurement is one visit to one system.
type measurement struct {
	*runner
	system    system.System // nil for the bare client
	name      string
	processes func() map[string]int // by part
	shape     scenario
	counted   bool
}

func (m *measurement) add(metric string, value float64) {
	if m.counted {
		m.samples.add(subject{metric, m.name, m.shape}, value)
	}
}

func (m *measurement) spec(role, topic string) load.Spec {
	return load.Spec{
		Role: role, Address: m.system.Address(), Topic: topic,
		Partitions: int32(m.shape.Partitions), Producers: m.shape.Producers,
		Records: m.Records[m.shape.Size], RecordSize: m.shape.Size,
		Compressible: m.Compressible, Codec: m.Codec, Acks: m.Acks, Linger: 10 * time.Millisecond,
	}
}

// withTopic calls do with a new topic and deletes it afterwards.
func (m *measurement) withTopic(ctx context.Context, do func(topic string) error) error {
	m.topics++
	topic := fmt.Sprintf("bench-%d", m.topics)
	if err := load.CreateTopic(ctx, m.system.Address(), topic, int32(m.shape.Partitions), m.system.TopicSettings()); err != nil {
		return err
	}
	if err := do(topic); err != nil {
		return err
	}
	return load.DeleteTopic(ctx, m.system.Address(), topic)
}

func (m *measurement) produceAndCatchUp(ctx context.Context, catchUp bool) error {
	return m.withTopic(ctx, func(topic string) error {
		result, err := m.observe(ctx, "produce", kafkaJob(m.spec("produce", topic)))
		if err != nil {
			return err
		}
		m.add("produce.rate", result.ProducedPerSecond)
		if !m.wanted["catchup"] || !catchUp {
			return nil
		}
		if err := m.system.Cold(ctx); err != nil {
			return err
		}
		result, err = m.observe(ctx, "catchup", kafkaJob(m.spec("consume", topic)))
		if err != nil {
			return err
		}
		m.add("catchup.rate", result.ConsumedPerSecond)
		return nil
	})
}

// tail reads beside producers that write as fast as they can.
func (m *measurement) tail(ctx context.Context) error {
	return m.withTopic(ctx, func(topic string) error {
		result, err := m.observe(ctx, "tail", kafkaJob(m.spec("tail", topic)))
		m.add("tail.rate", result.ConsumedPerSecond)
		return err
	})
}

// paced reads beside producers that write at the same rate to every system, where latencies can be compared.
func (m *measurement) paced(ctx context.Context) error {
	rate := m.TailRate[m.shape.Size]
	if rate == 0 {
		m.note("no paced tail measure for records of %d B: -tail-rate has none", m.shape.Size)
		return nil
	}
	return m.withTopic(ctx, func(topic string) error {
		spec := m.spec("tail", topic)
		spec.Rate, spec.Linger, spec.StampEvery = float64(rate), time.Millisecond, sampleEvery
		spec.Unmeasured = rate / sampleEvery / spec.Producers / 2 // half a second's
		result, err := m.observe(ctx, "paced", kafkaJob(spec))
		m.add("paced.rate", result.ConsumedPerSecond)
		m.addQuantiles("paced", result)
		return err
	})
}

// latency takes every record's latency at a low rate, with one producer that sends each record at once.
func (m *measurement) latency(ctx context.Context) error {
	return m.withTopic(ctx, func(topic string) error {
		spec := m.spec("tail", topic)
		spec.Producers, spec.Linger, spec.StampEvery = 1, 0, 1
		spec.Rate, spec.Unmeasured = float64(m.LatencyRate), m.LatencyRate
		spec.Records = m.LatencyRate + int(m.LatencyDuration.Seconds()*spec.Rate)
		result, err := m.observe(ctx, "latency", kafkaJob(spec))
		m.addQuantiles("latency", result)
		return err
	})
}

func (m *measurement) addQuantiles(measure string, result load.Result) {
	for kind, q := range map[string]stats.Quantiles{"ack": result.Acknowledged, "e2e": result.EndToEnd} {
		m.add(measure+"."+kind+".p50", q.P50)
		m.add(measure+"."+kind+".p99", q.P99)
		m.add(measure+"."+kind+".p99.9", q.P999)
	}
}

// observe runs a client process and records what the load cost the system's processes.
func (m *measurement) observe(ctx context.Context, measure string, j job) (load.Result, error) {
	m.progress("%-7s %-8s %s", m.name, measure, m.shape)
	cost, err := watch(m.processes())
	if err != nil {
		return load.Result{}, err
	}
	before := m.allocations(ctx)
	profiled := m.startProfile(ctx, measure, measure)
	result, err := startClient(ctx, j)
	if profileErr := profiled(); err == nil {
		err = profileErr
	}
	if err != nil {
		cost.forget()
		return result, err
	}
	if after := m.allocations(ctx); after > before {
		m.add(measure+".allocs", (after-before)/float64(result.Records))
	}
	million := float64(result.Records) / 1e6
	m.add(measure+".cpu.client", result.ClientCPU/million)
	return result, cost.stop(func(part string, cpu float64, peak int64) {
		m.add(measure+".cpu."+part, cpu/million)
		m.add(measure+".resident."+part, float64(peak))
	})
}
