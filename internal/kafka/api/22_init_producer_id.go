package api

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId (key 22), versions 0 to 5, for idempotent producers (KIP-98). v3 may name an id and epoch to go on from
// (KIP-360), which as in Kafka counts only with a transactional id: the answer is a new id. Transactional ids are
// refused; v4 and v5 differ from v3 only for them.

func (a *API) initProducerID(c *call, req *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	id, err := a.newProducerID(c, req)
	if err != nil {
		a.failed(c, "init_producer_id", err)
		// The answer has no place for the reason.
		c.log().Warn("refusing a producer", "error", err)
		resp.ErrorCode = errorCode(err)
		return resp
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp
}

func (a *API) newProducerID(c *call, req *kmsg.InitProducerIDRequest) (int64, error) {
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "":
		return 0, refuse(kerr.InvalidRequest, "transactional id is empty")
	case c.version() >= 3 && (req.ProducerID == -1) != (req.ProducerEpoch == -1):
		return 0, refuse(kerr.InvalidRequest, "producer id %d with epoch %d", req.ProducerID, req.ProducerEpoch)
	case req.TransactionalID != nil:
		return 0, errTransactions
	}
	var random [3]byte
	if _, err := io.ReadFull(a.random, random[:]); err != nil {
		return 0, fmt.Errorf("make producer id: %w", err)
	}
	// 39 bits of ms since the epoch's last wrap (17 years) and 24 random bits: no counter, which a failover of Redis could
	// set back. Two brokers would have to draw the same bits in the same ms.
	bits := uint64(a.now().UnixMilli())<<24 | uint64(binary.BigEndian.Uint16(random[:]))<<8 | uint64(random[2])
	return int64(bits & (1<<63 - 1)), nil
}
