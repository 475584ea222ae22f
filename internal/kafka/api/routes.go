package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/kafka/server"
)

// route is one API key: the versions that are served and what serves them.
type route struct {
	key      int16
	min, max int16
	name     string
	serve    serveFunc
	silent   bool // served and not advertised, as Kafka does with some
}

// serveFunc serves one request whose key and version are in the route's range. It calls reply exactly once, as
// server.Handler asks.
type serveFunc func(a *API, c *call, reply func(server.Response, error))

// routes is the one list of what this broker serves, by key.
type routes map[int16]*route

// newRoutes makes the route table.
//
// A key has either a synchronous handler, which runs on its connection's goroutine and returns the answer
// (inline), or one that replies when its outcome is known (Produce and Fetch).
func newRoutes() routes {
	table := []route{
		{key: 0, min: 0, max: 13, name: "Produce", serve: (*API).produce},
		{key: 1, min: 4, max: 18, name: "Fetch", serve: (*API).fetch},
		{key: 2, min: 1, max: 11, name: "ListOffsets", serve: inline((*API).listOffsets)},
		{key: 3, min: 0, max: 13, name: "Metadata", serve: inline((*API).metadata)},
		{key: 18, min: 0, max: 5, name: "ApiVersions", serve: inline((*API).apiVersions)},
		{key: 19, min: 0, max: 7, name: "CreateTopics", serve: inline((*API).createTopics)},
		{key: 20, min: 0, max: 6, name: "DeleteTopics", serve: inline((*API).deleteTopics)},
		{key: 21, min: 0, max: 2, name: "DeleteRecords", serve: inline((*API).deleteRecords)},
		{key: 22, min: 0, max: 5, name: "InitProducerId", serve: inline((*API).initProducerID)},
		{key: 23, min: 2, max: 4, name: "OffsetForLeaderEpoch", serve: inline((*API).offsetForLeaderEpoch)},
		{key: 32, min: 0, max: 4, name: "DescribeConfigs", serve: inline((*API).describeConfigs)},
		{key: 33, min: 0, max: 2, name: "AlterConfigs", serve: inline((*API).alterConfigs)},
		{key: 35, min: 0, max: 5, name: "DescribeLogDirs", serve: inline((*API).describeLogDirs)},
		{key: 37, min: 0, max: 3, name: "CreatePartitions", serve: inline((*API).createPartitions)},
		{key: 44, min: 0, max: 1, name: "IncrementalAlterConfigs", serve: inline((*API).incrementalAlterConfigs)},
		{key: 60, min: 0, max: 2, name: "DescribeCluster", serve: inline((*API).describeCluster)},
		{key: 75, min: 0, max: 0, name: "DescribeTopicPartitions", serve: inline((*API).describeTopicPartitions)},
	}
	table = append(table, adminRoutes()...)
	byKey := make(routes, len(table))
	for i := range table {
		byKey[table[i].key] = &table[i]
	}
	return byKey
}

// request is a pointer to one of kmsg's request types.
type request[T any] interface {
	*T
	kmsg.Request
}

// inline makes a route's serveFunc of a synchronous handler: the body is decoded in the request's version, and the
// handler's answer is encoded in the same version.
func inline[T any, P request[T]](handle func(*API, *call, P) kmsg.Response) serveFunc {
	return func(a *API, c *call, reply func(server.Response, error)) {
		size := len(c.req.Body)
		if err := a.checkSize(c); err != nil {
			reply(nil, err)
			return
		}
		if err := a.control.acquire(c.ctx, size); err != nil {
			reply(nil, err)
			return
		}
		defer a.control.release(size)
		req := P(new(T))
		if err := a.decode(c, req); err != nil {
			reply(nil, err)
			return
		}
		resp := handle(a, c, req)
		resp.SetVersion(c.version())
		reply(kmsgResponse{resp}, nil)
	}
}
