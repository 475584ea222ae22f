package redisstream

import "strconv"

// Keys are the names of one partition's keys. All hash to one slot: the stream's plain name is hashed whole, the others
// carry it in braces.
type Keys struct {
	Stream       string // always the open segment
	Leader       string // hash: owner, token, topic, epoch; as a tombstone: deleted, floor
	Segments     string // hash: the registry
	Epochs       string // hash: leader epoch -> last sequence before it
	Copy         string // stream: what compaction writes anew, until it takes the place of the original
	Dictionaries string // hash: zstd dictionary id -> blob, of the frames in the streams
	prefix       string
}

// NewKeys names the keys of a topic's partition. Topic names have neither colons nor braces.
func NewKeys(namespace, topic string, partition int32) Keys {
	stream := namespace + ":storage:local:" + topic + ":" + strconv.Itoa(int(partition))
	tag := "{" + stream + "}"
	prefix := namespace + ":storage:"
	return Keys{
		Stream:       stream,
		Leader:       prefix + "leader:" + tag,
		Segments:     prefix + "segments:" + tag,
		Epochs:       prefix + "epochs:" + tag,
		Copy:         prefix + "compact:" + tag,
		Dictionaries: prefix + "zdict:" + tag,
		prefix:       prefix,
	}
}

// State is the hash that appends under token write beside records: exp, last, producers, time index.
func (k Keys) State(token string) string {
	return k.prefix + "state:{" + k.Stream + "}:" + token
}

// Segment is the stream of sealed segment n.
func (k Keys) Segment(n int64) string {
	return k.prefix + "segment:{" + k.Stream + "}:" + strconv.FormatInt(n, 10)
}

// Times is the time index of sealed segment n.
func (k Keys) Times(n int64) string {
	return k.prefix + "times:{" + k.Stream + "}:" + strconv.FormatInt(n, 10)
}
