package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/kafka/api"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/metrics"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/remotelog"
	"github.com/korvet-io/korvet/internal/topicconfig"
	"github.com/korvet-io/korvet/internal/worker"
	"github.com/korvet-io/korvet/internal/worker/deletion"
)

// parts is what runs once Redis was reached.
type parts struct {
	redis        rueidis.Client // metadata
	store        *metadata.Store
	shard        *redisstream.Shard
	replicas     *redisstream.Replicas // nil: Redis is run without
	logs         *partition.Manager
	tier         *remote.Tier // nil: there is no remote tier
	dictionaries *dictionary.Registry
	groups       *coordinator.Coordinator
	deletions    *deletion.Finisher
	announcer    *remotelog.Announcer // nil: there is no remote tier, or no storage worker here
	storage      *worker.Storage      // nil: no storage worker runs in this process
	server       *server.Server
	owner        *ownerLock
	refusals     *refusals
	reader       *remote.Reader                // nil: there is no remote tier
	inForce      atomic.Pointer[config.Config] // with what tools changed
}

// replicasWait is how long one WAIT for Redis's replicas lasts at most; producers with longer timeouts are served by the
// next one.
const replicasWait = 500 * time.Millisecond

// awayError is a failure that ends when Redis comes back.
type awayError struct{ error }

func (e awayError) Unwrap() error { return e.error }

func isAway(err error) bool {
	var away awayError
	if _, unknown := errors.AsType[*unknownLoss](err); unknown {
		return true
	}
	return !isPermanent(err) && (errors.As(err, &away) || errors.Is(err, metadata.ErrUnavailable))
}

// connect opens everything once. After an error nothing of it is left.
func (b *Broker) connect(ctx context.Context) (p *parts, err error) {
	schema, problems := topicconfig.New(topicOptions(&b.cfg))
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	p = &parts{}
	p.inForce.Store(&b.cfg)
	opened := p // an early return sets p to nil
	defer func() {
		if err != nil {
			opened.abandon()
		}
	}()
	if p.redis, err = b.metadataRedis(ctx); err != nil {
		return nil, err
	}
	if err = b.refuseLost(ctx, p.redis, "metadata"); err != nil {
		return nil, err
	}
	if p.store, err = metadata.Open(ctx, p.redis, b.metadataOptions(schema)); err != nil {
		return nil, fmt.Errorf("open metadata: %w", err)
	}
	if err = b.checkMessages(ctx, p.store.ID()); err != nil {
		return nil, err
	}
	options, err := streamOptions(b.cfg.Messages, b.cfg.Storage)
	if err != nil {
		return nil, err
	}
	if err = b.openRemote(ctx, p); err != nil {
		return nil, err
	}
	b.openLogs(p, options)
	p.deletions = deletion.New(p.store, p.logs, b.log.With(componentKey, "worker"))
	p.deletions.AfterTables(p.store, p.objects())
	if b.cfg.Broker.Enabled {
		b.openServer(p, schema)
	}
	p.store.OnConfigs(func() { b.obey(p) })
	return p, nil
}

// openServer opens what serves Kafka clients.
func (b *Broker) openServer(p *parts, schema *topicconfig.Schema) {
	b.openGroups(p)
	handler := api.New(api.Deps{
		Logs: p.logs, Groups: p.groups, Offsets: p.groups, GroupAdmin: p.groups, Configs: p.store, Loggers: loggersOf(b.log), Topics: topics{p.store, p.full}, Cluster: p.store, Epochs: p.logs, Schema: schema,
		Now: time.Now, Random: rand.Reader, Log: b.log.With(componentKey, "api"), Metrics: b.metrics,
	}, b.apiSettings())
	p.server = server.New(server.Options{
		Handler: handler, Settings: serverSettings(&b.cfg.Broker), Log: b.log.With(componentKey, "server"), Metrics: b.metrics, Now: time.Now,
	})
}

// openLogs opens the partitions' side. It asks Redis nothing yet.
func (b *Broker) openLogs(p *parts, options redisstream.Options) {
	self := p.store.Self()
	owner := fmt.Sprintf("%d/%s", self.ID, self.BootID)
	if b.cfg.Broker.Enabled {
		p.owner = b.lockOwner(p.store.ID(), self.ID, owner)
	}
	log := b.log.With(componentKey, "redisstream")
	p.shard = redisstream.Open(options, log)
	if b.cfg.Messages.Replicas > 0 {
		p.replicas = redisstream.NewReplicas(options, b.cfg.Namespace+":storage:wait", replicasWait, log)
		p.replicas.Follow(p.shard)
	}
	if p.tier != nil {
		p.reader = remote.NewReader(p.tier, b.readerSettings(), b.metrics.IndexCache)
	}
	p.refusals = &refusals{log: b.log, now: time.Now, count: b.metrics.WriteRefused, full: p.full}
	p.dictionaries = dictionary.New(b.dictionarySettings(), dictionary.Dependencies{
		Store: p.shard, Observer: observer{b.metrics, p.refusals}, Log: b.log.With(componentKey, "dictionary"), Now: time.Now,
		Alive: func(topic, id string) bool { return alive(p.store, topic, id) },
	})
	d := partition.Dependencies{
		Dictionaries: p.dictionaries,
		Shard:        p.shard,
		Observer:     observer{b.metrics, p.refusals},
		Deleted:      p.deleted,
		Log:          b.log.With(componentKey, "partition"),
		Gone:         p.owner.isGone,
		MinReplicas:  func(ref partition.Ref) int { return minReplicas(p.store, ref) },
	}
	if p.replicas != nil {
		d.Replicas = p.replicas
	}
	if p.tier != nil {
		d.Remote = p.reader
	}
	d.Tiered = func(ref partition.Ref) bool { return p.store.TableMayHave(ref.ID, ref.Partition) }
	p.logs = partition.NewManager(b.partitionSettings(owner), d)
	b.openStorage(p, owner)
}

