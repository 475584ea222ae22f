package clients_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// client is a real Kafka client, driven through its own public interface.
type client struct {
	name string
	// version tells what is being run.
	version func(context.Context) (string, error)
	// produce sends the records in order and returns the offset of each as the client reports it, -1 where it does not. Nil: it cannot.
	produce func(context.Context, produceRequest) ([]int64, error)
	// consume reads count records from the start of the partition, without a group where the client can.
	consume func(ctx context.Context, topic string, partition int32, count int) ([]record, error)
	// seen is how a record looks in what consume returns, for clients that show less than is there. Nil: as it is.
	seen func(record) record
	// shows says in words what seen does and what else the client does not show.
	shows string
	// lacks says why the client cannot do a feature, by the feature's name.
	lacks map[string]string
	// lacksTraits says why the client cannot send some records.
	lacksTraits map[trait]string
	// since seeks by time. Nil: it cannot.
	since sinceFunc
	// admin makes administrative calls.
	admin adminFunc
	// lacksAdmin says why the client cannot make a call, by its verb.
	lacksAdmin map[string]string
	// member starts members of groups.
	member memberProgram
	// lacksConsumerProtocol says why the client cannot be a member by the consumer protocol. Empty: it can.
	lacksConsumerProtocol string
	// manyPrograms is set for a client that starts several programs for one produce: with acks=0 their records may overtake each other.
	manyPrograms bool
	// startsSlowly is set for a client that takes seconds to read anything: it is spared the topics that differ from others only in their timestamps.
	startsSlowly bool
}

// produceRequest is one use of a producer.
type produceRequest struct {
	topic   string
	records []record
	// codec is none, gzip, snappy, lz4 or zstd.
	codec string
	// acks is 0, 1 or all.
	acks string
	// idempotent asks for an idempotent producer.
	idempotent bool
	// oldFormat asks for the message format of Kafka 0.9 (message set v0) or 0.10 (v1). Empty: record batches.
	oldFormat string
}

const (
	messageSetV0 = "0.9"
	messageSetV1 = "0.10"
)

// cannot is the set of traits that the client cannot send.
func (c *client) cannot() trait {
	var set trait
	for t := range c.lacksTraits {
		set |= t
	}
	return set
}

// unknownOffsets is the answer of a client that does not report offsets.
func unknownOffsets(n int) []int64 {
	offsets := make([]int64, n)
	for i := range offsets {
		offsets[i] = -1
	}
	return offsets
}

// moduleVersion tells the version of a Go module that this test is built with.
func moduleVersion(module string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module).Output()
		if err != nil {
			return "", fmt.Errorf("find version of %s: %w", module, err)
		}
		return strings.TrimSpace(string(out)), nil
	}
}
