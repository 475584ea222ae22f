package server

import (
	"encoding/binary"
	"net"
	"sync"
)

// writeChunk bounds one write, so that a slow client's progress is seen.
const writeChunk = 256 << 10

// keepOut is the largest encoding buffer that is kept for reuse.
const keepOut = 64 << 10

// outBuffer is what goes out in one round of writing: answers encoded one behind the other in bytes, and between
// them the buffers of those that were encoded already.
type outBuffer struct {
	bytes []byte
	run   int         // bytes from here on are not in parts yet
	parts net.Buffers // in order
	vec   net.Buffers // the part of parts that is being written
}

var outBuffers = sync.Pool{New: func() any { return &outBuffer{bytes: make([]byte, 0, 4<<10)} }}

func (o *outBuffer) free() {
	if cap(o.bytes) > keepOut {
		return
	}
	clear(o.parts)
	clear(o.vec[:cap(o.vec)])
	o.bytes, o.run, o.parts, o.vec = o.bytes[:0], 0, o.parts[:0], o.vec[:0]
	outBuffers.Put(o)
}

// writeBatch encodes the answers and writes them with as few calls as possible. It reports whether that worked.
func (a *answers) writeBatch(batch []*answer) bool {
	out := outBuffers.Get().(*outBuffer)
	defer out.free()
	for _, p := range batch {
		if p.resp != nil {
			a.conn.srv.metrics.Frame(DirectionOut, p.key, out.add(p))
		}
	}
	err := out.writeTo(a.conn)
	now := a.conn.srv.now()
	a.conn.lastActive.Store(now.UnixNano())
	for _, p := range batch {
		if err == nil {
			a.conn.srv.metrics.Request(p.key, p.result(), now.Sub(p.began))
		}
		p.release()
	}
	if err != nil {
		a.conn.log().Debug("connection lost", "error", err)
		a.conn.srv.metrics.Failure("write", "network")
	}
	return err == nil
}

func (p *answer) result() string {
	if p.resp == nil {
		return ResultNone
	}
	if f, ok := p.resp.(Failed); ok && f.Failed() {
		return ResultError
	}
	return ResultOk
}

// add appends an answer's frame and returns its size.
func (o *outBuffer) add(p *answer) int {
	start := len(o.bytes)
	o.bytes = append(o.bytes, 0, 0, 0, 0)
	o.bytes = binary.BigEndian.AppendUint32(o.bytes, uint32(p.correlationID))
	e, encoded := p.resp.(Encoded)
	if !encoded {
		o.bytes = p.resp.AppendTo(o.bytes)
	}
	size := len(o.bytes) - start + int(p.unsent)
	binary.BigEndian.PutUint32(o.bytes[start:], uint32(size-prefixLen))
	if encoded {
		o.endRun()
		o.parts = append(o.parts, e.Buffers()...)
	}
	return size
}

// endRun makes a part of the bytes encoded since the last part.
func (o *outBuffer) endRun() {
	if o.run < len(o.bytes) {
		o.parts = append(o.parts, o.bytes[o.run:])
		o.run = len(o.bytes)
	}
}

// writeTo writes everything in chunks, telling the watchdog when each began.
func (o *outBuffer) writeTo(c *conn) error {
	o.endRun()
	defer c.writeSince.Store(0)
	for parts := o.parts; len(parts) > 0; {
		o.vec, parts = nextChunk(o.vec[:0], parts)
		c.writeSince.Store(c.srv.now().UnixNano())
		vec := o.vec
		if len(vec) == 1 {
			if _, err := c.nc.Write(vec[0]); err != nil {
				return err
			}
			continue
		}
		_, err := o.vec.WriteTo(c.nc)
		o.vec = vec // WriteTo moves it on
		if err != nil {
			return err
		}
	}
	return nil
}

// nextChunk moves up to writeChunk bytes from parts to vec. It shortens a part that it splits.
func nextChunk(vec, parts net.Buffers) (net.Buffers, net.Buffers) {
	for room := writeChunk; len(parts) > 0 && room > 0; {
		part := parts[0]
		if len(part) > room {
			parts[0] = part[room:]
			return append(vec, part[:room]), parts
		}
		vec = append(vec, part)
		room -= len(part)
		parts = parts[1:]
	}
	return vec, parts
}
