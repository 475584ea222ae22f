package api

import (
	"context"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/group"
)

// allGroupOperations is what clients may do with groups where no ACLs are configured, as bits of the operations' numbers.
const allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// text is a string that may be null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// given is a string that is null when empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// checkGroupID refuses the empty group id where members are concerned. Offsets may be committed under it, as in Kafka.
func checkGroupID(name string) error {
	if name == "" {
		return group.ErrInvalidGroupID
	}
	return nil
}

// clientOf tells who sent a request, as Kafka shows it.
func clientOf(c *call) group.Client {
	host := c.req.Conn.Remote.String()
	if tcp, ok := c.req.Conn.Remote.(*net.TCPAddr); ok {
		host = tcp.IP.String()
	}
	return group.Client{ID: c.req.ClientID, Host: "/" + host}
}

// groupErrorCode is errorCode for what a coordinator answers. After this code clients look for the coordinator and try
// again; those that Kafka does not answer here would end some of them.
func groupErrorCode(err error) int16 {
	switch code := errorCode(err); code {
	case kerr.RequestTimedOut.Code, kerr.KafkaStorageError.Code:
		return kerr.CoordinatorNotAvailable.Code
	default:
		return code
	}
}

// groupFailed is failed for answers that may come when nobody is there to take them any more.
func (a *API) groupFailed(c *call, operation string, err error) {
	if c.ctx.Err() == nil {
		a.failed(c, operation, err)
	}
}

// orDraining makes the done of a request that waits for other members. It passes the first value on to answer, which is
// gaveUp when the broker stops before there is another.
func orDraining[T any](c *call, gaveUp T, answer func(T)) (done func(T)) {
	var once sync.Once
	first := func(v T) { once.Do(func() { answer(v) }) }
	undrain := context.AfterFunc(c.req.Conn.Draining, func() { first(gaveUp) })
	return func(v T) {
		undrain()
		first(v)
	}
}

// distinct returns the names, each once, in the order in which they come first.
func distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	var list []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// eachInParallel calls do for each name and its index, some at a time.
func eachInParallel(names []string, do func(i int, name string)) {
	if len(names) == 0 {
		return
	}
	work := make([]func(), len(names))
	for i, name := range names {
		work[i] = func() { do(i, name) }
	}
	inParallel(work)
}
