package clients_test

// feature is one use of a producer that every client is tried at.
type feature struct {
	name string
	// runs are the produces that make up the feature, one after the other.
	runs []produceRequest
	// topic says on which of the client's topics the records go.
	topic topicKind
	// bulk sends the data set instead of the edge cases.
	bulk bool
}

type topicKind string

const (
	createTopic topicKind = "create" // message.timestamp.type=CreateTime
	appendTopic topicKind = "append" // message.timestamp.type=LogAppendTime
	autoTopic   topicKind = "auto"   // not created beforehand
	bigTopic    topicKind = "big"    // max.message.bytes=8000000
)

// Names of features that clients refer to.
const (
	rawSnappy    = "snappy, raw"
	xerialSnappy = "snappy, xerial framing"
	messageSet0  = "message set v0: none, gzip, snappy"
	messageSet1  = "message set v1: none, gzip, snappy, lz4"
	bulkFeature  = "flights in big batches"
	bigFeature   = "message of 3 MB"
)

// features are in the order of the table in docs/clients.md. The two framings of snappy are the same request: which one a client writes is its own.
func features() []feature {
	run := func(codec, acks string) produceRequest { return produceRequest{codec: codec, acks: acks} }
	idempotent := run("lz4", "all")
	idempotent.idempotent = true
	return []feature{
		{name: "none", runs: []produceRequest{run("none", "all")}, topic: createTopic},
		{name: "gzip", runs: []produceRequest{run("gzip", "all")}, topic: createTopic},
		{name: rawSnappy, runs: []produceRequest{run("snappy", "all")}, topic: createTopic},
		{name: xerialSnappy, runs: []produceRequest{run("snappy", "all")}, topic: createTopic},
		{name: "lz4", runs: []produceRequest{run("lz4", "all")}, topic: createTopic},
		{name: "zstd", runs: []produceRequest{run("zstd", "all")}, topic: createTopic},
		{name: "acks=0", runs: []produceRequest{run("none", "0")}, topic: createTopic},
		{name: "acks=1", runs: []produceRequest{run("gzip", "1")}, topic: createTopic},
		{name: "idempotent", runs: []produceRequest{idempotent}, topic: createTopic},
		{name: "LogAppendTime", runs: []produceRequest{run("none", "all"), run("zstd", "all")}, topic: appendTopic},
		{name: "topic created by producing", runs: []produceRequest{run("none", "all")}, topic: autoTopic},
		{name: bulkFeature, runs: []produceRequest{run("", "all")}, topic: createTopic, bulk: true},
		{name: bigFeature, runs: []produceRequest{run("none", "all")}, topic: bigTopic},
		{name: messageSet0, runs: oldRuns(messageSetV0, "none", "gzip", "snappy"), topic: createTopic},
		{name: messageSet1, runs: oldRuns(messageSetV1, "none", "gzip", "snappy", "lz4"), topic: createTopic},
	}
}

func oldRuns(format string, codecs ...string) []produceRequest {
	runs := make([]produceRequest, len(codecs))
	for i, codec := range codecs {
		runs[i] = produceRequest{codec: codec, acks: "all", oldFormat: format}
	}
	return runs
}

// bulkCodec spreads the codecs over the clients.
func bulkCodec(client int) string {
	codecs := []string{"zstd", "lz4", "none", "snappy", "gzip"}
	return codecs[client%len(codecs)]
}

// data are the records of one run of a feature.
func (f feature) data(c *client, r produceRequest, flights []record) []record {
	cannot := c.cannot()
	switch {
	case f.bulk:
		return bulk(flights, cannot)
	case f.topic == bigTopic:
		return big(cannot)
	case r.acks == "0" && c.manyPrograms:
		return edgeRecords(cannot | anyTrait)
	case f.topic == autoTopic: // with settings of the broker's choice, which may delete records of 2013
		return withoutTimestamps(edgeRecords(cannot))
	case r.oldFormat == messageSetV0: // it has no timestamps
		return withoutTimestamps(edgeRecords(cannot | headers))
	case r.oldFormat == messageSetV1:
		return edgeRecords(cannot | headers)
	}
	return edgeRecords(cannot)
}

func withoutTimestamps(records []record) []record {
	for i := range records {
		records[i].timestamp = noTimestamp
	}
	return records
}
