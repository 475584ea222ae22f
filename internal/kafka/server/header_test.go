package server

import "testing"

func TestUvarintTakesFiveBytesAtMost(t *testing.T) {
	for _, c := range []struct {
		in   string
		want uint32
		n    int
	}{
		{"", 0, 0},
		{"\x00\x01", 0, 1},
		{"\x7f", 127, 1},
		{"\x80\x01", 128, 2},
		{"\x80\x00", 0, 2},
		{"\x80", 0, 0},
		{"\xff\xff\xff\xff\x0f", 1<<32 - 1, 5},
		{"\x80\x80\x80\x80\x00", 0, 5},
		{"\xff\xff\xff\xff\x10", 0, 0},
		{"\x80\x80\x80\x80\x80\x00", 0, 0},
	} {
		if got, n := Uvarint([]byte(c.in)); got != c.want || n != c.n {
			t.Errorf("%x: %d in %d bytes, want %d in %d", c.in, got, n, c.want, c.n)
		}
	}
}

func TestTagsOfLongVarintsAreRefused(t *testing.T) {
	for _, tags := range []string{
		"\x80\x80\x80\x80\x80\x00",         // the count
		"\x01\x80\x80\x80\x80\x80\x00\x00", // a tag
		"\x01\x00\x80\x80\x80\x80\x80\x00", // a size
	} {
		if rest, err := skipTags([]byte(tags)); err == nil {
			t.Errorf("%x is taken, %x left", tags, rest)
		}
	}
}
