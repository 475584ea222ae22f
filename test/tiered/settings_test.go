package tiered

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// refused checks that an alteration is INVALID_CONFIG with a text.
func (w *world) refused(want, topic string, settings ...string) {
	w.Helper()
	err := w.alter(topic, settings...)
	if !errors.Is(err, kerr.InvalidConfig) || !strings.Contains(err.Error(), want) {
		w.Errorf("alter %s to %v: %v, want INVALID_CONFIG: %s", topic, settings, err, want)
	}
}

func (w *world) accepted(topic string, settings ...string) {
	w.Helper()
	if err := w.alter(topic, settings...); err != nil {
		w.Errorf("alter %s to %v: %v", topic, settings, err)
	}
}

func TestTurningTheTierOffDeletesItsDataAndOnAgainBeginsAnew(t *testing.T) {
	w := start(t, places["file"](t))
	w.create("t", 1, tiered())
	w.produce("t", 0, 0, 4000)
	w.awaitDropped("t", 0, 1500)
	first := w.tables()
	w.refused("It is invalid to disable remote storage without deleting remote data.", "t", "remote.storage.enable=false")
	w.accepted("t", "remote.storage.enable=false", "remote.log.delete.on.disable=true", "local.retention.ms")
	redistest.Eventually(t, "the table's folder to go", func() bool { return len(w.tables()) == 0 })
	begins := w.offset("t", 0, earliest)
	if local := w.offset("t", 0, earliestLocal); begins < 1500 || begins >= 4000 || local != begins {
		t.Errorf("the log starts at %d, in Redis at %d", begins, local)
	}
	if code := w.fetched("t", 0, 0); code != kerr.OffsetOutOfRange {
		t.Errorf("a fetch below the start: %v", code)
	}
	w.consume("t", 0, begins, 4000)
	w.accepted("t", "remote.storage.enable=true", "local.retention.ms=0")
	w.produce("t", 0, 4000, 8000)
	w.awaitDropped("t", 0, 5000)
	w.consume("t", 0, begins, 8000)
	if again := w.tables(); len(again) != 1 || again[0] == first[0] {
		t.Errorf("tables are %v, before they were %v", again, first)
	}
}

func TestATopicWithAHistoryIsTieredLater(t *testing.T) {
	w := start(t, places["file"](t))
	w.create("t", 1, map[string]*string{"segment.bytes": ptr("-1")})
	w.produce("t", 0, 0, 3000)
	w.accepted("t", "remote.storage.enable=true", "local.retention.ms=0")
	if got := w.setting("t", "remote.storage.enable"); got != "true" {
		t.Errorf("remote.storage.enable is shown as %q", got)
	}
	if got := w.setting("t", "segment.bytes"); got != "134217728" {
		t.Errorf("segment.bytes of a tiered topic that asked for one stream is shown as %q", got)
	}
	w.accepted("t", "segment.bytes=1048576")
	w.produce("t", 0, 3000, 4500)
	w.awaitDropped("t", 0, 3000)
	w.consume("t", 0, 0, 4500)
}

func TestWithoutCopiesNothingLeavesRedisAndReadsGoOn(t *testing.T) {
	w := start(t, places["file"](t))
	w.create("t", 1, tiered())
	w.produce("t", 0, 0, 3000)
	w.awaitDropped("t", 0, 1500)
	w.refused("the `local.retention.ms` and `retention.ms` must be set to the identical value", "t", "remote.log.copy.disable=true")
	w.accepted("t", "remote.log.copy.disable=true", "local.retention.ms")
	local := w.offset("t", 0, earliestLocal)
	w.produce("t", 0, 3000, 7000)
	w.consume("t", 0, 0, 7000)
	if got := w.offset("t", 0, earliestLocal); got > local+2000 {
		t.Errorf("Redis starts at %d, at %d before the copies were stopped", got, local)
	}
	w.accepted("t", "remote.log.copy.disable=false", "local.retention.ms=0")
	w.awaitDropped("t", 0, 5500)
	w.consume("t", 0, 0, 7000)
}

func TestRulesOfTieredTopics(t *testing.T) {
	w := start(t, places["file"](t), "--korvet.topics[0].name=auto*", "--korvet.topics[0].remote-storage-enabled=true", "--korvet.topics[0].local-retention-time=1h")
	for _, c := range []struct {
		want    string
		configs map[string]*string
	}{
		{"Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list.", tiered("cleanup.policy=compact")},
		{"Value must not be more than retention.ms property value: 5", tiered("retention.ms=5", "local.retention.ms=6")},
		{"Value must not be -1 as retention.bytes value is set as 7.", tiered("retention.bytes=7", "local.retention.bytes=-1")},
		{"Value must not exceed local.retention.ms (effective value: 0)", tiered("remote.copy.lag.ms=1")},
	} {
		answer, err := w.admin.CreateTopic(t.Context(), 1, 1, c.configs, "wrong")
		if !errors.Is(err, kerr.InvalidConfig) || !strings.Contains(answer.ErrMessage, c.want) {
			t.Errorf("created: %v, %s, want INVALID_CONFIG: %s", err, answer.ErrMessage, c.want)
		}
	}
	w.create("t", 1, tiered())
	w.refused("Remote log storage only supports", "t", "cleanup.policy=compact")
	w.refused("Value must be at least -2", "t", "local.retention.ms=-3")
	w.create("auto", 1, nil)
	w.create("auto-compacted", 1, map[string]*string{"cleanup.policy": ptr("compact")})
	for topic, want := range map[string]string{"auto": "true", "auto-compacted": "false"} {
		if got := w.setting(topic, "remote.storage.enable"); got != want {
			t.Errorf("%s: remote.storage.enable is %s", topic, got)
		}
	}
	if got := w.setting("auto", "local.retention.ms"); got != "3600000" {
		t.Errorf("local.retention.ms is %s", got)
	}
	for name, want := range map[string]string{
		"remote.log.storage.system.enable": "true", "remote.fetch.max.wait.ms": "500", "remote.log.manager.task.interval.ms": "300",
		"remote.log.manager.copy.max.bytes.per.second": "9223372036854775807", "remote.log.manager.copier.thread.pool.size": "10",
		"remote.list.offsets.request.timeout.ms": "30000", "log.local.retention.ms": "-2",
	} {
		if got := w.brokerSetting(name); got != want {
			t.Errorf("broker setting %s is %q, want %s", name, got, want)
		}
	}
}

