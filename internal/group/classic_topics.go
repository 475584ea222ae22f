package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kbin"
)

// topicSet is the topics of a generation's members, if they can be known.
type topicSet struct {
	known bool
	names map[string]bool
}

// subscriptions reads the topics from the members' metadata: it is known to be a subscription only for consumers.
func (c *classicGroup) subscriptions() topicSet {
	if c.protocolType != consumerType {
		return topicSet{}
	}
	s := topicSet{known: true, names: map[string]bool{}}
	for _, m := range c.list {
		topics, err := subscribedTopics(m.metadata(c.protocol))
		if err != nil {
			return topicSet{}
		}
		for _, t := range topics {
			s.names[t] = true
		}
	}
	return s
}

var errNoSubscription = errors.New("metadata is no consumer subscription")

// subscribedTopics reads the topics of a consumer's subscription. All versions begin alike: a version, then topic names;
// what follows is not looked at, so that later versions are understood.
func subscribedTopics(metadata []byte) ([]string, error) {
	r := kbin.Reader{Src: metadata}
	version := r.Int16()
	n := r.ArrayLen()
	if !r.Ok() || version < 0 || n < 0 || int64(n)*2 > int64(len(r.Src)) {
		return nil, errNoSubscription
	}
	topics := make([]string, 0, n)
	for range n {
		topics = append(topics, r.String())
	}
	if !r.Ok() {
		return nil, errNoSubscription
	}
	return topics, nil
}
