package api

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/metadata"
)

// maxTopicName is the longest topic name, in characters.
const maxTopicName = 249

// clusterMetadataTopic is the name of KRaft's own log, which no client may create.
const clusterMetadataTopic = "__cluster_metadata"

// checkTopicName refuses what Kafka does not take as a topic's name.
func checkTopicName(name string) error {
	invalid := func(why string) error {
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: %s", why)
	}
	switch {
	case name == "":
		return invalid("the empty string is not allowed")
	case name == "." || name == "..":
		return invalid("'.' or '..' is not allowed")
	case len(name) > maxTopicName:
		return invalid(fmt.Sprintf("the length of '%.20s...' is longer than the max allowed length %d", name, maxTopicName))
	}
	for i := range len(name) {
		if !isTopicChar(name[i]) {
			return invalid(fmt.Sprintf("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name))
		}
	}
	return nil
}

func isTopicChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// checkCollision refuses a name that metrics could not tell from that of a topic which exists: '.' and '_' are one there.
func checkCollision(name string, topics []*metadata.Topic) error {
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	for _, t := range topics {
		if len(t.Name) == len(name) && t.Name != name && strings.ReplaceAll(t.Name, ".", "_") == strings.ReplaceAll(name, ".", "_") {
			return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, t.Name)
		}
	}
	return nil
}

// checkPartitions refuses a partition count that would exceed the bounds on memory, more being what is added.
func (a *API) checkPartitions(count, more int32) error {
	if count > a.settings.MaxPartitions {
		return refuse(kerr.PolicyViolation, "%d partitions exceed the limit of %d for a topic", count, a.settings.MaxPartitions)
	}
	total := int64(more)
	for _, t := range a.topics.All() {
		total += int64(t.Partitions)
	}
	if total > a.settings.MaxPartitionsTotal {
		return refuse(kerr.PolicyViolation, "%d partitions of all topics exceed the limit of %d", total, a.settings.MaxPartitionsTotal)
	}
	return nil
}

// checkAssignment refuses replica lists that Kafka would refuse. Placement is the brokers' own here: what is accepted is
// not kept.
func (a *API) checkAssignment(replicas []int32) error {
	if len(replicas) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	seen := make(map[int32]bool, len(replicas))
	for _, id := range replicas {
		if seen[id] {
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		seen[id] = true
		if !a.isLive(id) {
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
	}
	return nil
}

func (a *API) isLive(broker int32) bool {
	for _, n := range a.cluster.Nodes() {
		if n.ID == broker {
			return true
		}
	}
	return false
}

// repeated returns the keys that occur more than once.
func repeated[E any](list []E, key func(*E) string) map[string]bool {
	seen, twice := make(map[string]bool, len(list)), map[string]bool{}
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			twice[k] = true
		}
		seen[k] = true
	}
	return twice
}