func TestADeletedTopicsDataGoesAlthoughTheBrokerDies(t *testing.T) {
	w := start(t, places["file"](t))
	w.create("t", 1, tiered())
	w.create("kept", 1, tiered())
	w.produce("t", 0, 0, 2500)
	w.produce("kept", 0, 0, 2500)
	w.awaitDropped("t", 0, 900)
	w.awaitDropped("kept", 0, 900)
	if _, err := w.admin.DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	w.Kill9()
	w.Restart()
	redistest.Eventually(t, "the table's folder to go", func() bool { return len(w.tables()) == 1 })
	w.consume("kept", 0, 0, 2500)
	w.connect()
	w.create("t", 1, tiered())
	w.produce("t", 0, 0, 2500)
	w.awaitDropped("t", 0, 900)
	w.consume("t", 0, 0, 2500)
}

func TestAWorkerAloneCopies(t *testing.T) {
	p := places["file"](t)
	w := start(t, p, "--korvet.storage.worker.enabled=false")
	worker := harness.StartWorker(t, w.Redis, append(p.args, quick...)...)
	w.create("t", 1, tiered())
	w.produce("t", 0, 0, 2500)
	w.awaitDropped("t", 0, 900)
	w.consume("t", 0, 0, 2500)
	if _, err := w.admin.DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "the table's folder to go", func() bool { return len(w.tables()) == 0 })
	if log := worker.Logs(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the worker says %s", log)
	}
}

func TestAnAbsentStoreMakesNobodyUnreadyAndNothingIsLost(t *testing.T) {
	w := start(t, places["file"](t))
	w.create("t", 1, tiered())
	w.produce("t", 0, 0, 2500)
	w.awaitDropped("t", 0, 900)
	away := w.place.folder + ".away"
	if err := errors.Join(os.Rename(w.place.folder, away), os.WriteFile(w.place.folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.produce("t", 0, 2500, 5000)
	redistest.Eventually(t, "the log to tell of it", func() bool { return strings.Contains(w.Logs(), "the store of the remote tier fails") })
	if code := w.status("/readyz"); code != 200 {
		t.Errorf("/readyz answers %d", code)
	}
	w.consume("t", 0, 2500, 5000)
	if err := errors.Join(os.Remove(w.place.folder), os.Rename(away, w.place.folder)); err != nil {
		t.Fatal(err)
	}
	w.awaitDropped("t", 0, 3500)
	w.consume("t", 0, 0, 5000)
	if log := w.Logs(); strings.Count(log, "the store of the remote tier fails") != 1 || !strings.Contains(log, "the store of the remote tier answers again") {
		t.Error("the log tells it otherwise than once")
	}
}

func TestABrokerWithoutThePathServesNoWrongRecords(t *testing.T) {
	w := start(t, places["file"](t), "--korvet.broker.id=1")
	w.create("t", 8, tiered())
	for p := range int32(8) {
		w.produce("t", p, 0, 1500)
	}
	for p := range int32(8) {
		w.awaitDropped("t", p, 500)
	}
	other := harness.Start(t, harness.Options{Own: true, Redis: w.Redis, Args: []string{"--korvet.broker.id=2", "--korvet.storage.worker.enabled=false"}})
	redistest.Eventually(t, "the other broker to lead a partition", func() bool { return w.leads("t", 2) >= 0 })
	p := w.leads("t", 2)
	if code := w.fetchedFrom(other.Addr, "t", p, 0); code != kerr.KafkaStorageError {
		t.Errorf("a fetch of what only the table has: %v", code)
	}
	if code := w.fetchedFrom(other.Addr, "t", p, 1450); code != nil {
		t.Errorf("a fetch of what Redis has: %v", code)
	}
	if text, code := w.alteredAt(other.Addr, "t", "retention.ms", "700000000"); code != kerr.InvalidConfig || !strings.Contains(text, "Tiered Storage functionality is disabled in the broker.") {
		t.Errorf("an alteration there: %v, %s", code, text)
	}
	redistest.Eventually(t, "the log to tell of it", func() bool { return strings.Contains(other.Logs(), "korvet.storage.remote.path") })
}
