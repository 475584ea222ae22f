package server

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"testing"
)

func FuzzFrame(f *testing.F) {
	f.Add(frame(1, "body"))
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 10, 1, 2})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(append(frame(1, "two"), frame(2, "frames")...))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 16
		r := bufio.NewReader(bytes.NewReader(in))
		for rest := in; ; {
			size, err := readSize(r, limit)
			if err != nil {
				return
			}
			if size < minFrame || size > limit || uint32(size) != binary.BigEndian.Uint32(rest) {
				t.Fatalf("size %d of prefix %x", size, rest[:prefixLen])
			}
			body, err := readBody(r, size)
			if err != nil {
				return
			}
			rest = rest[prefixLen:]
			if !bytes.Equal(body, rest[:size]) {
				t.Fatal("body differs from what was sent")
			}
			rest = rest[size:]
		}
	})
}

func FuzzRequestHeader(f *testing.F) {
	flexible := newFlexibleFrom()
	f.Add(frame(1, "body")[prefixLen:])
	f.Add([]byte{0, 18, 0, 3, 0, 0, 0, 7, 0, 1, 'c', 0, 2, 'a', 2, '1', 0})
	f.Add([]byte{0, 18, 0, 3, 0, 0, 0, 7, 0xff, 0xff, 2, 0, 1, 'x', 9, 0})
	f.Add([]byte{0, 3, 0, 12, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{0x7f, 0xff, 0x7f, 0xff, 0, 0, 0, 7, 0x80, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		h, body, err := parseHeader(in, flexible)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(in, body) {
			t.Fatal("the body is not the end of the frame")
		}
		if len(body)+len(h.clientID)+10 > len(in) {
			t.Fatal("client id and body overlap")
		}
		if flexible.flexible(h.key, h.version) && len(body)+len(h.clientID)+10 == len(in) {
			t.Fatal("a flexible header has no tag section")
		}
	})
}

func TestFlexibleHeaderVersions(t *testing.T) {
	flexible := newFlexibleFrom()
	for _, c := range []struct {
		key, version int16
		want         bool
	}{
		{0, 8, false}, {0, 9, true}, {1, 11, false}, {1, 12, true}, {3, 8, false}, {3, 9, true},
		{18, 2, false}, {18, 3, true}, {18, 127, true}, {-1, 0, false}, {999, 9, false}, {23, 3, false}, {23, 4, true},
		{17, 1, false}, // SaslHandshake never is
	} {
		if got := flexible.flexible(c.key, c.version); got != c.want {
			t.Errorf("key %d version %d: flexible header %v, want %v", c.key, c.version, got, c.want)
		}
	}
}
