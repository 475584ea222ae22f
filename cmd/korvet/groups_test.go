package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var update = flag.Bool("update", false, "write the golden files")

// groupsWorld is a broker with a topic and groups on it. With KORVET_TEST_BOOTSTRAP the broker is somebody else's, which
// must not have any groups: so the golden files can be held against Apache Kafka's answers.
type groupsWorld struct {
	t      *testing.T
	home   home
	broker string // host:port
	client *kgo.Client
	admin  *kadm.Client
	names  []string // for a strings.Replacer: what differs between runs, and what stands for it in golden files
}

// newGroupsWorld makes the topic orders: partition 0 has records of 08:00, 08:10, ..., 08:40, partition 1 those of 08:00 and
// 08:10, partition 2 none, all on 2026-01-31 in UTC.
func newGroupsWorld(t *testing.T) *groupsWorld {
	t.Helper()
	w := &groupsWorld{t: t, home: newHome(t), broker: os.Getenv("KORVET_TEST_BOOTSTRAP")}
	if w.broker == "" {
		port := freePort(t)
		w.broker = "127.0.0.1:" + port
		w.home.start(append(w.home.flags(port, freePort(t)), "--korvet.broker.id=1", "--korvet.redis.uri="+redistest.Start(t).URI())...).says("serving Kafka clients")
	}
	w.hide(w.broker, "kafka.host:")
	w.client = w.open(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	w.admin = kadm.NewClient(w.client)
	if _, err := w.admin.CreateTopic(t.Context(), 3, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.clean)
	eight := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	for partition, records := range []int{5, 2} {
		for i := range records {
			r := &kgo.Record{Topic: "orders", Partition: int32(partition), Timestamp: eight.Add(time.Duration(i) * 10 * time.Minute), Value: []byte("order")}
			if err := w.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// clean gives a broker of somebody else back as it was.
func (w *groupsWorld) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, _ = w.admin.LeaveGroup(ctx, kadm.LeaveGroup("static").InstanceIDs("till-1")) // it does not leave by itself
	if groups, err := w.admin.ListGroups(ctx); err == nil && len(groups) > 0 {
		_, _ = w.admin.DeleteGroups(ctx, groups.Groups()...)
	}
	_, _ = w.admin.DeleteTopics(ctx, "orders")
}

func (w *groupsWorld) open(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.broker))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

// commit makes a group without members whose offsets are those, by partition.
func (w *groupsWorld) commit(group string, offsets ...int64) {
	w.t.Helper()
	all := kadm.Offsets{}
	for p, o := range offsets {
		all.AddOffset("orders", int32(p), o, -1)
	}
	if err := w.admin.CommitAllOffsets(w.t.Context(), group, all); err != nil {
		w.t.Fatal(err)
	}
}

// join adds a member to a group and waits until all partitions are assigned to it. It commits nothing.
func (w *groupsWorld) join(group string, opts ...kgo.Opt) {
	w.t.Helper()
	assigned := make(chan struct{})
	total := 0
	client := w.open(append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"), kgo.ClientID(group+"-app"), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if total += len(partitions["orders"]); total == 3 {
				close(assigned)
			}
		}))...)
	select {
	case <-assigned:
	case <-time.After(patience):
		w.t.Fatalf("group %s gets no partitions", group)
	}
	id, _ := client.GroupMetadata()
	w.hide(id, "member-of-"+group+"-")
}

// hide lets golden files have another name of the same length, so that tables look as they do.
func (w *groupsWorld) hide(name, as string) {
	w.names = append(w.names, name, as+strings.Repeat("9", max(0, len(name)-len(as))))
}

func (w *groupsWorld) groups(args ...string) (code int, out, stderr string) {
	w.t.Helper()
	return w.home.run(append([]string{"groups", "--bootstrap-server", w.broker}, args...)...)
}

