package migrate_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/migrate"
)

func TestASourceThatIsWrittenIsFollowedUntilTheCutover(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 2)
	w.fill("orders", 2, 100)
	follower, err := migrate.Open(t.Context(), w.options(w.client, "orders", "copy", 3))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- follower.Copy(t.Context(), true) }()
	for range 5 {
		w.fill("orders", 2, 50)
	}
	cluster := migrate.NewCluster(w.client)
	for behind := int64(1); behind > 0; {
		status, err := migrate.ReadStatus(t.Context(), cluster, cluster, "copy")
		if err != nil {
			t.Fatal(err)
		}
		behind = status.Copied[0].Behind + status.Copied[1].Behind
	}
	m, err := migrate.Open(t.Context(), w.options(w.client, "orders", "copy", 0))
	if err != nil {
		t.Fatal(err)
	}
	noise := make(chan bool)
	options := migrate.CutoverOptions{Quiet: time.Millisecond, Ready: func() { w.fill("orders", 2, 20); close(noise) }, Timeout: patience}
	if _, err := m.Cutover(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	<-noise
	if err := <-ended; !errors.Is(err, migrate.ErrTakenOver) {
		t.Errorf("the follower: %v", err)
	}
	w.same("orders", "copy")
	if err := w.run(t.Context(), w.client, "orders", "copy", 0); !errors.Is(err, migrate.ErrCutOver) {
		t.Errorf("a run after the cutover: %v", err)
	}
	w.fill("copy", 3, 10) // producers go on
	if checked, err := migrate.Verify(t.Context(), cluster, cluster, "copy"); err != nil {
		t.Errorf("verify after the cutover: %v, %+v", err, checked)
	}
}

func TestACutoverStopsWhileTheSourceIsWritten(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.fill("orders", 1, 10)
	m, err := migrate.Open(t.Context(), w.options(w.client, "orders", "copy", 0))
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				w.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("more")})
			}
		}
	}()
	_, err = m.Cutover(t.Context(), migrate.CutoverOptions{Quiet: 100 * time.Millisecond})
	close(stop)
	<-stopped
	if err == nil || !strings.Contains(err.Error(), "still written to") {
		t.Errorf("cutover: %v", err)
	}
	w.cutover("orders", "copy")
	w.same("orders", "copy")
}

func TestLargeRecordsAreCompressedOrNamed(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1, "max.message.bytes", "900000")
	soft := bytes.Repeat([]byte("soft "), 30_000)
	hard := make([]byte, 60_000)
	for i := range hard {
		hard[i] = byte(w.rnd.Uint32())
	}
	w.produce("orders", soft)
	o := w.options(w.client, "orders", "copy", 0)
	limit := "50000"
	o.Configs = map[string]*string{"max.message.bytes": &limit}
	plan, err := migrate.MakePlan(t.Context(), o, true)
	if err != nil || len(plan.Problems) != 0 || plan.From[0].Records != 1 || fmt.Sprint(plan.Changed) != "[max.message.bytes]" {
		t.Fatalf("plan: %v, %+v", err, plan)
	}
	m, err := migrate.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Copy(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.same("orders", "copy")
	w.produce("orders", hard)
	if err := m.Copy(t.Context(), false); err == nil || !strings.Contains(err.Error(), "max.message.bytes") {
		t.Errorf("a record that does not fit: %v", err)
	}
	if plan, err := migrate.MakePlan(t.Context(), o, true); err != nil || len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0], "orders-0 offset 1") {
		t.Errorf("plan: %v, %+v", err, plan)
	}
}

func (w *world) produce(topic string, value []byte) {
	w.t.Helper()
	if err := w.client.ProduceSync(w.t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

func TestTimestampsAreNotReplacedUnasked(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1, "message.timestamp.type", "LogAppendTime")
	w.produce("orders", []byte("one"))
	o := w.options(w.client, "orders", "copy", 0)
	if _, err := migrate.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "LogAppendTime") {
		t.Errorf("refused: %v", err)
	}
	o.AppendTime = true
	m, err := migrate.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Cutover(t.Context(), migrate.CutoverOptions{Quiet: time.Millisecond, Timeout: patience}); err != nil {
		t.Error(err)
	}
}

func TestTheHeaderOfAppendTimesIsNotAddedTwice(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1, "log.append.timestamp.header", "true")
	w.produce("orders", []byte("one"))
	o := w.options(w.client, "orders", "copy", 0)
	if _, err := migrate.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("refused: %v", err)
	}
	no := "false"
	o.Target, o.Configs = "copy2", map[string]*string{"log.append.timestamp.header": &no}
	m, err := migrate.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Cutover(t.Context(), migrate.CutoverOptions{Quiet: time.Millisecond, Timeout: patience}); err != nil {
		t.Error(err)
	}
}

