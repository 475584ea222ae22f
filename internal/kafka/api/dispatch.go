package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/kafka/server"
)

const keyApiVersions = 18

// Serve implements server.Handler. A key or version that is not served closes the connection, as Kafka does, since
// its answer's layout is unknown; only ApiVersions answers every version.
func (a *API) Serve(ctx context.Context, req *server.Request, reply func(server.Response, error)) {
	r := a.routes[req.Key]
	if r == nil {
		reply(nil, fmt.Errorf("serve request: unsupported api key %d version %d", req.Key, req.Version))
		return
	}
	if req.Version < r.min || req.Version > r.max {
		if req.Key == keyApiVersions {
			reply(kmsgResponse{a.apiVersionsUnsupported()}, nil)
			return
		}
		reply(nil, fmt.Errorf("serve request: unsupported version %d of %s", req.Version, r.name))
		return
	}
	r.serve(a, &call{ctx: ctx, req: req, route: r, base: a.log}, reply)
}

// decode reads a control request's body into req, which aliases the body. The caller has checked its size.
func (a *API) decode(c *call, req kmsg.Request) error {
	req.SetVersion(c.version())
	unsafe, ok := req.(interface{ UnsafeReadFrom([]byte) error })
	if !ok {
		return fmt.Errorf("decode %s: no decoder", c.route.name)
	}
	if err := unsafe.UnsafeReadFrom(c.req.Body); err != nil {
		return malformed(c)
	}
	return nil
}

// malformed is the error of a request that kmsg does not decode, whose own text speaks of a response.
func malformed(c *call) error {
	return fmt.Errorf("decode %s version %d: %w", c.route.name, c.version(), errMalformed)
}

// checkSize refuses a control request above the limit.
func (a *API) checkSize(c *call) error {
	if len(c.req.Body) > a.settings.MaxControlRequestBytes {
		return fmt.Errorf("decode %s: %d bytes exceed the limit of %d for control requests",
			c.route.name, len(c.req.Body), a.settings.MaxControlRequestBytes)
	}
	return nil
}

// kmsgResponse is an answer that kmsg encodes.
type kmsgResponse struct{ kmsg.Response }

// AppendTo appends the response header's tag section, which flexible versions have, and the body. ApiVersions has
// none in any version: a client that asks for a version cannot know yet which layout the broker knows (KIP-511).
func (r kmsgResponse) AppendTo(dst []byte) []byte {
	if r.IsFlexible() && r.Key() != keyApiVersions {
		dst = append(dst, 0)
	}
	return r.Response.AppendTo(dst)
}
