package app

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
)

// alter changes a setting of all brokers.
func alter(t *testing.T, admin *kadm.Client, name, value string) {
	t.Helper()
	resp, err := admin.AlterBrokerConfigs(t.Context(), []kadm.AlterConfig{{Name: name, Value: &value}})
	if err == nil {
		err = resp[0].Err
	}
	if err != nil {
		t.Fatalf("set %s=%s: %v", name, value, err)
	}
}

func tooLarge(t *testing.T, b *Broker) bool {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(strings.Repeat("v", 500))}).FirstErr()
	if err != nil && !errors.Is(err, kerr.MessageTooLarge) {
		t.Fatal(err)
	}
	return err != nil
}

func TestSettingsOfAllBrokersReachEachOfThemAndSurviveARestart(t *testing.T) {
	redis := redistest.Start(t)
	args := []string{"--korvet.redis.uri=" + redis.URI(), "--korvet.broker.heartbeat-interval=100ms"}
	one := start(t, load(t, args...))
	two := start(t, load(t, append(args, "--korvet.broker.id=2")...))
	produce(t, client(t, one), "t", "v")
	alter(t, kadm.NewClient(client(t, two)), "message.max.bytes", "300")
	eventually(t, "both brokers to obey", func() bool { return tooLarge(t, one) && tooLarge(t, two) })
	one.Stop()
	two.Stop()
	again := start(t, load(t, args...))
	if !tooLarge(t, again) {
		t.Error("a restarted broker does not obey")
	}
	alter(t, kadm.NewClient(client(t, again)), "message.max.bytes", "1000")
	if tooLarge(t, again) {
		t.Error("the broker that was asked does not obey at once")
	}
}

func TestConnectionLimitsChangeWhileTheBrokerRuns(t *testing.T) {
	c, values, err := config.Load(config.Sources{NoFile: true, Flags: []string{
		"--korvet.broker.host=127.0.0.1", "--korvet.broker.port=0", "--korvet.http.host=127.0.0.1", "--korvet.http.port=0",
		"--korvet.redis.uri=" + redistest.Start(t).URI(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(t.Context(), Options{Config: c, Kafka: c.Kafka(values), Log: slog.New(slog.DiscardHandler), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	<-b.Ready()
	admin := kadm.NewClient(client(t, b))
	alter(t, admin, "max.connections.per.ip", "1") // the client's own connections stay
	refused := func() bool {
		conn, err := net.Dial("tcp", b.KafkaAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		// An ApiVersions request of version 0: it is answered, or the connection is closed.
		if _, err := conn.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 255, 255}); err != nil {
			return true
		}
		_, err = conn.Read(make([]byte, 4))
		return err != nil
	}
	eventually(t, "a second client to be refused", refused)
	alter(t, admin, "max.connections.per.ip", "0")
	eventually(t, "it to be served again", func() bool { return !refused() })
}

func TestAGroupsOwnSettingsReachItsMembers(t *testing.T) {
	b := start(t, load(t, "--korvet.redis.uri="+redistest.Start(t).URI()))
	c := client(t, b)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, "g"
	for name, value := range map[string]string{"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "7000", "consumer.assignment.interval.ms": "0"} {
		r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Value: &value})
	}
	req.Resources = append(req.Resources, r)
	if resp, err := req.RequestWith(t.Context(), c); err != nil || resp.Resources[0].ErrorCode != 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	all := &group.Settings{ConsumerSession: time.Second, ConsumerHeartbeat: time.Second, AssignmentInterval: time.Second, ConsumerMaxSize: 3}
	settings := ownGroupSettings(b.current().store)
	if own := settings("g", all); own.ConsumerSession != 50*time.Second || own.ConsumerHeartbeat != 7*time.Second || own.AssignmentInterval != 0 || own.ConsumerMaxSize != 3 {
		t.Errorf("group g has %+v", own)
	}
	if settings("other", all) != all {
		t.Error("a group without settings has its own")
	}
	heartbeat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	heartbeat.Group, heartbeat.MemberID, heartbeat.RebalanceTimeoutMillis = "g", "AAAAAAAAAAAAAAAAAAAAAQ", 60000
	heartbeat.SubscribedTopicNames = []string{"t"}
	heartbeat.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if resp, err := heartbeat.RequestWith(t.Context(), c); err != nil || resp.ErrorCode != 0 || resp.HeartbeatIntervalMillis != 7000 {
		t.Errorf("a member is told %+v, %v", resp, err)
	}
}
