package metrics

import "github.com/prometheus/client_golang/prometheus"

// upkeep measures the tables of the remote tier and what the storage worker does to keep them in order.
type upkeep struct {
	snapshots, files, deletes *prometheus.GaugeVec
	done, failures            *prometheus.CounterVec
}

func newUpkeep(m *Metrics) upkeep {
	u := upkeep{
		snapshots: m.gauge("korvet_storage_remote_snapshots", "Snapshots in the history of a topic's table; this and the next two are told by the process that has the storage worker's lease.", "topic"),
		files:     m.gauge("korvet_storage_remote_files", "Data files of a topic's table.", "topic"),
		deletes:   m.gauge("korvet_storage_remote_delete_files", "Files of position deletes of a topic's table: rows that engines deleted and that are still in data files.", "topic"),
		done:      m.counter("korvet_storage_remote_upkeep_total", "What was done to keep tables in order; operation is drop (data files that retention took from a table), expire (snapshots), reclaim (files of earlier versions deleted), sweep (orphans deleted) or merge (data files rewritten into larger ones).", "operation"),
		failures:  m.counter("korvet_storage_remote_upkeep_failures_total", "What failed of that and is tried again; operation is one of those, table or describe (the topic's settings noted in its table).", "operation"),
	}
	for _, operation := range []string{"drop", "expire", "reclaim", "sweep", "merge"} {
		u.done.WithLabelValues(operation).Add(0)
		u.failures.WithLabelValues(operation).Add(0)
	}
	for _, operation := range []string{"table", "describe"} {
		u.failures.WithLabelValues(operation).Add(0)
	}
	return u
}

func (u *upkeep) reset() {
	u.snapshots.Reset()
	u.files.Reset()
	u.deletes.Reset()
}

// TablesKept tells by topic what its table holds: snapshots, data files, files of deletes, bytes of data files. Topics beyond the
// bound share one series.
func (m *Metrics) TablesKept(snapshots, files, deletes, bytes map[string]int64) {
	m.remote.byTopic(m.upkeep.snapshots, snapshots)
	m.remote.byTopic(m.upkeep.files, files)
	m.remote.byTopic(m.upkeep.deletes, deletes)
	m.RemoteBytes(bytes)
}

// UpkeepDone counts what was done.
func (m *Metrics) UpkeepDone(operation string, n int) {
	m.upkeep.done.WithLabelValues(operation).Add(float64(n))
}

// UpkeepFailed counts what is tried again.
func (m *Metrics) UpkeepFailed(operation string) { m.upkeep.failures.WithLabelValues(operation).Inc() }
