package readers_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/test/harness"
)

// refused are statements that change the log, and why they are refused. SNAPSHOT is an earlier one.
var refused = map[string][][2]string{
	"spark": {
		{"INSERT INTO korvet.korvet.readers_events SELECT * FROM korvet.korvet.readers_events LIMIT 1", "rows are added by producers"},
		{"UPDATE korvet.korvet.readers_events SET key = X'00' WHERE `partition` = 0 AND `offset` = 1", "records never change"},
		{"INSERT OVERWRITE korvet.korvet.readers_events SELECT `partition`, `offset`, timestamp, append_time, X'00', value, headers FROM korvet.korvet.readers_events WHERE `partition` = 0 AND `offset` < 5", "records never change"},
		{"INSERT OVERWRITE korvet.korvet.readers_events SELECT `partition`, `offset` + 1000000, timestamp, append_time, key, value, headers FROM korvet.korvet.readers_events WHERE `partition` = 0 AND `offset` < 5", "rows are added by producers"},
		{"MERGE INTO korvet.korvet.readers_events t USING (SELECT 0 AS p) s ON t.`partition` = s.p AND t.`offset` = 1 WHEN MATCHED THEN UPDATE SET key = X'00'", "records never change"},
		{"ALTER TABLE korvet.korvet.readers_events ADD COLUMN city string", "is not for engines to do"},
		{"ALTER TABLE korvet.korvet.readers_events DROP PARTITION FIELD kafka_partition", "is not for engines to do"},
		{"CALL korvet.system.rollback_to_snapshot('korvet.korvet.readers_events', SNAPSHOT)", "may not go back"},
	},
	"trino": {
		{"INSERT INTO readers_events SELECT * FROM readers_events LIMIT 1", "rows are added by producers"},
		{`UPDATE readers_events SET key = X'00' WHERE partition = 0 AND "offset" = 1`, "records never change"},
		{"ALTER TABLE readers_events ADD COLUMN city varchar", "is not for engines to do"},
	},
}

// chores are what a DBA runs at night. Retention of nothing is what breaks readers if anything does.
var chores = map[string][]string{
	"spark": {
		"CALL korvet.system.rewrite_position_delete_files(table => 'korvet.korvet.readers_events', options => map('rewrite-all', 'true'))",
		"CALL korvet.system.rewrite_data_files(table => 'korvet.korvet.readers_events', options => map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true'))",
		"CALL korvet.system.rewrite_data_files(table => 'korvet.korvet.readers_events', options => map('rewrite-all', 'true'))",
		"CALL korvet.system.rewrite_data_files(table => 'korvet.korvet.readers_events', strategy => 'sort', options => map('rewrite-all', 'true'))",
		"CALL korvet.system.rewrite_manifests('korvet.korvet.readers_events')",
		"CALL korvet.system.compute_table_stats('korvet.korvet.readers_events')",
		"CALL korvet.system.compute_partition_stats('korvet.korvet.readers_events')",
		"CALL korvet.system.expire_snapshots(table => 'korvet.korvet.readers_events', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)",
		"CALL korvet.system.remove_orphan_files(table => 'korvet.korvet.readers_events')",
		"SELECT * FROM korvet.korvet.readers_events.position_deletes",
		"SELECT * FROM korvet.korvet.readers_events.partitions",
	},
	"trino": {
		"ALTER TABLE readers_events EXECUTE optimize",
		"ALTER TABLE readers_events EXECUTE optimize_manifests",
		"ANALYZE readers_events",
		"ALTER TABLE readers_events EXECUTE expire_snapshots(retention_threshold => '0s')",
		"ALTER TABLE readers_events EXECUTE remove_orphan_files(retention_threshold => '7d')",
		`SELECT * FROM "readers_events$partitions"`,
	},
}

// repeated are refusals after which a statement is to be run again: copying has changed what it had read.
var repeated = []string{"could not be found in the latest snapshot", "Commit failed", "CommitFailedException", "Failed to commit"}

