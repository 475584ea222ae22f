package record

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestAppendTimeIsTheLastHeader(t *testing.T) {
	one := AppendHeader(binary.AppendVarint(nil, 1), "a", nil)
	for name, headers := range map[string][]byte{"none": nil, "empty": {0}, "one": one, "damaged": {0x80}, "negative": {1}} {
		want := binary.AppendVarint(nil, 1)
		if name == "one" {
			want = append(binary.AppendVarint(nil, 2), one[1:]...)
		}
		want = AppendHeader(want, AppendTimeHeader, []byte("1700000000123"))
		if got := WithAppendTime([]byte("x"), headers, 1_700_000_000_123); !bytes.Equal(got, append([]byte("x"), want...)) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func FuzzWithAppendTime(f *testing.F) {
	f.Add([]byte{2, 2, 'a', 1}, int64(5))
	f.Fuzz(func(t *testing.T, headers []byte, ms int64) {
		count, n := binary.Varint(headers)
		got, _ := binary.Varint(WithAppendTime(nil, headers, ms))
		if n > 0 && count >= 0 && count+1 > 0 && got != count+1 || got < 1 && count+1 > 0 {
			t.Errorf("%d headers became %d", count, got)
		}
	})
}
