package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sweep says how an API is asked in any of its versions: once so that it succeeds, on a topic with one record, and once so
// that it fails. Either must be answered in exactly the version of the request.
type sweep struct {
	good func(c *conn, v int16, t topic) kmsg.Request
	bad  func(c *conn, v int16) kmsg.Request // nil: nothing a client can say is an error in this version
	want string                              // the error that bad provokes
	// gives is what good is answered where that is not OK: without access control, say.
	gives  string
	korvet *difference // what korvet answers instead
}

// TestEveryAdvertisedVersionIsAnswered asks every API in every version that ApiVersions tells.
func TestEveryAdvertisedVersionIsAnswered(t *testing.T) {
	eachVersion(t, start(t, noRebalanceDelay), func(c *conn, key kmsg.Key, v int16, s sweep) { s.run(c, key, v) })
}

// TestTruncatedRequestsCloseTheConnection cuts requests of every API and version short, with a frame length that fits.
func TestTruncatedRequestsCloseTheConnection(t *testing.T) {
	eachVersion(t, start(t, noRebalanceDelay), func(c *conn, key kmsg.Key, v int16, s sweep) {
		req := s.good(c, v, topic{name: newName()})
		req.SetVersion(v)
		whole, _ := c.frame(req)
		header := len(whole) - len(req.AppendTo(nil))
		for _, size := range []int{len(whole) - 1, (header + len(whole)) / 2} {
			if size < header || size == len(whole) || key == kmsg.ApiVersions {
				continue // nothing to cut; an ApiVersions request that cannot be read is answered, see KIP-511
			}
			cut := bytes.Clone(whole[:size])
			binary.BigEndian.PutUint32(cut, uint32(size-4))
			other := c.another()
			other.write(cut)
			if !other.closed() {
				c.t.Errorf("%d of %d bytes: not closed", size, len(whole))
			}
		}
	})
}

// eachVersion runs a test for every API and version that the broker tells and that this package can ask.
func eachVersion(t *testing.T, to *target, test func(c *conn, key kmsg.Key, v int16, s sweep)) {
	t.Helper()
	for _, k := range ask[*kmsg.ApiVersionsResponse](dial(t, to), apiVersions(3)).ApiKeys {
		s, known := sweepOf(kmsg.Key(k.ApiKey))
		if !known {
			if to.korvet {
				t.Errorf("korvet advertises %s, which this test cannot ask", kmsg.NameForKey(k.ApiKey))
			}
			continue // another broker may have more
		}
		for v := k.MinVersion; v <= k.MaxVersion; v++ {
			t.Run(fmt.Sprintf("%s v%d", kmsg.NameForKey(k.ApiKey), v), func(t *testing.T) {
				t.Parallel()
				if newest := kmsg.RequestForKey(k.ApiKey).MaxVersion(); v > newest {
					t.Fatalf("this test knows versions up to %d", newest)
				}
				test(dial(t, to), kmsg.Key(k.ApiKey), v, s)
			})
		}
	}
}

func sweepOf(key kmsg.Key) (s sweep, known bool) {
	for _, table := range []map[kmsg.Key]sweep{sweeps, groupSweeps, adminSweeps} {
		if s, known = table[key]; known {
			break
		}
	}
	return s, known
}

func (s sweep) run(c *conn, key kmsg.Key, v int16) {
	c.t.Helper()
	t := c.newTopic()
	c.must(t, values("v"))
	c.newProducer() // Kafka's coordinator is loaded afterwards
	want := "OK"
	if s.gives != "" {
		want = s.gives
	}
	if s.korvet != nil {
		want = c.expected(want, s.korvet)
	}
	if key == kmsg.Produce && v < 3 {
		want = c.expected("closed", differs("OK", "Produce v0 to v2"))
	}
	if got := c.asked(s.good(c, v, t), v); got != want {
		c.t.Errorf("good request: got %s, want %s", got, want)
	}
	if s.bad == nil || want == "closed" {
		return
	}
	bad := s.bad(c, v)
	if bad == nil {
		return
	}
	want = s.want
	if v >= 13 && want == "UNKNOWN_TOPIC_OR_PARTITION" && (key == kmsg.Produce || key == kmsg.Fetch) {
		want = "UNKNOWN_TOPIC_ID" // topics have ids there
	}
	if got := c.asked(bad, v); got != want {
		c.t.Errorf("bad request: got %s, want %s", got, want)
	}
}

func (c *conn) asked(req kmsg.Request, v int16) string {
	c.t.Helper()
	req.SetVersion(v)
	resp, err := c.try(req)
	if err != nil {
		return outcome(err)
	}
	return answerCode(c, resp)
}

