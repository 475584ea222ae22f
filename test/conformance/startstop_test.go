package conformance

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestStopAnswersWhatIsInFlight stops a broker under load: what is in the log afterwards is what was answered.
func TestStopAnswersWhatIsInFlight(t *testing.T) {
	to := startOwn(t)
	c := dial(t, to)
	topic := c.newTopic()
	req := produceTo(9, topic, -1, values("v").bytes())
	var sent []int32
	for range 200 {
		sent = append(sent, c.send(req))
	}
	waiting := c.another()
	waiting.send(fetchRequestAtEnd(topic))
	answered := int64(0)
	for i, id := range sent {
		resp, err := c.receive(req, id)
		if errors.Is(err, errClosed) {
			break
		}
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode == 0 {
			answered++
		} else if got := code(p.ErrorCode); got != "NOT_LEADER_OR_FOLLOWER" {
			t.Fatalf("answer %d: %s", i, got)
		}
		if i == 0 {
			stopped := make(chan struct{})
			go func() { to.own.Stop(); close(stopped) }()
			defer func() { <-stopped }()
		}
	}
	if _, err := waiting.readFrame(); err != nil && !errors.Is(err, errClosed) {
		t.Errorf("waiting fetch: %v", err)
	}
	to.own.AwaitExit()
	to.own.Restart()
	if end := dial(t, to).end(topic); end != answered {
		t.Errorf("%d batches in the log, %d answered", end, answered)
	}
}

// fetchRequestAtEnd waits for records that do not come.
func fetchRequestAtEnd(t topic) *kmsg.FetchRequest {
	o := fetchAt(0)
	o.waitMs, o.minBytes = long, 1<<30
	return o.request(t)
}

// TestPortInUseEndsTheStart: a broker that cannot listen says so by its exit code.
func TestPortInUseEndsTheStart(t *testing.T) {
	to := startOwn(t)
	to.own.Stop()
	l, err := net.Listen("tcp", to.addr)
	if err != nil {
		t.Fatalf("take the broker's port: %v", err)
	}
	defer l.Close()
	to.own.Launch()
	if exit := to.own.AwaitExit(); exit == 0 {
		t.Error("exit code 0")
	}
}

// TestStartWaitsForRedis: a broker whose Redis is down is alive, not ready, and becomes ready by itself.
func TestStartWaitsForRedis(t *testing.T) {
	to := startOwn(t)
	topic := dial(t, to).newTopic()
	to.own.Stop()
	to.own.Redis.Kill()
	to.own.Launch()
	c := &conn{t: t, to: to}
	c.eventually("broker is alive and not ready", func() bool {
		return c.httpStatus("/livez") == http.StatusOK && c.httpStatus("/readyz") == http.StatusServiceUnavailable
	})
	to.own.Redis.Restart()
	to.own.AwaitReady()
	dial(t, to).awaitWrites(topic)
}

// httpStatus asks the broker's HTTP listener; 0 is no answer.
func (c *conn) httpStatus(path string) int {
	resp, err := http.Get("http://" + c.to.own.HTTPAddr + path)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestAdvertisedNameIsToldEverywhere: Metadata and DescribeCluster name the host that was set.
func TestAdvertisedNameIsToldEverywhere(t *testing.T) {
	to := startOwn(t, "--korvet.broker.advertised-host=localhost", "--korvet.broker.advertised-port=12345")
	c := dial(t, to)
	m := c.metadata(12).Brokers[0]
	d := ask[*kmsg.DescribeClusterResponse](c, describeCluster(1, 1)).Brokers[0]
	for api, got := range map[string]string{
		"Metadata":        fmt.Sprintf("%s:%d", m.Host, m.Port),
		"DescribeCluster": fmt.Sprintf("%s:%d", d.Host, d.Port),
	} {
		if got != "localhost:12345" {
			t.Errorf("%s tells %s", api, got)
		}
	}
}

// TestIdleProducerIsForgotten: after producer.id.expiration.ms any sequence is accepted, the next one all the more.
func TestIdleProducerIsForgotten(t *testing.T) {
	to := startOwn(t, "--korvet.broker.producer-id-expiration-ms=500")
	c := dial(t, to)
	topic, id, later := c.newTopic(), c.newProducer(), c.newProducer()
	for sequence := range int32(3) {
		c.must(topic, one(0, sequence).batch(id))
	}
	c.must(topic, one(0, 0).batch(later))
	c.eventually("a producer that was active later is forgotten", func() bool {
		got := c.base(topic, -1, one(0, 9).batch(later))
		if got != "4" && got != "OUT_OF_ORDER_SEQUENCE_NUMBER" {
			t.Fatalf("sequence 9: %s", got)
		}
		return got == "4"
	})
	if got := c.base(topic, -1, one(0, 3).batch(id)); got != "5" {
		t.Errorf("next batch of a forgotten producer: %s", got)
	}
}
