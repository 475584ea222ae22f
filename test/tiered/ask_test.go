package tiered

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func ptr(s string) *string { return &s }

// setting is the value of a topic's setting.
func (w *world) setting(topic, name string) string {
	w.Helper()
	return w.valueOf(name)(w.admin.DescribeTopicConfigs(w.Context(), topic))
}

// brokerSetting is the value of one of the broker's.
func (w *world) brokerSetting(name string) string {
	w.Helper()
	return w.valueOf(name)(w.admin.DescribeBrokerConfigs(w.Context(), 0))
}

// valueOf finds a setting in the answer for one resource; "" when it has none.
func (w *world) valueOf(name string) func(kadm.ResourceConfigs, error) string {
	return func(all kadm.ResourceConfigs, err error) string {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		for _, c := range all[0].Configs {
			if c.Key == name {
				return c.MaybeValue()
			}
		}
		return ""
	}
}

// status is the HTTP status of a path.
func (w *world) status(path string) int {
	w.Helper()
	status, _ := w.Get(path)
	return status
}

// leads finds a partition that a broker leads; -1: none.
func (w *world) leads(topic string, broker int32) int32 {
	w.Helper()
	m, err := w.admin.Metadata(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range m.Topics[topic].Partitions.Sorted() {
		if p.Leader == broker {
			return p.Partition
		}
	}
	return -1
}

// fetched is the error of a fetch; nil: there is none.
func (w *world) fetched(topic string, partition int32, offset int64) error {
	w.Helper()
	return w.fetchedFrom(w.Addr, topic, partition, offset)
}

// fetchedFrom asks one broker, whoever leads the partition.
func (w *world) fetchedFrom(addr, topic string, partition int32, offset int64) error {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.ReplicaID, q.MaxWaitMillis, q.MinBytes, q.MaxBytes = 12, -1, 100, 1, 1<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	a := w.ask(ctx, addr, q).(*kmsg.FetchResponse)
	if a.ErrorCode != 0 {
		return kerr.ErrorForCode(a.ErrorCode)
	}
	return kerr.ErrorForCode(a.Topics[0].Partitions[0].ErrorCode)
}

// ask sends a request to one broker, in a version of Kafka 2.7 at most: without topic ids.
func (w *world) ask(ctx context.Context, addr string, q kmsg.Request) kmsg.Response {
	w.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxVersions(kversion.V2_7_0()))
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	answer, err := client.SeedBrokers()[0].Request(ctx, q)
	if err != nil {
		w.Fatalf("ask %s: %v", addr, err)
	}
	return answer
}

// alteredAt alters a setting of a topic at one broker, and returns its error.
func (w *world) alteredAt(addr, topic, name, value string) (text string, err error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = name, &value
	r.Configs = append(r.Configs, c)
	q.Resources = append(q.Resources, r)
	a := w.ask(ctx, addr, q).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
	if a.ErrorMessage != nil {
		text = *a.ErrorMessage
	}
	return text, kerr.ErrorForCode(a.ErrorCode)
}
