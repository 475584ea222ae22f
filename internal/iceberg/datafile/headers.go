package datafile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/korvet-io/korvet/internal/record"
)

// hexPrefix marks header keys that are no UTF-8: Parquet's STRING has to be, and engines refuse the whole file otherwise. A key
// that begins with the prefix is written so, too, so that each is read back as it was.
const hexPrefix = "hex:"

func encodeHeaderKey(key []byte) []byte {
	if utf8.Valid(key) && !strings.HasPrefix(string(key), hexPrefix) {
		return key
	}
	return hex.AppendEncode([]byte(hexPrefix), key)
}

// decodeHeaderKey takes what is not as encodeHeaderKey writes it for a plain key.
func decodeHeaderKey(key []byte) []byte {
	digits, found := strings.CutPrefix(string(key), hexPrefix)
	if !found {
		return key
	}
	plain, err := hex.DecodeString(digits)
	if err != nil {
		return key
	}
	return plain
}

var errHeaders = errors.New("malformed header section")

// eachHeader walks the header section of a record batch v2.
func eachHeader(section []byte, do func(key, value []byte)) error {
	if len(section) == 0 {
		return nil
	}
	count, section, ok := varint(section)
	if !ok || count < 0 {
		return errHeaders
	}
	for range count {
		var key, value []byte
		if key, section, ok = bytesOf(section); !ok || key == nil {
			return errHeaders
		}
		if value, section, ok = bytesOf(section); !ok {
			return errHeaders
		}
		do(key, value)
	}
	if len(section) != 0 {
		return errHeaders
	}
	return nil
}

func varint(b []byte) (int64, []byte, bool) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// bytesOf takes a length and so many bytes; -1 is null.
func bytesOf(b []byte) (value, rest []byte, ok bool) {
	n, b, ok := varint(b)
	if !ok || n < -1 || n > int64(len(b)) {
		return nil, nil, false
	}
	if n == -1 {
		return nil, b, true
	}
	return b[:n:n], b[n:], true
}

// headerSection gathers a record's headers as they are read.
type headerSection struct {
	count int
	body  []byte
}

func (s *headerSection) add(key, value []byte) {
	s.count++
	s.body = record.AppendHeader(s.body, string(decodeHeaderKey(key)), value)
}

// appendTo appends the section to dst and starts a new one. It is nil where there is no header.
func (s *headerSection) appendTo(dst []byte) (all, section []byte) {
	if s.count == 0 {
		return dst, nil
	}
	from := len(dst)
	dst = append(binary.AppendVarint(dst, int64(s.count)), s.body...)
	s.count, s.body = 0, s.body[:0]
	return dst, dst[from:len(dst):len(dst)]
}

// CheckHeaders tells whether a record's header section can be written.
func CheckHeaders(section []byte) error {
	return eachHeader(section, func([]byte, []byte) {})
}
