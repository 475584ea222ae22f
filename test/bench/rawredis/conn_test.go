package rawredis

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"
)

const twoEntries = "*2\r\n" +
	"*2\r\n$3\r\n7-0\r\n*4\r\n$5\r\nvalue\r\n$3\r\none\r\n$9\r\ntimestamp\r\n$1\r\n7\r\n" +
	"*2\r\n$3\r\n7-1\r\n*4\r\n$5\r\nvalue\r\n$0\r\n\r\n$9\r\ntimestamp\r\n$1\r\n7\r\n"

func reading(reply string) *Conn {
	return &Conn{in: iotest.OneByteReader(strings.NewReader(reply)), buf: make([]byte, 4)}
}

func TestEntriesAreReadHoweverTheReplyIsCut(t *testing.T) {
	n, values, next, err := reading(twoEntries).entries(nil, []byte("-"))
	if err != nil || n != 2 || string(values) != "one" || string(next) != "(7-1" {
		t.Fatalf("got %d entries, values %q, next %q, error %v", n, values, next, err)
	}
}

func TestABrokenReplyIsAnError(t *testing.T) {
	for _, reply := range []string{
		"", "*", "*x\r\n", "*1\r\n$3\r\n7-0\r\n", "$-1\r\n", "*99999999999999999999\r\n",
		"-OOM command not allowed\r\n", twoEntries[:len(twoEntries)-3],
	} {
		if _, _, _, err := reading(reply).entries(nil, nil); err == nil {
			t.Errorf("reply %q was accepted", reply)
		}
	}
}

func TestCommandsAreEncodedAsArraysOfBulkStrings(t *testing.T) {
	got := appendCommand(nil, "XRANGE", "s", "-")
	if want := []byte("*3\r\n$6\r\nXRANGE\r\n$1\r\ns\r\n$1\r\n-\r\n"); !bytes.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func FuzzEntries(f *testing.F) {
	f.Add([]byte(twoEntries))
	f.Add([]byte("*1\r\n*2\r\n$1\r\n1\r\n*-1\r\n"))
	f.Add([]byte("-ERR no\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		c := &Conn{in: bytes.NewReader(reply), buf: make([]byte, 16)}
		n, values, _, err := c.entries(nil, []byte("-"))
		if err == nil && (n > len(reply) || len(values) > len(reply)) {
			t.Fatalf("%d entries and %d bytes out of %d", n, len(values), len(reply))
		}
		if len(c.buf) > 2*len(reply)+16 {
			t.Fatalf("a buffer of %d bytes for a reply of %d", len(c.buf), len(reply))
		}
	})
}
