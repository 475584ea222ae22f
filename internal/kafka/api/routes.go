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
// (inline), or one that replies when its outcome is known: Produce and Fetch, which decode by themselves, those that wait
// for the coordinator to store something (later), and those that wait for other members (parked).
func newRoutes() routes {
	table := []route{
		{key: 0, min: 0, max: 13, name: "Produce", serve: (*API).produce},
		{key: 1, min: 4, max: 18, name: "Fetch", serve: (*API).fetch},
		{key: 2, min: 1, max: 11, name: "ListOffsets", serve: inline((*API).listOffsets)},
		{key: 3, min: 0, max: 13, name: "Metadata", serve: inline((*API).metadata)},
		{key: 8, min: 2, max: 10, name: "OffsetCommit", serve: later((*API).offsetCommit)},
		{key: 9, min: 1, max: 10, name: "OffsetFetch", serve: inline((*API).offsetFetch)},
		{key: 10, min: 0, max: 6, name: "FindCoordinator", serve: inline((*API).findCoordinator)},
		{key: 11, min: 0, max: 9, name: "JoinGroup", serve: parked((*API).joinGroup)},
		{key: 12, min: 0, max: 4, name: "Heartbeat", serve: later((*API).heartbeat)},
		{key: 13, min: 0, max: 5, name: "LeaveGroup", serve: later((*API).leaveGroup)},
		{key: 14, min: 0, max: 5, name: "SyncGroup", serve: parked((*API).syncGroup)},
		{key: 15, min: 0, max: 6, name: "DescribeGroups", serve: inline((*API).describeGroups)},
		{key: 16, min: 0, max: 5, name: "ListGroups", serve: inline((*API).listGroups)},
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
		{key: 42, min: 0, max: 3, name: "DeleteGroups", serve: inline((*API).deleteGroups)},
		{key: 44, min: 0, max: 1, name: "IncrementalAlterConfigs", serve: inline((*API).incrementalAlterConfigs)},
		{key: 47, min: 0, max: 0, name: "OffsetDelete", serve: inline((*API).offsetDelete)},
		{key: 60, min: 0, max: 2, name: "DescribeCluster", serve: inline((*API).describeCluster)},
		{key: 68, min: 0, max: 1, name: "ConsumerGroupHeartbeat", serve: later((*API).consumerGroupHeartbeat)},
		{key: 69, min: 0, max: 1, name: "ConsumerGroupDescribe", serve: inline((*API).consumerGroupDescribe)},
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
		answerWith(c, reply, handle(a, c, req))
	}
}

// later makes a route's serveFunc of a handler that calls answer exactly once, from any goroutine, when the outcome is
// known. What is decoded is a copy: strings do not alias the body, byte slices do. A large request keeps its room until it
// is answered.
func later[T any, P request[T]](handle func(*API, *call, P, func(kmsg.Response))) serveFunc {
	return func(a *API, c *call, reply func(server.Response, error)) {
		size := len(c.req.Body)
		req, err := decodeCopy[T, P](a, c)
		if err != nil {
			reply(nil, err)
			return
		}
		handle(a, c, req, func(resp kmsg.Response) {
			a.control.release(size)
			answerWith(c, reply, resp)
		})
	}
}

// parked is later for requests that may wait for minutes until other clients have sent theirs: they hold no room of the
// budgets of requests meanwhile, and the handler copies what it keeps, so that the body is given up as well.
func parked[T any, P request[T]](handle func(*API, *call, P, func(kmsg.Response))) serveFunc {
	return func(a *API, c *call, reply func(server.Response, error)) {
		size := len(c.req.Body)
		req, err := decodeCopy[T, P](a, c)
		if err != nil {
			reply(nil, err)
			return
		}
		defer a.control.release(size)
		handle(a, c, req, func(resp kmsg.Response) { answerWith(c, reply, resp) })
		c.req.Free()
	}
}

// decodeCopy decodes a control request once there is room for it, which the caller gives back unless there is an error.
func decodeCopy[T any, P request[T]](a *API, c *call) (P, error) {
	size := len(c.req.Body)
	if err := a.checkSize(c); err != nil {
		return nil, err
	}
	if err := a.control.acquire(c.ctx, size); err != nil {
		return nil, err
	}
	req := P(new(T))
	req.SetVersion(c.version())
	if err := req.ReadFrom(c.req.Body); err != nil {
		a.control.release(size)
		return nil, malformed(c)
	}
	return req, nil
}

func answerWith(c *call, reply func(server.Response, error), resp kmsg.Response) {
	resp.SetVersion(c.version())
	reply(kmsgResponse{resp}, nil)
}
