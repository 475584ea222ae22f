package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience bounds every read so that a broker that never answers fails a test instead of hanging it.
const patience = 15 * time.Second

// errClosed tells that the broker closed the connection instead of answering.
var errClosed = errors.New("connection closed by the broker")

// conn is a connection that speaks frames. It is used by one goroutine.
type conn struct {
	t    *testing.T
	to   *target
	nc   net.Conn
	next int32 // correlation id of the next request
}

// dial connects to the broker under test; the connection is closed when the test ends.
func dial(t *testing.T, to *target) *conn {
	t.Helper()
	nc, err := net.DialTimeout("tcp", to.addr, patience)
	if err != nil {
		t.Fatalf("dial broker: %v", err)
	}
	t.Cleanup(func() { nc.Close() })
	return &conn{t: t, to: to, nc: nc, next: 1}
}

// another opens one more connection to the same broker.
func (c *conn) another() *conn {
	c.t.Helper()
	return dial(c.t, c.to)
}

// write sends bytes as they are. A failure is not reported: a broker may close while we still write, and the read tells.
func (c *conn) write(b []byte) { _, _ = c.nc.Write(b) }

// writeHex sends a frame written as in a protocol trace; blanks do not count.
func (c *conn) writeHex(s string) {
	c.t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		c.t.Fatalf("decode hex frame: %v", err)
	}
	c.write(b)
}

// readFrame returns the next frame without its length, or errClosed.
func (c *conn) readFrame() ([]byte, error) {
	return c.readFrameWithin(patience)
}

func (c *conn) readFrameWithin(d time.Duration) ([]byte, error) {
	if err := c.nc.SetReadDeadline(time.Now().Add(d)); err != nil {
		return nil, fmt.Errorf("set read deadline: %w", err)
	}
	var size [4]byte
	if _, err := io.ReadFull(c.nc, size[:]); err != nil {
		return nil, readError(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > 256<<20 {
		return nil, fmt.Errorf("frame length %d", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c.nc, frame); err != nil {
		return nil, readError(err)
	}
	return frame, nil
}

func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errClosed
	}
	return fmt.Errorf("read frame: %w", err)
}

// frame encodes a request with its length and header.
func (c *conn) frame(req kmsg.Request) ([]byte, int32) {
	id := c.next
	c.next++
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("conformance"))
	return f.AppendRequest(nil, req, id), id
}

// send writes a request and returns its correlation id.
func (c *conn) send(req kmsg.Request) int32 {
	b, id := c.frame(req)
	c.write(b)
	return id
}

// receive reads the answer to the request of that correlation id and checks that it is exactly that answer.
func (c *conn) receive(req kmsg.Request, id int32) (kmsg.Response, error) {
	frame, err := c.readFrame()
	if err != nil {
		return nil, err
	}
	return decode(req, id, frame)
}

// try sends a request and reads its answer.
func (c *conn) try(req kmsg.Request) (kmsg.Response, error) {
	return c.receive(req, c.send(req))
}

// ask is try for requests that must be answered.
func ask[R kmsg.Response](c *conn, req kmsg.Request) R {
	c.t.Helper()
	resp, err := c.try(req)
	if err != nil {
		c.t.Fatalf("%T v%d: %v", req, req.GetVersion(), err)
	}
	return resp.(R)
}

// decode parses an answer and demands that every byte of the frame is accounted for: what was parsed must encode to the
// same bytes again.
func decode(req kmsg.Request, id int32, frame []byte) (kmsg.Response, error) {
	if got := int32(binary.BigEndian.Uint32(frame)); got != id {
		return nil, fmt.Errorf("correlation id %d, want %d", got, id)
	}
	body := frame[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("response header has no empty tag section: % x", body[:min(8, len(body))])
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("parse answer % x: %w", body[:min(64, len(body))], err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		return nil, fmt.Errorf("answer is not exactly a %T v%d:\n got % x\nwant % x", resp, resp.GetVersion(), head(body), head(again))
	}
	return resp, nil
}

func head(b []byte) []byte { return b[:min(256, len(b))] }

// closed tells whether the broker closes the connection without sending a frame first.
func (c *conn) closed() bool {
	_, err := c.readFrame()
	return errors.Is(err, errClosed)
}

// silent tells whether nothing arrives for a while. It can only ever prove the contrary, so the while is short.
func (c *conn) silent() bool {
	_, err := c.readFrameWithin(300 * time.Millisecond)
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// alive tells whether the connection still serves requests.
func (c *conn) alive() bool {
	_, err := c.try(apiVersions(0))
	return err == nil
}

func apiVersions(version int16) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = version
	req.ClientSoftwareName = "conformance"
	req.ClientSoftwareVersion = "1"
	return req
}
