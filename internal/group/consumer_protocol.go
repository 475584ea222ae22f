package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientSubscription is what of a consumer's metadata a group needs.
type clientSubscription struct {
	topics []string
	rack   string
	has    []kmsg.ConsumerMemberMetadataOwnedPartition
}

// parseSubscription reads the metadata of one of a consumer's protocols.
func parseSubscription(metadata []byte) (clientSubscription, error) {
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(metadata); err != nil {
		return clientSubscription{}, fmt.Errorf("read subscription: %w", err)
	}
	s := clientSubscription{topics: meta.Topics, has: meta.OwnedPartitions}
	if meta.Rack != nil {
		s.rack = *meta.Rack
	}
	return s, nil
}

// owned are the partitions that the consumer says it has, of topics that exist.
func (s *clientSubscription) owned(img Image) []TopicPartitions {
	owned := make([]TopicPartitions, 0, len(s.has))
	for _, t := range s.has {
		if topic, exists := img.Topic(t.Topic); exists {
			owned = append(owned, TopicPartitions{topic.ID, t.Partitions})
		}
	}
	return owned
}

// parseAssignment reads an assignment made by a client. What is not in the view is left out. custom tells that it has
// data of the assignor's own.
func parseAssignment(assignment []byte, img Image) (set partitionSet, custom bool, err error) {
	if len(assignment) == 0 {
		return nil, false, nil
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(assignment); err != nil {
		return nil, false, fmt.Errorf("read assignment: %w", err)
	}
	var tps []TopicPartitions
	for _, t := range a.Topics {
		topic, exists := img.Topic(t.Topic)
		if exists {
			tps = append(tps, TopicPartitions{topic.ID, t.Partitions})
		}
	}
	return existing(tps, img), len(a.UserData) > 0, nil
}

// existing makes a set of those of some partitions that exist.
func existing(tps []TopicPartitions, img Image) partitionSet {
	return setOf(tps).filter(func(tp topicPartition) bool {
		t, exists := img.ByID(tp.topic)
		return exists && tp.partition < t.Partitions
	})
}

// encodeAssignment encodes an assignment in the version of the subscription in metadata.
func encodeAssignment(set partitionSet, img Image, metadata []byte) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	var sub kmsg.ConsumerMemberMetadata
	if sub.ReadFrom(metadata) == nil {
		a.Version = sub.Version
	}
	for _, t := range set {
		if topic, exists := img.ByID(t.Topic); exists {
			at := kmsg.NewConsumerMemberAssignmentTopic()
			at.Topic, at.Partitions = topic.Name, t.Partitions
			a.Topics = append(a.Topics, at)
		}
	}
	return a.AppendTo(nil)
}
