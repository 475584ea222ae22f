package metrics

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// groups measures the groups that this broker coordinates.
type groups struct {
	commitSeconds, saveSeconds, loadSeconds *prometheus.HistogramVec
	rebalances                              *prometheus.CounterVec
	committed, expired                      prometheus.Counter
}

func newGroups(m *Metrics) groups {
	return groups{
		commitSeconds: m.histogram("korvet_group_commit_seconds", "Time of one script that stores committed offsets, of several requests maybe; result is ok or error.", seconds, "result"),
		committed:     m.counter("korvet_group_committed_offsets_total", "Committed offsets that were stored.").WithLabelValues(),
		expired:       m.counter("korvet_group_expired_offsets_total", "Committed offsets that were removed because their retention was over or their topic gone.").WithLabelValues(),
		saveSeconds:   m.histogram("korvet_group_save_seconds", "Time of storing a group's members; result is ok or error.", seconds, "result"),
		loadSeconds:   m.histogram("korvet_group_load_seconds", "Time of reading a group from Redis; result is ok or error.", seconds, "result"),
		rebalances:    m.counter("korvet_broker_rebalances_total", "Rebalances of groups; phase is started or completed.", "phase"),
	}
}

// Committed tells the outcome of storing offsets.
func (m *Metrics) Committed(offsets int, took time.Duration, err error) {
	observe(m.groups.commitSeconds.WithLabelValues(result(err)), took)
	if err == nil {
		m.groups.committed.Add(float64(offsets))
	}
}

// Saved tells the outcome of storing a group's members.
func (m *Metrics) Saved(took time.Duration, err error) {
	observe(m.groups.saveSeconds.WithLabelValues(result(err)), took)
}

// Loaded tells the outcome of reading a group.
func (m *Metrics) Loaded(took time.Duration, err error) {
	observe(m.groups.loadSeconds.WithLabelValues(result(err)), took)
}

// Rebalanced counts a phase of a rebalance.
func (m *Metrics) Rebalanced(phase string) { m.groups.rebalances.WithLabelValues(phase).Inc() }

// Expired counts offsets that were removed.
func (m *Metrics) Expired(offsets int) { m.groups.expired.Add(float64(offsets)) }

// Group is what a scrape shows of one group that this broker coordinates.
type Group struct {
	Name    string
	State   string
	Members int
	Offsets []GroupOffset
}

// GroupOffset is one committed offset of it.
type GroupOffset struct {
	Topic     string
	Partition int32
	Offset    int64
	LogEnd    int64 // the partition's log end offset; -1: not known
}

// groupSeries is a collector that asks at each scrape, so that nothing stays of a group or topic that is gone.
type groupSeries struct {
	list                                   func() []Group
	max                                    int
	groups, members, offset, lag, notShown *prometheus.Desc
}

func (m *Metrics) addGroups(o Options) {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		m.define("gauge", name, help, labels)
		return prometheus.NewDesc(name, help, labels, nil)
	}
	m.registry.MustRegister(&groupSeries{
		list:     o.Groups,
		max:      o.MaxGroups,
		groups:   describe("korvet_groups", "Groups that this broker coordinates, by state.", "state"),
		members:  describe("korvet_group_members", "Members of a group.", "group"),
		offset:   describe("korvet_group_offset", "Committed offset.", "group", "topic", "partition"),
		lag:      describe("korvet_group_lag", "Log end offset less committed offset, in records.", "group", "topic", "partition"),
		notShown: describe("korvet_groups_not_shown", "Groups without series of their own: korvet.metrics.max-groups is reached, or the name is no UTF-8 and looks like another's."),
	})
}

// Describe sends the descriptions of the collector's metrics.
func (s *groupSeries) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.groups, s.members, s.offset, s.lag, s.notShown} {
		to <- d
	}
}

// Collect sends the groups of the moment.
func (s *groupSeries) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	states := map[string]int{}
	list := s.list()
	shown := make(map[string]bool, min(len(list), s.max))
	for _, g := range list {
		states[g.State]++
		name := groupLabel(g.Name)
		if len(shown) >= s.max || shown[name] {
			continue
		}
		shown[name] = true
		gauge(s.members, float64(g.Members), name)
		for _, o := range g.Offsets {
			partition := strconv.Itoa(int(o.Partition))
			gauge(s.offset, float64(o.Offset), name, o.Topic, partition)
			if o.LogEnd >= 0 {
				gauge(s.lag, float64(max(o.LogEnd-o.Offset, 0)), name, o.Topic, partition)
			}
		}
	}
	for state, n := range states {
		gauge(s.groups, float64(n), state)
	}
	gauge(s.notShown, float64(len(list)-len(shown)))
}

// groupLabel is a group's name as a label, which must be UTF-8: clients may name a group by any bytes. Two names that are
// not may have one label; a second series of it would fail the scrape, so only the first of them is shown.
func groupLabel(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
