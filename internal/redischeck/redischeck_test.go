package redischeck

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/redistest"
)

// judged is a Redis as it should be, changed by the test.
func judged(change func(*Facts, *Use)) map[string]Finding {
	f := Facts{
		Info: map[string]string{
			"redis_version": "7.0.15", "redis_mode": "standalone", "role": "master", "connected_slaves": "0", "maxmemory": "4294967296", "maxmemory_policy": "noeviction",
			"used_memory": "1073741824", "total_system_memory": "8589934592", "mem_fragmentation_ratio": "1.05", "aof_enabled": "1", "aof_last_write_status": "ok",
			"rdb_last_bgsave_status": "ok", "aof_last_bgrewrite_status": "ok", "aof_delayed_fsync": "0", "connected_clients": "9", "maxclients": "10000", "latest_fork_usec": "100",
		},
		Config: map[string]string{
			"save": "", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "stream-node-max-bytes": "16384", "stream-node-max-entries": "1000",
			"min-replicas-to-write": "0", "timeout": "0", "tcp-keepalive": "300", "disable-thp": "yes",
		},
		Trims:      trimsRight,
		RoundTrips: []time.Duration{time.Millisecond},
		Self:       "korvet",
		Users:      []User{{Name: "korvet", MayAppend: true}, {Name: "app"}},
	}
	u := Use{Namespace: "korvet", Messages: true}
	change(&f, &u)
	found := map[string]Finding{}
	for _, one := range Judge(f, u) {
		found[one.Check] = one
	}
	return found
}

