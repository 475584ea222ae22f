package server

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	prefixLen = 4
	// largeFrame is the size from which on a frame needs room in the budget for large frames before it is read, and from
	// which on its memory grows as its bytes arrive.
	largeFrame = 1 << 20
	// minFrame is a request header without client id.
	minFrame = 10
)

// sizeError is a size prefix outside the bounds.
type sizeError struct {
	size uint32
	max  int
}

func (e *sizeError) Error() string {
	hint := ""
	switch {
	case e.size>>24 == 0x16:
		hint = " (the client seems to speak TLS)"
	case e.size == 'G'<<24|'E'<<16|'T'<<8|' ' || e.size == 'P'<<24|'O'<<16|'S'<<8|'T' || e.size == 'H'<<24|'E'<<16|'A'<<8|'D':
		hint = " (the client seems to speak HTTP)"
	}
	return fmt.Sprintf("frame of %d bytes is outside the bounds of %d to %d%s", int32(e.size), minFrame, e.max, hint)
}

// readSize reads a frame's size prefix.
func readSize(r *bufio.Reader, max int) (int, error) {
	b, err := r.Peek(prefixLen)
	if err != nil {
		if err == io.EOF && len(b) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	size := binary.BigEndian.Uint32(b)
	if size < minFrame || uint64(size) > uint64(max) {
		return 0, &sizeError{size: size, max: max}
	}
	_, err = r.Discard(prefixLen)
	return int(size), err
}

// bodyGrowth is how many times what has arrived readBody allocates: enough that little is copied twice, and little enough
// that a claim of a size alone costs no memory.
const bodyGrowth = 8

// readBody reads size bytes into memory of its own. What it allocates is at most bodyGrowth times what has arrived, or
// largeFrame.
func readBody(r io.Reader, size int) ([]byte, error) {
	body := make([]byte, min(size, largeFrame))
	for have := 0; ; {
		n, err := io.ReadFull(r, body[have:])
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		have += n
		if have == size {
			return body, nil
		}
		grown := make([]byte, min(size, bodyGrowth*have))
		copy(grown, body)
		body = grown
	}
}