// metadataRedis connects to the Redis of the metadata and checks that it keeps what it is given.
func (b *Broker) metadataRedis(ctx context.Context) (rueidis.Client, error) {
	client, err := metadataClient(b.cfg.Redis)
	if err != nil {
		return nil, err
	}
	if err := metadata.CheckServer(ctx, client, b.cfg.Namespace, "metadata", b.log.With(componentKey, "metadata")); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// checkMessages checks a Redis that holds messages only, and claims its namespace for the cluster.
func (b *Broker) checkMessages(ctx context.Context, cluster string) error {
	if same, err := sameRedis(&b.cfg); same || err != nil {
		return err
	}
	client, err := metadataClient(b.cfg.Messages)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := metadata.CheckServer(ctx, client, b.cfg.Namespace, "messages", b.log.With(componentKey, "metadata")); err != nil {
		return err
	}
	if err := b.refuseLost(ctx, client, "messages"); err != nil {
		return err
	}
	return metadata.ClaimMessages(ctx, client, b.cfg.Namespace, cluster, "korvet "+b.opt.Version)
}

// lockOwner proves earlier brokers of this machine gone where it can. Without that their leases are waited for.
func (b *Broker) lockOwner(cluster string, id int32, owner string) *ownerLock {
	dir, err := lockDir()
	if err == nil {
		var l *ownerLock
		if l, err = lockOwner(dir, cluster, id, owner); err == nil {
			return l
		}
	}
	b.log.Info("cannot tell whether an earlier broker of this id is gone: its leases are waited for", "reason", err)
	return nil
}

// drain answers what is in flight and gives the partitions back.
func (p *parts) drain(ctx context.Context, log *slog.Logger) {
	if p.server != nil {
		p.groups.Close(ctx) // first: members that wait for a rebalance are in flight for as long as that takes
		if err := p.server.Shutdown(ctx); err != nil {
			log.Warn("stopping: some requests were not answered in time", "error", err)
		}
	}
	if err := p.logs.Close(ctx); err != nil {
		log.Warn("stopping: some partitions were not given back; another broker waits for their leases", "error", err)
	}
	if err := p.store.Leave(ctx); err != nil {
		log.Warn("stopping: other brokers were not told", "error", err)
	}
}

// close gives up all connections, after drain.
func (p *parts) close() {
	if p.replicas != nil {
		p.replicas.Close()
	}
	p.shard.Close()
	p.redis.Close()
	p.owner.release()
}

// abandon gives up what connect had opened before it failed.
func (p *parts) abandon() {
	if p.redis != nil {
		p.redis.Close()
	}
	p.owner.release()
}

// topicNamed finds a topic, from memory; nil: there is none.
func topicNamed(store *metadata.Store, name string) *metadata.Topic {
	all := store.All()
	i, found := slices.BinarySearchFunc(all, name, func(t *metadata.Topic, name string) int { return cmp.Compare(t.Name, name) })
	if !found {
		return nil
	}
	return all[i]
}

// alive tells whether a life of a topic exists, from memory.
func alive(store *metadata.Store, topic, id string) bool {
	t := topicNamed(store, topic)
	return t != nil && partition.Ref{ID: t.ID}.TopicID() == id
}

// minReplicas is a topic's min.insync.replicas, from memory.
func minReplicas(store *metadata.Store, ref partition.Ref) int {
	if t := topicNamed(store, ref.Topic); t != nil && t.ID == ref.ID {
		return t.Config.MinInsyncReplicas
	}
	return 1
}

// topicNames lists the topics that exist, for metrics.
func (b *Broker) topicNames() []string {
	p := b.current()
	if p == nil {
		return nil
	}
	var names []string
	for _, t := range p.store.All() {
		names = append(names, t.Name)
	}
	return names
}

// observer tells metrics what partitions do.
type observer struct {
	m        *metrics.Metrics
	refusals *refusals
}

func (o observer) AppendDone(records, bytes int, took time.Duration, err error) {
	o.m.Appended(records, bytes, took, err)
	o.refusals.note(err)
}

func (o observer) ReadDone(tier string, bytes int, took time.Duration, err error) {
	o.m.Read(tier, bytes, took, err)
	if tier == partition.RemoteTier {
		o.m.RemoteRead(bytes, err)
	}
}

func (o observer) ValuesCompressed(p partition.Ref, plain, stored int) {
	o.m.ValuesCompressed(p.Topic, plain, stored)
}

func (o observer) ValueCorrupt(partition.Ref) { o.m.ValueCorrupt() }

func (o observer) DictionaryTrained(result string) { o.m.DictionaryTrained(result) }

func (o observer) Fenced(result string) { o.m.Fenced(result) }

func (o observer) Truncated(_ partition.Ref, records int64) { o.m.Truncated(records) }

// openPartitions lists what is known of the partitions, for metrics.
func (b *Broker) openPartitions() []metrics.Partition {
	p := b.current()
	if p == nil {
		return nil
	}
	var list []metrics.Partition
	p.logs.Known(func(ref partition.Ref, ends partition.Bounds) {
		list = append(list, metrics.Partition{Topic: ref.Topic, Partition: ref.Partition, LogStart: ends.LogStart, LogEnd: ends.LogEnd})
	})
	return list
}