func TestVerifyFindsWhatIsNotAsInTheSource(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.fill("orders", 1, 50)
	if err := w.run(t.Context(), w.client, "orders", "copy", 0); err != nil {
		t.Fatal(err)
	}
	cluster := migrate.NewCluster(w.client)
	w.delete("orders", 0, 3) // gone from the source: not an error
	checked, err := migrate.Verify(t.Context(), cluster, cluster, "copy")
	if err != nil || checked[0].Records != 49 || checked[0].SourceGone != 1 {
		t.Errorf("with a hole in the source: %v, %+v", err, checked)
	}
	w.delete("copy", 0, 7)
	if _, err := migrate.Verify(t.Context(), cluster, cluster, "copy"); err == nil || !strings.Contains(err.Error(), "copy-0 offset 7, which is missing") {
		t.Errorf("with a hole in the target: %v", err)
	}
}

func TestAHoleAtTheEndKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.fill("orders", 1, 20)
	w.delete("orders", 0, -1)
	if err := w.run(t.Context(), w.client, "orders", "copy", 0); err != nil {
		t.Fatal(err)
	}
	cluster := migrate.NewCluster(w.client)
	if checked, err := migrate.Verify(t.Context(), cluster, cluster, "copy"); err != nil || checked[0].Records != 19 {
		t.Errorf("verify: %v, %+v", err, checked)
	}
}

func TestSettingsThatTheTargetRefusesAreNamed(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 2)
	o := w.options(w.client, "orders", "copy", 0)
	wrong := "12"
	o.Configs = map[string]*string{"segment.bytes": &wrong}
	plan, err := migrate.MakePlan(t.Context(), o, false)
	if err != nil || len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0], "must be at least") {
		t.Errorf("plan: %v, %+v", err, plan)
	}
	m, err := migrate.Open(t.Context(), o)
	if err == nil {
		err = m.Copy(t.Context(), false)
	}
	if err == nil || !strings.Contains(err.Error(), "must be at least") {
		t.Errorf("copy: %v", err)
	}
	w.hasNot(migrate.JournalName("copy"))
}

// A journal without a target is what a run leaves that died between the two.
func TestARunThatCannotCreateTheTargetLeavesNoJournal(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 2)
	w.create(migrate.JournalName("copy"), 1)
	o := w.options(w.client, "orders", "copy", 3)
	wrong := "12"
	o.Configs = map[string]*string{"segment.bytes": &wrong}
	if _, err := migrate.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "must be at least") {
		t.Errorf("copy: %v", err)
	}
	w.hasNot(migrate.JournalName("copy"))
	if err := w.run(t.Context(), w.client, "orders", "copy", 4); err != nil {
		t.Errorf("with other settings: %v", err)
	}
}

// hasNot fails if a topic is there.
func (w *world) hasNot(topic string) {
	w.t.Helper()
	topics, err := w.admin.ListTopicsWithInternal(w.t.Context())
	if err != nil || topics.Has(topic) {
		w.t.Errorf("topic %s is there, or %v", topic, err)
	}
}

func TestASourceThatIsMissingIsSaidSo(t *testing.T) {
	w := newWorld(t)
	o := w.options(w.client, "nosuch", "copy", 0)
	o.From.Name = "here:9092"
	const want = "topic nosuch does not exist at here:9092"
	if _, err := migrate.Open(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("open: %v", err)
	}
	if _, err := migrate.MakePlan(t.Context(), o, false); err == nil || err.Error() != want {
		t.Errorf("plan: %v", err)
	}
	w.hasNot(migrate.JournalName("copy"))
}

func TestATopicWithADictionaryGetsAnyOtherCodec(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1, "storage.compression.type", "zstd")
	w.fill("orders", 1, 10)
	codec := "lz4"
	o := w.options(w.client, "orders", "copy", 0)
	o.Configs = map[string]*string{"storage.compression.type": &codec}
	if plan, err := migrate.MakePlan(t.Context(), o, false); err != nil || len(plan.Problems) != 0 {
		t.Errorf("plan: %v, %+v", err, plan)
	}
	m, err := migrate.Open(t.Context(), o)
	if err == nil {
		err = m.Copy(t.Context(), false)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.same("orders", "copy")
}

func TestPlanWithoutReadingTellsTheBytes(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.produce("orders", []byte("value"))
	plan, err := migrate.MakePlan(t.Context(), w.options(w.client, "orders", "copy", 0), false)
	if err != nil || plan.From[0].Records != 1 || plan.From[0].Bytes <= 0 {
		t.Errorf("plan: %v, %+v", err, plan)
	}
}