func TestARedisAsItShouldBeIsOK(t *testing.T) {
	for check, f := range judged(func(*Facts, *Use) {}) {
		if f.Level != OK || f.Cure != "" || f.Settings != nil {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

func TestEachFaultIsFoundWithItsCure(t *testing.T) {
	info := func(name, value string) func(*Facts, *Use) {
		return func(f *Facts, _ *Use) { f.Info[name] = value }
	}
	config := func(name, value string) func(*Facts, *Use) {
		return func(f *Facts, _ *Use) { f.Config[name] = value }
	}
	for name, c := range map[string]struct {
		change func(*Facts, *Use)
		check  string
		level  Level
		cure   string // part of it
	}{
		"too old":                  {info("redis_version", "6.0.16"), "version", Error, "6.2.14"},
		"early 6.2":                {info("redis_version", "6.2.13"), "version", Warning, "6.2.14"},
		"newer":                    {info("redis_version", "10.0"), "version", OK, ""},
		"a build":                  {info("redis_version", "unstable"), "version", OK, ""},
		"valkey":                   {info("valkey_version", "8.1.0"), "version", OK, ""},
		"dragonfly":                {info("dragonfly_version", "df-1"), "version", Error, "Valkey"},
		"hidden version":           {func(f *Facts, _ *Use) { delete(f.Info, "redis_version") }, "version", Warning, ""},
		"trims too much":           {func(f *Facts, _ *Use) { f.Trims = "4 0" }, "trims", Error, "6.2.14"},
		"evicts":                   {info("maxmemory_policy", "allkeys-lfu"), "eviction", Error, "maxmemory-policy noeviction"},
		"evicts only the volatile": {info("maxmemory_policy", "volatile-lru"), "eviction", OK, ""},
		"has evicted":              {info("evicted_keys", "5"), "eviction", Warning, ""},
		"hidden eviction":          {func(f *Facts, _ *Use) { delete(f.Info, "maxmemory_policy") }, "eviction", Warning, "noeviction"},
		"no limit":                 {info("maxmemory", "0"), "maxmemory", Warning, "maxmemory 4915mb"},
		"hidden limit":             {func(f *Facts, _ *Use) { delete(f.Info, "maxmemory") }, "maxmemory", Warning, ""},
		"nearly full":              {info("used_memory", "4000000000"), "maxmemory", Warning, "topics trim"},
		"full":                     {info("used_memory", "4294967296"), "maxmemory", Error, "topics trim"},
		"more than there is":       {info("total_system_memory", "2147483648"), "maxmemory", Warning, "maxmemory 1228mb"},
		"holes":                    {info("mem_fragmentation_ratio", "1.8"), "fragmentation", Warning, "activedefrag yes"},
		"swapped":                  {info("mem_fragmentation_ratio", "0.7"), "fragmentation", Warning, "memory"},
		"no AOF":                   {info("aof_enabled", "0"), "persistence", Warning, "appendonly yes"},
		"hidden AOF":               {func(f *Facts, _ *Use) { delete(f.Info, "aof_enabled") }, "persistence", Warning, ""},
		"everysec":                 {config("appendfsync", "everysec"), "persistence", OK, ""},
		"no fsync":                 {config("appendfsync", "no"), "persistence", Warning, "appendfsync everysec"},
		"no fsync while rewriting": {config("no-appendfsync-on-rewrite", "yes"), "persistence", Warning, "no-appendfsync-on-rewrite no"},
		"AOF fails":                {info("aof_last_write_status", "err"), "disk", Error, "log"},
		"snapshot fails":           {info("rdb_last_bgsave_status", "err"), "disk", Error, "BGSAVE"},
		"rewrite fails":            {info("aof_last_bgrewrite_status", "err"), "disk", Warning, "BGREWRITEAOF"},
		"slow disk":                {info("aof_delayed_fsync", "3"), "disk", Warning, "faster"},
		"huge nodes":               {config("stream-node-max-bytes", "0"), "stream nodes", Warning, "stream-node-max-bytes 16384"},
		"small nodes":              {config("stream-node-max-bytes", "100"), "stream nodes", Warning, "stream-node-max-bytes 16384"},
		"default nodes":            {config("stream-node-max-bytes", "4096"), "stream nodes", OK, "stream-node-max-entries 1000"},
		"replica":                  {info("role", "slave"), "role", Error, "master"},
		"cluster":                  {info("redis_mode", "cluster"), "role", Error, "cluster-enabled"},
		"valkey's cluster":         {info("cluster_enabled", "1"), "role", Error, "cluster-enabled"},
		"sentinel":                 {info("redis_mode", "sentinel"), "role", Error, "master"},
		"loading":                  {info("loading", "1"), "role", Warning, ""},
		"fewer replicas":           {func(_ *Facts, u *Use) { u.Replicas = 1 }, "replicas", Warning, "korvet.redis.replicas"},
		"more replicas":            {info("connected_slaves", "2"), "replicas", OK, "korvet.redis.replicas: 2"},
		"too few to write":         {config("min-replicas-to-write", "1"), "replicas", Error, "min-replicas-to-write 0"},
		"far":                      {func(f *Facts, _ *Use) { f.RoundTrips = []time.Duration{time.Second} }, "latency", Warning, "beside"},
		"slow":                     {func(f *Facts, _ *Use) { f.RoundTrips = []time.Duration{3 * time.Millisecond} }, "latency", Warning, "near"},
		"idle connections":         {config("timeout", "60"), "timeout", Warning, "timeout 0"},
		"no keepalive":             {config("tcp-keepalive", "0"), "tcp-keepalive", Warning, "tcp-keepalive 300"},
		"connections run out":      {info("connected_clients", "9500"), "maxclients", Warning, "maxclients 20000"},
		"huge pages":               {config("disable-thp", "no"), "huge pages", Warning, "disable-thp yes"},
		"slow fork":                {info("latest_fork_usec", "900000"), "fork", Warning, "instances"},
		"slow free":                {info("lazyfree_pending_objects", "20000"), "lazyfree", Warning, ""},
		"another writer":           {func(f *Facts, _ *Use) { f.Users[1].MayAppend = true }, "users", Warning, "docs/redis.md"},
		"no password":              {func(f *Facts, _ *Use) { f.Users[0].NoPassword = true }, "users", Warning, "docs/redis.md"},
		"hidden users":             {func(f *Facts, _ *Use) { f.UsersErr = rueidis.Nil }, "users", OK, ""},
		"hidden settings":          {func(f *Facts, _ *Use) { f.Config, f.ConfigErr = nil, rueidis.Nil }, "config", Warning, "CONFIG"},
		"hidden info":              {func(f *Facts, _ *Use) { f.Info, f.InfoErr = nil, rueidis.Nil }, "info", Error, "+info"},
		"no trial":                 {func(f *Facts, _ *Use) { f.Trims, f.TrimsErr = "", rueidis.Nil }, "trims", Warning, ""},
	} {
		got := judged(c.change)[c.check]
		if got.Level != c.level || !strings.Contains(got.Remedy(), c.cure) {
			t.Errorf("%s: %+v, want %s and a cure with %q", name, got, c.level, c.cure)
		}
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	all := Judge(Facts{Info: map[string]string{"redis_version": "6.0.0", "role": "master", "maxmemory": "0", "maxmemory_policy": "noeviction"}}, Use{})
	for i := range all[1:] {
		if all[i].Level == OK && all[i+1].Level != OK || all[i].Level == Warning && all[i+1].Level == Error {
			t.Errorf("%+v comes before %+v", all[i], all[i+1])
		}
	}
	if Count(all, Error) != 1 || Count(all, Warning) == 0 {
		t.Errorf("found %+v", all)
	}
}

func TestOnlyWhatLosesRecordsStopsAStart(t *testing.T) {
	for _, f := range JudgeStart(Facts{Info: map[string]string{"redis_version": "7.0.15", "role": "slave", "maxmemory": "1", "used_memory": "2", "maxmemory_policy": "noeviction", "rdb_last_bgsave_status": "err"}}) {
		if f.Level == Error {
			t.Errorf("%+v", f)
		}
	}
}

// A Redis that refuses the trial trims as well as any; one that loads its data does not answer yet.
func TestATrialThatIsRefusedSaysNothingOfTrims(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes")
	redis.Do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@all", "-eval")
	reader, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redis.Addr()}, Username: "reader", Password: "secret", DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	f, err := ReadStart(t.Context(), reader, "korvet")
	if err != nil || f.TrimsErr == nil || f.Trims != "" || f.InfoErr != nil {
		t.Errorf("a user who may not: %+v, %v", f, err)
	}
	for _, found := range JudgeStart(f) {
		if found.Level == Error {
			t.Errorf("a user who may not: %+v", found)
		}
	}
	redis.Do("EVAL", "for i = 1, 5000 do redis.call('SET', KEYS[1] .. i, 'x') end", "1", "key")
	client := redis.Client()
	redis.RestartLoading()
	if f, err := ReadStart(t.Context(), client, "korvet"); err == nil {
		t.Errorf("a Redis that loads: %+v", f)
	}
	redis.FinishLoading()
	redistest.Eventually(t, "it to have loaded", func() bool {
		f, err := ReadStart(t.Context(), client, "korvet")
		return err == nil && f.Trims == trimsRight
	})
}

func TestFactsAreThoseOfTheServer(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes")
	redis.Do("CONFIG", "SET", "timeout", "77")
	redis.Do("ACL", "SETUSER", "writer", "on", "nopass", "~*", "&*", "+@all")
	redis.Do("ACL", "SETUSER", "app", "on", ">SECRET", "~app:*", "+@all")
	redis.Do("ACL", "SETUSER", "off", "nopass", "~*", "+@all")
	f, err := Read(t.Context(), redis.Client(), "korvet", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if f.Trims != trimsRight || f.Info["aof_enabled"] != "1" || f.Config["timeout"] != "77" || len(f.RoundTrips) != roundTrips || f.Self != "default" {
		t.Errorf("%+v", f)
	}
	want := map[string]User{"default": {"default", true, true}, "writer": {"writer", true, true}, "app": {"app", false, false}}
	for _, u := range f.Users {
		if u != want[u.Name] {
			t.Errorf("user %+v, want %+v", u, want[u.Name])
		}
		delete(want, u.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing users %v", want)
	}
	if keys := redis.Do("DBSIZE"); must(keys.ToInt64()) != 0 {
		t.Error("keys are left")
	}
}

func TestWhatIsRefusedIsAFact(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("ACL", "SETUSER", "managed", "on", ">SECRET", "~*", "&*", "+@all", "-config", "-acl", "-xadd")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redis.Addr()}, Username: "managed", Password: "SECRET", DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	f, err := Read(t.Context(), client, "korvet", time.Now)
	if err != nil || f.ConfigErr == nil || f.UsersErr == nil || f.TrimsErr == nil || f.InfoErr != nil {
		t.Errorf("%v, facts %+v", err, f)
	}
}

func TestAFullRedisIsAFact(t *testing.T) {
	redis := redistest.Start(t, "--maxmemory", "1")
	f, err := Read(t.Context(), redis.Client(), "korvet", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if Count(Judge(f, Use{}), Error) != 1 {
		t.Errorf("%+v", Judge(f, Use{}))
	}
}

func must(n int64, err error) int64 {
	if err != nil {
		panic(err)
	}
	return n
}