// sweeps are the APIs of records, topics and the cluster.
var sweeps = map[kmsg.Key]sweep{
	kmsg.Produce: {
		good: func(_ *conn, v int16, t topic) kmsg.Request {
			if v < 3 {
				return produceTo(v, t, -1, message(int8(v/2), 0, 0, []byte("k"), []byte("v")))
			}
			return produceTo(v, t, -1, values("v").bytes())
		},
		bad: func(_ *conn, v int16) kmsg.Request {
			if v < 3 {
				return produceTo(v, nowhere(), -1, message(int8(v/2), 0, 0, []byte("k"), []byte("v")))
			}
			return produceTo(v, nowhere(), -1, values("v").bytes())
		},
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.Fetch: {
		good: func(_ *conn, _ int16, t topic) kmsg.Request { return fetchAt(0).request(t) },
		bad:  func(*conn, int16) kmsg.Request { return fetchAt(0).request(nowhere()) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.ListOffsets: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return listOffsets(v, t, latest) },
		bad:  func(_ *conn, v int16) kmsg.Request { return listOffsets(v, nowhere(), latest) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.Metadata: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return metadataRequest(v, t.name) },
		bad:  func(_ *conn, v int16) kmsg.Request { return withoutAutoCreate(metadataRequest(v, "no/such")) },
		want: "INVALID_TOPIC_EXCEPTION",
	},
	kmsg.ApiVersions: {
		good: func(_ *conn, v int16, _ topic) kmsg.Request { return apiVersions(v) },
		bad: func(_ *conn, v int16) kmsg.Request {
			if v < 3 {
				return nil // an empty request
			}
			req := apiVersions(v)
			req.ClientSoftwareName = "not a name"
			return req
		},
		want: "INVALID_REQUEST",
	},
	kmsg.CreateTopics: {
		good: func(_ *conn, v int16, _ topic) kmsg.Request {
			return createTopics(v, newTopicRequest(newName(), 1, 1, "retention.ms=1000"))
		},
		bad:  func(_ *conn, v int16) kmsg.Request { return createTopics(v, newTopicRequest("no/such", 1, 1)) },
		want: "INVALID_TOPIC_EXCEPTION",
	},
	kmsg.DeleteTopics: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return deleteTopics(v, t.name) },
		bad:  func(_ *conn, v int16) kmsg.Request { return deleteTopics(v, newName()) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.DeleteRecords: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return deleteRecords(v, t, 1) },
		bad:  func(_ *conn, v int16) kmsg.Request { return deleteRecords(v, nowhere(), 1) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.InitProducerID: {
		good: func(_ *conn, v int16, _ topic) kmsg.Request { return initProducer(v, nil, -1, -1) },
		bad:  func(_ *conn, v int16) kmsg.Request { return initProducer(v, kmsg.StringPtr(""), -1, -1) },
		want: "INVALID_REQUEST",
	},
	kmsg.OffsetForLeaderEpoch: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return offsetForLeaderEpoch(v, t.name, 0, -1) },
		bad:  func(_ *conn, v int16) kmsg.Request { return offsetForLeaderEpoch(v, newName(), 0, -1) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.DescribeConfigs: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return describeConfigs(v, topicResource, t.name) },
		bad:  func(_ *conn, v int16) kmsg.Request { return describeConfigs(v, topicResource, newName()) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.AlterConfigs: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return alterConfigsFully(v, t, "retention.ms", "1000") },
		bad:  func(_ *conn, v int16) kmsg.Request { return alterConfigsFully(v, nowhere(), "retention.ms", "1000") },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.IncrementalAlterConfigs: {
		good: func(_ *conn, v int16, t topic) kmsg.Request {
			return alterConfigs(v, topicResource, t.name, set("retention.ms", "1000"))
		},
		bad: func(_ *conn, v int16) kmsg.Request {
			return alterConfigs(v, topicResource, newName(), set("retention.ms", "1000"))
		},
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.DescribeLogDirs: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return describeLogDirs(v, t.name) },
	},
	kmsg.CreatePartitions: {
		good: func(_ *conn, v int16, t topic) kmsg.Request { return createPartitions(v, t.name, 3, nil) },
		bad:  func(_ *conn, v int16) kmsg.Request { return createPartitions(v, newName(), 3, nil) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.DescribeCluster: {
		good: func(_ *conn, v int16, _ topic) kmsg.Request { return describeCluster(v, 1) },
		bad: func(_ *conn, v int16) kmsg.Request {
			if v < 1 {
				return nil // no endpoint type yet
			}
			return describeCluster(v, 2)
		},
		want: "MISMATCHED_ENDPOINT_TYPE",
	},
	kmsg.DescribeTopicPartitions: {
		good: func(_ *conn, _ int16, t topic) kmsg.Request { return describeTopicPartitions(t.name) },
		bad:  func(*conn, int16) kmsg.Request { return describeTopicPartitions(newName()) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
}

// nowhere names a topic that does not exist, by name and by id.
func nowhere() topic { return topic{name: newName(), id: [16]byte{15: 1, 0: 0x7f}} }

func withoutAutoCreate(req *kmsg.MetadataRequest) *kmsg.MetadataRequest {
	req.AllowAutoTopicCreation = false
	return req
}