// refuses tries what is not for engines to do: they are told so, and the table stays.
func (w *world) refuses(t *testing.T, all []*engine) {
	before, err := w.look()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		verbs := map[string][]string{"pyiceberg": {"insert", "overwrite", "create", "drop"}, "duckdb": {"insert", "update"}}[e.name]
		for _, do := range verbs {
			// PyIceberg asks for nothing that the catalog does not announce.
			why := cmp.Or(map[string]string{"create": "does not support endpoint", "drop": "does not support endpoint", "insert": "rows are added by producers"}[do], "records never change")
			arguments := map[string]any{"table": table}
			if do == "overwrite" {
				arguments["changed"] = true
			}
			_, err := e.try(do, arguments)
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %s is answered %v, want it refused because %s", e.name, do, err, why)
			}
		}
		for _, r := range refused[e.name] {
			statement := strings.ReplaceAll(r[0], "SNAPSHOT", before.parent)
			if err := e.run(statement); err == nil || !strings.Contains(err.Error(), r[1]) {
				t.Errorf("%s: %s is answered %v, want it refused because %s", e.name, statement, err, r[1])
			}
		}
	}
	if after, err := w.look(); err != nil || after.metadata != before.metadata {
		t.Errorf("the table has changed from %s to %s: %v", before.metadata, after.metadata, err)
	}
}

// run runs a statement of an engine's SQL.
func (e *engine) run(statement string) error {
	_, err := e.try("run", map[string]any{"statement": statement})
	return err
}

// deletes lets engines delete rows, each in its way, while records are copied; the others and consumers then pass them over. Polars'
// own reader does not read tables with position deletes.
func (w *world) deletes(t *testing.T, all []*engine) {
	low := int64(0)
	one := func(e *engine) {
		low += 100
		w.produce(w.maker.make(100))
		w.change(t, e, "delete", map[string]any{"table": table, "partition": 1, "low": low, "high": low + 10})
		w.remove(1, low, low+10)
	}
	for _, e := range all {
		switch e.name {
		case "pyiceberg", "duckdb", "trino":
			one(e)
		case "spark":
			one(e)
			if err := e.run("ALTER TABLE korvet.korvet.readers_events SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"); err != nil {
				t.Fatal(err)
			}
			one(e)
		}
	}
	w.awaitCopied()
	w.readAll(t, all, "polars")
	w.awaitConsumed(t)
}

// maintains lets engines tidy up, while records are produced and copied and a consumer reads the log from its beginning, again and
// again: it stays what it is.
func (w *world) maintains(t *testing.T, all []*engine) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- w.replay(t, stop) }()
	for _, e := range all {
		if e.name == "pyiceberg" {
			w.change(t, e, "maintain", map[string]any{"table": table})
			w.change(t, e, "overwrite", map[string]any{"table": table, "changed": false})
		}
		for _, statement := range chores[e.name] {
			w.change(t, e, "run", map[string]any{"statement": statement})
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.produce(w.maker.make(100))
	w.awaitCopied()
	w.readAll(t, all, "polars")
	w.awaitConsumed(t)
}

// change lets an engine change the table, again where copying came between, and then wants nothing to be wrong with it.
func (w *world) change(t *testing.T, e *engine, do string, arguments map[string]any) {
	t.Helper()
	eventually(t, func() error {
		_, err := e.try(do, arguments)
		between := func(text string) bool { return err != nil && strings.Contains(err.Error(), text) }
		if err != nil && !slices.ContainsFunc(repeated, between) {
			t.Fatalf("%s: %s %v: %v", e.name, do, arguments, err)
		}
		if err != nil {
			t.Logf("%s: %s %v is to be repeated: %.200v", e.name, do, arguments, err)
		}
		return err
	})
	harness.Command(t, append([]string{"tables", "verify", topic, "--redis-uri", "redis://" + w.broker.RedisAddr}, w.args...)...)
}

// replay produces, and consumes all, until it is told to stop.
func (w *world) replay(t *testing.T, stop <-chan struct{}) error {
	for n := 1; ; n++ {
		if err := w.append(w.maker.make(50)); err != nil {
			return err
		}
		if err := w.consumeAll(); err != nil {
			return err
		}
		select {
		case <-stop:
			t.Logf("a consumer has read the log %d times, at last %d records", n, len(w.produced))
			return nil
		default:
		}
	}
}
