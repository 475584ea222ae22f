package resp

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"
)

// FuzzValue reads arbitrary bytes as replies: whole, one byte at a time, and cut in two. What comes out must not depend on
// how the bytes arrive, and must never be more than the bytes that made it.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR no\r\n", ":12\r\n", ":-1\r\n", "$3\r\nabc\r\n", "$0\r\n\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n",
		"*2\r\n$1\r\na\r\n*1\r\n:5\r\n", "*9999999\r\n", "$99999999999\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
		"$3\r\nabcXY", "\r\n", "?\r\n", "$abc\r\n", ":\r\n", "+\n", "$-2\r\n", "*1048576\r\n",
	} {
		f.Add([]byte(seed), uint16(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		whole, wholeErr := values(bytes.NewReader(data))
		single, singleErr := values(iotest.OneByteReader(bytes.NewReader(data)))
		k := int(cut) % (len(data) + 1)
		halves, halvesErr := values(io.MultiReader(bytes.NewReader(data[:k]), bytes.NewReader(data[k:])))
		for _, other := range [][]Value{single, halves} {
			if !reflect.DeepEqual(whole, other) {
				t.Fatalf("replies %v at once, %v in pieces", whole, other)
			}
		}
		if errors.Is(wholeErr, ErrProtocol) != errors.Is(singleErr, ErrProtocol) || errors.Is(wholeErr, ErrProtocol) != errors.Is(halvesErr, ErrProtocol) {
			t.Fatalf("errors: %v at once, %v by the byte, %v in halves", wholeErr, singleErr, halvesErr)
		}
		size := 0
		for _, v := range whole {
			size += weight(v)
		}
		if size > len(data) {
			t.Fatalf("%d bytes gave replies of %d", len(data), size)
		}
	})
}

// values reads replies until the first error.
func values(src io.Reader) (all []Value, err error) {
	r := NewReader(src)
	for {
		v, err := r.Value()
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

// weight counts the bytes of a reply's strings and one for each element.
func weight(v Value) int {
	n := 1 + len(v.Str)
	for _, e := range v.Elems {
		n += weight(e)
	}
	return n
}
