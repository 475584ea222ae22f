package documents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

const (
	redisPage = "../../docs/redis.md"
	stream    = "korvet:storage:local:orders:0"
)

// The users of docs/redis.md: the broker can do all it has to, a reader only read, another program nothing.
func TestTheRulesForUsersOfRedisHold(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes")
	for _, rule := range usersOf(t) {
		redis.Do(rule...)
	}
	b := harness.Start(t, harness.Options{
		Redis: redis, Own: true, Args: []string{"--korvet.redis.uri=redis://korvet:SECRET@" + redis.Addr()},
	})
	exercise(t, b)

	reader, app := as(t, redis, "reader"), as(t, redis, "app")
	for _, command := range [][]string{
		{"XRANGE", stream, "-", "+", "COUNT", "3"}, {"XREAD", "COUNT", "1", "STREAMS", stream, "0"},
		{"XINFO", "STREAM", stream}, {"HGETALL", "korvet:topics"},
	} {
		if err := reader(command...); err != nil {
			t.Errorf("reader: %v: %v", command, err)
		}
	}
	for _, command := range [][]string{{"XADD", stream, "*", "value", "x"}, {"DEL", stream}, {"XTRIM", stream, "MAXLEN", "0"}} {
		for name, do := range map[string]func(...string) error{"reader": reader, "app": app} {
			if err := do(command...); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
				t.Errorf("%s: %v: got %v, not NOPERM", name, command, err)
			}
		}
	}
	if err := app("SET", "app:key", "x"); err != nil {
		t.Errorf("app cannot use its own keys: %v", err)
	}
}

// Every command that Redis has seen, also inside scripts, is on the page.
func TestThePageNamesEveryCommandThatKorvetUses(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes")
	redis.Replica()
	b := harness.Start(t, harness.Options{Redis: redis, Own: true, Args: []string{"--korvet.redis.replicas=1"}})
	redis.Do("CONFIG", "RESETSTAT")
	b.Restart()
	exercise(t, b)
	redisReply := redis.Do("INFO", "commandstats")
	stats, err := redisReply.ToString()
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{"cmdstat_xadd:", "cmdstat_wait:", "cmdstat_memory", "cmdstat_evalsha:"} {
		if !strings.Contains(stats, expected) {
			t.Errorf("the test made korvet use no %s", expected)
		}
	}
	for _, found := range regexp.MustCompile(`cmdstat_([a-z]+)`).FindAllStringSubmatch(stats, -1) {
		command := strings.ToUpper(found[1])
		if !slices.Contains([]string{"CONFIG", "COMMAND", "REPLCONF", "PSYNC"}, command) { // the test's own and the replica's
			mustBeNamed(t, command, "korvet")
		}
	}
}

func TestThePageNamesEveryCommandOfAScript(t *testing.T) {
	call := regexp.MustCompile(`redis\.call\('([A-Z]+)'`)
	scripts := 0
	err := filepath.WalkDir("../../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		scripts++
		for _, found := range call.FindAllStringSubmatch(read(t, path), -1) {
			mustBeNamed(t, found[1], path)
		}
		return nil
	})
	if err != nil || scripts == 0 {
		t.Fatalf("found %d scripts, error %v", scripts, err)
	}
}

// What the page has typed shows a group's offset in the form that the page has.
func TestThePageShowsAnOffsetAsItIsStored(t *testing.T) {
	b := harness.Start(t, harness.Options{Own: true})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	create(t.Context(), t, admin, "orders")
	at := kadm.Offset{Topic: "orders", At: 42, LeaderEpoch: -1, Metadata: "some text"}
	if err := admin.CommitAllOffsets(t.Context(), "billing", kadm.Offsets{"orders": {0: at}}); err != nil {
		t.Fatal(err)
	}
	page := read(t, redisPage)
	typed := func(command string) rueidis.RedisMessage {
		t.Helper()
		if !strings.Contains(page, "\nredis-cli "+command+"\n") {
			t.Errorf("the page does not have %s typed", command)
		}
		return b.Redis.Do(strings.Fields(command)...)
	}
	names := typed("SMEMBERS korvet:broker:groups")
	if got, err := names.AsStrSlice(); err != nil || !slices.Equal(got, []string{"billing"}) {
		t.Errorf("groups %q, %v", got, err)
	}
	group := typed("HGETALL korvet:broker:commit:billing")
	fields, err := group.AsStrMap()
	if err != nil || fields[":owner"] == "" || fields[":token"] == "" || fields[":life"] != fields[":token"] {
		t.Errorf("the group has %q, %v", fields, err)
	}
	offset := typed("HGET korvet:broker:commit:billing orders:0")
	got, err := offset.ToString()
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?m)^`(42 .*?)`").FindStringSubmatch(page)
	if example == nil {
		t.Fatal("the page has no offset")
	}
	id := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	if got, want := id.ReplaceAllString(plain(got), "<id>"), id.ReplaceAllString(plain(example[1]), "<id>"); got != want {
		t.Errorf("stored is %q where the page has %q", got, want)
	}
}

