package compress

import (
	"bytes"
	"testing"
)

const fuzzLimit = 1 << 20

// Whatever bytes a value has, decoding it ends, within its limit, in a value or an error.
func FuzzDecode(f *testing.F) {
	d := dictionary(f, 5)
	for _, c := range codecs {
		f.Add(uint8(c), c.Append(nil, event(1), d))
		f.Add(uint8(c), c.Append(nil, noise(50), nil))
	}
	f.Add(uint8(Zstd), []byte("\x28\xb5\x2f\xfd\xa0\xff\xff\xff\x7f\x01\x00\x00"))
	f.Add(uint8(Zstd), []byte("\x50\x2a\x4d\x18\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, codec uint8, frame []byte) {
		c := Codec(codec % uint8(len(codecs)))
		got, err := c.Decode(nil, frame, fuzzLimit, d)
		if len(got) > fuzzLimit {
			t.Fatalf("%s: %d bytes, %v", c, len(got), err)
		}
		if size, unknown := FrameSize(frame); unknown == nil && err == nil && c == Zstd && size != len(got) {
			t.Fatalf("%d bytes, and the header says %d", len(got), size)
		}
		if err == nil && c != None && len(got) > 0 {
			again, err := c.Decode(nil, c.Append(nil, got, d), fuzzLimit, d)
			if err != nil || !bytes.Equal(again, got) {
				t.Fatalf("%s: what was decoded does not come back: %v", c, err)
			}
		}
	})
}

// Whatever bytes a dictionary has, reading and using it ends in a value or an error.
func FuzzDictionary(f *testing.F) {
	good := dictionary(f, 5).Blob()
	f.Add(good)
	f.Add(good[:100])
	f.Add([]byte("\x37\xa4\x30\xec\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, blob []byte) {
		d, err := NewDictionary(blob)
		if err != nil {
			return
		}
		got, err := Zstd.Decode(nil, Zstd.Append(nil, event(1), d), fuzzLimit, d)
		if err != nil || !bytes.Equal(got, event(1)) {
			t.Fatalf("%q, %v", got, err)
		}
	})
}
