package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Partition is what a scrape shows of one partition that this broker has open.
type Partition struct {
	Topic     string
	Partition int32
	LogStart  int64 // log start offset
	LogEnd    int64 // one after the last offset appended
}

// partitions is a collector that asks at each scrape, so that nothing stays of a partition that is gone.
type partitions struct {
	list          func() []Partition
	maxTopics     int
	maxOffset     *prometheus.Desc
	logStart      *prometheus.Desc
	notShownTotal *prometheus.Desc
}

func (m *Metrics) addPartitions(o Options) {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		m.define("gauge", name, help, labels)
		return prometheus.NewDesc(name, help, labels, nil)
	}
	m.registry.MustRegister(&partitions{
		list:          o.Partitions,
		maxTopics:     o.MaxTopics,
		maxOffset:     describe("korvet_broker_max_offset", "The last offset of the log; -1 when nothing was ever appended.", "topic", "partition"),
		logStart:      describe("korvet_broker_log_start_offset", "The first offset that may be read.", "topic", "partition"),
		notShownTotal: describe("korvet_broker_partitions_not_shown", "Open partitions without series of their own, because korvet.metrics.max-topics is reached."),
	})
}

// Describe sends the descriptions of the collector's metrics.
func (p *partitions) Describe(to chan<- *prometheus.Desc) {
	to <- p.maxOffset
	to <- p.logStart
	to <- p.notShownTotal
}

// Collect sends the offsets of the moment.
func (p *partitions) Collect(to chan<- prometheus.Metric) {
	topics := map[string]bool{}
	hidden := 0
	for _, one := range p.list() {
		if !topics[one.Topic] && len(topics) >= p.maxTopics {
			hidden++
			continue
		}
		topics[one.Topic] = true
		number := strconv.Itoa(int(one.Partition))
		to <- prometheus.MustNewConstMetric(p.maxOffset, prometheus.GaugeValue, float64(one.LogEnd-1), one.Topic, number)
		to <- prometheus.MustNewConstMetric(p.logStart, prometheus.GaugeValue, float64(one.LogStart), one.Topic, number)
	}
	to <- prometheus.MustNewConstMetric(p.notShownTotal, prometheus.GaugeValue, float64(hidden))
}