func mustBeNamed(t *testing.T, command, user string) {
	t.Helper()
	if !regexp.MustCompile("`" + command + `[ \x60]`).MatchString(read(t, redisPage)) {
		t.Errorf("%s uses %s, of which docs/redis.md says nothing", user, command)
	}
}

// usersOf reads the page's ACL rules but the last, which locks out the user that the test itself is.
func usersOf(t *testing.T) [][]string {
	var rules [][]string
	for line := range strings.Lines(read(t, redisPage)) {
		if words := strings.Fields(line); strings.HasPrefix(line, "ACL SETUSER") && words[2] != "default" {
			rules = append(rules, words)
		}
	}
	if len(rules) != 3 {
		t.Fatalf("the page has rules %v", rules)
	}
	return rules
}

// exercise makes the broker do one of everything that concerns Redis, across a kill.
func exercise(t *testing.T, b *harness.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	create(ctx, t, admin, "orders")
	create(ctx, t, admin, "gone")
	produce := func() {
		t.Helper()
		records := []*kgo.Record{kgo.StringRecord("a"), kgo.KeyStringRecord("k", "b"), {Topic: "gone", Value: []byte("c")}}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatalf("produce: %v", err)
		}
	}
	produce()
	b.Kill9()
	b.Restart()
	produce()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "min.insync.replicas", Value: kadm.StringPtr("2")}}, "orders")
	must("alter topic", err)
	if err := client.ProduceSync(ctx, kgo.StringRecord("c")).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
	_, err = admin.DeleteRecords(ctx, kadm.Offsets{"orders": {0: {Topic: "orders", At: 1}}})
	must("delete records", err)
	_, err = admin.ListOffsetsAfterMilli(ctx, 1, "orders")
	must("list offsets", err)
	_, err = admin.DescribeAllLogDirs(ctx, nil)
	must("describe log dirs", err)
	consumer, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"orders": {0: kgo.NewOffset().At(1)}}))
	must("make consumer", err)
	defer consumer.Close()
	must("consume", consumer.PollFetches(ctx).Err())
	exerciseGroups(ctx, t, b, admin)
	_, err = admin.DeleteTopic(ctx, "gone")
	must("delete topic", err)
	redistest.Eventually(t, "the deleted topic's stream is gone", func() bool {
		reply := b.Redis.Do("EXISTS", "korvet:storage:local:gone:0")
		n, err := reply.ToInt64()
		return err == nil && n == 0
	})
}

// exerciseGroups has a group joined and left, offsets committed, removed and loaded anew, and a group deleted.
func exerciseGroups(ctx context.Context, t *testing.T, b *harness.Broker, admin *kadm.Client) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	member, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must("make member", err)
	must("consume as a member", member.PollFetches(ctx).Err())
	must("commit as a member", member.CommitUncommittedOffsets(ctx))
	redistest.Eventually(t, "the commit to show in XINFO GROUPS", func() bool {
		reply := b.Redis.Do("XINFO", "GROUPS", stream)
		return strings.Contains(reply.String(), `"kafka:readers"`)
	})
	member.Close()
	for _, group := range []string{"readers", "billing"} {
		must("commit", admin.CommitAllOffsets(ctx, group, kadm.Offsets{"orders": {0: {Topic: "orders", At: 1, LeaderEpoch: -1}}}))
	}
	b.Kill9()
	b.Restart()
	offsets, err := admin.FetchOffsets(ctx, "billing")
	must("fetch offsets", err)
	if o, ok := offsets.Lookup("orders", 0); !ok || o.At != 1 {
		t.Errorf("fetched offsets %v, want 1 of orders", offsets)
	}
	_, err = admin.DeleteOffsets(ctx, "readers", kadm.TopicsSet{"orders": {0: {}}})
	must("delete offsets", err)
	deleted, err := admin.DeleteGroup(ctx, "billing")
	must("delete group", err)
	must("delete group", deleted.Err)
}

// create makes a topic unless a former life of the broker did.
func create(ctx context.Context, t *testing.T, admin *kadm.Client, topic string) {
	t.Helper()
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Fatalf("create %s: %v", topic, err)
	}
}

// as returns a function that sends commands as a user of the page's rules.
func as(t *testing.T, redis *redistest.Server, user string) func(command ...string) error {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{redis.Addr()}, Username: user, Password: "SECRET", DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatalf("connect as %s: %v", user, err)
	}
	t.Cleanup(client.Close)
	return func(command ...string) error {
		return client.Do(context.Background(), client.B().Arbitrary(command...).Build()).Error()
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