// transcript runs the lines of a golden file that begin with $ and compares what they say with what follows them.
func (w *groupsWorld) transcript(name string) {
	w.t.Helper()
	path := filepath.Join("testdata", name+".txt")
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	var got bytes.Buffer
	for line := range strings.Lines(string(want)) {
		command, ok := strings.CutPrefix(line, "$ korvet ")
		if !ok {
			continue
		}
		words := strings.Fields(command)
		flags := slices.IndexFunc(append(words, "--"), func(word string) bool { return strings.HasPrefix(word, "--") })
		code, out, stderr := w.home.run(slices.Insert(words, flags, "--bootstrap-server", w.broker)...)
		got.WriteString(line + strings.NewReplacer(w.names...).Replace(out+stderr))
		if code != 0 {
			fmt.Fprintf(&got, "exit %d\n", code)
		}
		got.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	if got.String() != string(want) {
		w.t.Errorf("%s, -update writes it; got:\n%s\nwant:\n%s", path, got.String(), want)
	}
}

func TestGroupsListsAndDescribesGroupsOfBothProtocols(t *testing.T) {
	w := newGroupsWorld(t)
	w.commit("billing", 3, 2)
	w.commit("live", 1)
	w.join("live")
	w.join("next", kgo.ServerSideBalancer())
	w.join("static", kgo.InstanceID("till-1"))
	w.transcript("groups/describe")
}

func TestGroupsResetsOffsetsInEveryWay(t *testing.T) {
	w := newGroupsWorld(t)
	w.commit("billing", 3, 2)
	for name, text := range map[string]string{
		"plan.csv": "orders,0,4\norders,1,0\n", "several.csv": "\"billing\",\"orders\",0,1\nreports,orders,0,2\n", "bad.csv": "orders,0,4\norders,one,0\n",
	} {
		if err := os.WriteFile(filepath.Join(w.home.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.transcript("groups/reset")
}

func TestGroupsLeavesGroupsWithMembersAlone(t *testing.T) {
	w := newGroupsWorld(t)
	w.commit("billing", 3, 2)
	w.join("live")
	w.join("next", kgo.ServerSideBalancer())
	w.transcript("groups/members")
}

func TestGroupsDeletesGroupsAndOffsets(t *testing.T) {
	w := newGroupsWorld(t)
	for _, group := range []string{"billing", "reports", "search"} {
		w.commit(group, 3, 2)
	}
	w.transcript("groups/delete")
}

func TestGroupsTellsWhatIsWrongWithACommandLine(t *testing.T) {
	w := &groupsWorld{t: t, home: newHome(t), broker: "127.0.0.1:1"} // it is not asked
	w.transcript("groups/usage")
}

func TestGroupsExportsWhatItReadsFromAFile(t *testing.T) {
	w := newGroupsWorld(t)
	w.commit("billing", 3, 2)
	w.commit("reports", 1, 1)
	_, csv, _ := w.groups("--reset-offsets", "--all-groups", "--all-topics", "--to-current", "--export")
	if err := os.WriteFile(filepath.Join(w.home.dir, "saved.csv"), []byte(csv), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := w.groups("--reset-offsets", "--all-groups", "--all-topics", "--to-earliest", "--execute"); code != 0 {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	var reset struct {
		Executed bool
		Offsets  []resetOffset
	}
	_, out, stderr := w.groups("--reset-offsets", "--all-groups", "--from-file", "saved.csv", "--execute", "--json")
	if err := json.Unmarshal([]byte(out), &reset); err != nil || !reset.Executed || len(reset.Offsets) != 4 {
		t.Fatalf("%v, said %s%s", err, out, stderr)
	}
	for group, want := range map[string][]int64{"billing": {3, 2}, "reports": {1, 1}} {
		committed, err := w.admin.FetchOffsets(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
		for p, offset := range want {
			if o, _ := committed.Lookup("orders", int32(p)); o.At != offset {
				t.Errorf("%s-%d: offset %d, want %d", group, p, o.At, offset)
			}
		}
	}
}

func TestGroupsSaysThatNoBrokerAnswers(t *testing.T) {
	address := "127.0.0.1:" + freePort(t)
	code, _, stderr := newHome(t).run("groups", "--list", "--bootstrap-server", address)
	if code != exitError || !strings.Contains(stderr, "no broker answers on "+address) {
		t.Errorf("exit %d, said %s", code, stderr)
	}
}
