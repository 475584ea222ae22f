package api

import (
	"context"
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/metadata"
)

// topicPlan is a topic whose creation was checked: what is left is to commit it.
type topicPlan struct {
	name       string
	partitions int32
	configs    map[string]string // canonical
}

// planTopic checks a new topic. partitions -1 is the default of the topic's pattern or of the broker.
func (a *API) planTopic(ctx context.Context, name string, partitions int32, configs map[string]string) (*topicPlan, error) {
	if err := checkTopicName(name); err != nil {
		return nil, err
	}
	if name == clusterMetadataTopic {
		return nil, refuse(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	if err := checkCollision(name, a.topics.All()); err != nil {
		return nil, err
	}
	switch _, err := a.topics.Topic(ctx, name); {
	case err == nil:
		return nil, refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	case !errors.Is(err, metadata.ErrUnknownTopic):
		return nil, err
	}
	if partitions == -1 {
		partitions = a.schema.Partitions(name, a.settings.NumPartitions)
	}
	if partitions < 1 {
		return nil, refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if err := a.checkPartitions(partitions, partitions); err != nil {
		return nil, err
	}
	if err := a.checkValueLengths(configs); err != nil {
		return nil, err
	}
	canonical, err := a.schema.Create(name, configs)
	if err != nil {
		return nil, refuse(kerr.InvalidConfig, "%v", err)
	}
	return &topicPlan{name: name, partitions: partitions, configs: canonical}, nil
}

// createTopic commits a plan.
func (a *API) createTopic(c *call, p *topicPlan) (*metadata.Topic, error) {
	t, err := a.topics.Create(c.ctx, p.name, p.partitions, p.configs)
	if err != nil {
		return nil, err
	}
	e := a.schema.Effective(t.Name, t.Configs)
	if have := 1 + a.settings.RedisReplicas; e.MinInsyncReplicas > have {
		c.log().Warn("min.insync.replicas counts only as far as Redis has replicas (korvet.redis.replicas)",
			"topic", t.Name, "set", e.MinInsyncReplicas, "counts", have)
	}
	return t, nil
}

// checkValueLengths bounds what one setting may store, also to what old versions of the protocol can tell: they have two
// bytes for a value's length.
func (a *API) checkValueLengths(configs map[string]string) error {
	limit := min(a.settings.MaxConfigValueBytes, math.MaxInt16)
	for name, value := range configs {
		if len(value) > limit {
			return refuse(kerr.InvalidConfig, "The value of configuration %s has %d bytes, more than %d.", name, len(value), limit)
		}
	}
	return nil
}

// maxAlterTries is how often a change is tried again when others change the topic at the same time.
const maxAlterTries = 10

// alterTopic changes a topic. change gets the newest version and returns what it becomes, or an error that ends it; it may
// be called several times. With validateOnly nothing is stored.
func (a *API) alterTopic(ctx context.Context, name string, validateOnly bool, change func(*metadata.Topic) (partitions int32, configs map[string]string, err error)) error {
	for try := 1; ; try++ {
		t, err := a.topics.Topic(ctx, name)
		if err != nil {
			return err
		}
		partitions, configs, err := change(t)
		if err != nil || validateOnly {
			return err
		}
		_, err = a.topics.Alter(ctx, t, partitions, configs)
		if !errors.Is(err, metadata.ErrVersionConflict) || try == maxAlterTries {
			return err
		}
	}
}
