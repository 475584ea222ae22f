package api

import (
	"errors"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// produceResponse encodes a finished Produce request's answer.
type produceResponse produceCall

// Failed implements server.Failed.
func (p *produceResponse) Failed() bool {
	for i := range p.partitions {
		if p.partitions[i].err != nil {
			return true
		}
	}
	return false
}

// AppendTo implements server.Response.
func (p *produceResponse) AppendTo(dst []byte) []byte {
	version := p.call.version()
	flexible := version >= 9
	dst = noTags(dst, flexible) // the response header's
	dst = appendArrayLen(dst, p.answeredTopics(), flexible)
	var leaders leaderHints
	for i, at := 0, 0; i < len(p.topics); i++ {
		t := &p.topics[i]
		parts := p.partitions[at : at+t.count]
		at += t.count
		answers := answeredPartitions(parts)
		if answers == 0 {
			continue
		}
		if version >= 13 {
			dst = append(dst, t.id[:]...)
		} else {
			dst = appendString(dst, string(t.name), flexible)
		}
		dst = appendArrayLen(dst, answers, flexible)
		for j := range parts {
			if !parts[j].dropped {
				dst = p.appendPartition(dst, &parts[j], version, &leaders)
			}
		}
		dst = noTags(dst, flexible)
	}
	if version >= 1 {
		dst = appendInt32(dst, 0) // throttle time in ms
	}
	if flexible {
		dst = leaders.appendEndpoints(dst)
	}
	return dst
}

// answeredTopics counts the topics of the answer: those with a partition that was not named again later.
func (p *produceResponse) answeredTopics() int {
	n := 0
	for i, at := 0, 0; i < len(p.topics); i++ {
		if answeredPartitions(p.partitions[at:at+p.topics[i].count]) > 0 {
			n++
		}
		at += p.topics[i].count
	}
	return n
}

func answeredPartitions(parts []producePartition) int {
	n := 0
	for i := range parts {
		if !parts[i].dropped {
			n++
		}
	}
	return n
}

func (p *produceResponse) appendPartition(dst []byte, part *producePartition, version int16, leaders *leaderHints) []byte {
	flexible := version >= 9
	dst = appendInt32(dst, part.index)
	dst = appendInt16(dst, errorCode(part.err))
	dst = appendInt64(dst, part.result.BaseOffset)
	if version >= 2 {
		dst = appendInt64(dst, part.result.AppendTime)
	}
	if version >= 5 {
		dst = appendInt64(dst, part.result.LogStartOffset)
	}
	if version >= 8 {
		dst = appendRecordErrors(dst, part.err, flexible)
		dst = appendNullableString(dst, errorMessage(part.err), flexible)
	}
	if !flexible {
		return dst
	}
	if version >= 10 && errors.Is(part.err, partition.ErrNotLeader) {
		if h, ok := p.api.leaderHint(part.view, part.index); ok {
			dst = appendUvarint(dst, 1)
			return leaders.append(dst, 0, h)
		}
	}
	return append(dst, 0)
}

func appendRecordErrors(dst []byte, err error, flexible bool) []byte {
	indexes, reason := recordErrors(err)
	dst = appendArrayLen(dst, len(indexes), flexible)
	for _, i := range indexes {
		dst = appendInt32(dst, i)
		dst = appendNullableString(dst, &reason, flexible)
		dst = noTags(dst, flexible)
	}
	return dst
}

// leaderHint is where a partition is led now (KIP-951).
type leaderHint struct {
	node  metadata.Node
	epoch int32
}

// leaderHint returns the partition's leader when it is another broker whose epoch is known: otherwise the client learns
// nothing from it.
func (a *API) leaderHint(v *topicView, p int32) (leaderHint, bool) {
	nodes := a.cluster.Nodes()
	id, ok := metadata.Leader(nodes, v.ID, p)
	epoch := a.epochs.LeaderEpoch(v.ref(p))
	if !ok || epoch < 0 || id == a.cluster.Self().ID {
		return leaderHint{}, false
	}
	for _, n := range nodes {
		if n.ID == id {
			return leaderHint{node: n, epoch: epoch}, true
		}
	}
	return leaderHint{}, false
}

// leaderHints collects the brokers that an answer's hints name.
type leaderHints struct{ nodes []metadata.Node }

// append appends the tagged field CurrentLeader, whose number is tag.
func (l *leaderHints) append(dst []byte, tag int, h leaderHint) []byte {
	known := false
	for _, n := range l.nodes {
		known = known || n.ID == h.node.ID
	}
	if !known {
		l.nodes = append(l.nodes, h.node)
	}
	dst = appendUvarint(dst, tag)
	dst = appendUvarint(dst, 4+4+1)
	dst = appendInt32(dst, h.node.ID)
	dst = appendInt32(dst, h.epoch)
	return append(dst, 0)
}

// appendEndpoints ends an answer with the tagged field NodeEndpoints (0), if any hint was given.
func (l *leaderHints) appendEndpoints(dst []byte) []byte {
	if len(l.nodes) == 0 {
		return append(dst, 0)
	}
	field := appendArrayLen(nil, len(l.nodes), true)
	for _, n := range l.nodes {
		field = appendInt32(field, n.ID)
		field = appendString(field, n.Host, true)
		field = appendInt32(field, n.Port)
		field = appendNullableString(field, nil, true) // rack
		field = append(field, 0)
	}
	dst = appendUvarint(dst, 1)
	dst = appendUvarint(dst, 0)
	dst = appendUvarint(dst, len(field))
	return append(dst, field...)
}
