package jsoncolumns

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// shape is what a member's value is.
type shape uint8

const (
	null shape = iota
	boolean
	long     // a whole number that a double holds exactly
	bigLong  // one that only a long holds
	double   // written with a fraction or an exponent
	text     // a string
	nested   // an object or an array
	untyped  // what no column can hold: a number beyond its type, a string that is no UTF-8
	shapes   // how many there are
	exactInt = 1 << 53
)

// eachMember calls f for the members of a JSON object, in their order, and tells whether the value is one: if not, f may have
// been called nevertheless. raw is the member's value as it stands there; both are valid as long as the value is. A name that
// is no UTF-8 is left out.
func eachMember(value []byte, f func(name, raw []byte)) bool {
	at := skipSpace(value, 0)
	if at == len(value) || value[at] != '{' {
		return false
	}
	at = skipMembers(value, at, 1, func(quoted, raw []byte) {
		if name, ok := decode(quoted); ok {
			f(name, raw)
		}
	})
	return at >= 0 && skipSpace(value, at) == len(value)
}

// decode reads a string; false: it is no UTF-8, also as an escaped half of a surrogate pair.
func decode(quoted []byte) ([]byte, bool) {
	plain := quoted[1 : len(quoted)-1]
	if !utf8.Valid(plain) {
		return nil, false
	}
	if bytes.IndexByte(plain, '\\') < 0 {
		return plain, true
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil || halfSurrogate(plain) {
		return nil, false
	}
	return []byte(s), true
}

// halfSurrogate looks for a \ud800 to \udfff that is none of a pair: Go reads a replacement for it.
func halfSurrogate(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return false
		}
		if b = b[i+1:]; b[0] != 'u' {
			b = b[1:]
			continue
		}
		unit := hex4(b[1:5])
		b = b[5:]
		switch {
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
				return true
			}
			if low := hex4(b[2:6]); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			b = b[6:]
		}
	}
}

func hex4(b []byte) int {
	n, _ := strconv.ParseUint(string(b), 16, 16) // it was seen to be one
	return int(n)
}

// shapeOf tells what a value is, and reads it where it is a number.
func shapeOf(raw []byte) (s shape, whole int64, fraction float64) {
	switch raw[0] {
	case 'n':
		return null, 0, 0
	case 't':
		return boolean, 1, 0
	case 'f':
		return boolean, 0, 0
	case '"':
		return text, 0, 0
	case '{', '[':
		if !utf8.Valid(raw) {
			return untyped, 0, 0
		}
		return nested, 0, 0
	}
	if bytes.ContainsAny(raw, ".eE") {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil { // beyond its range
			return untyped, 0, 0
		}
		return double, 0, f
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case err != nil:
		return untyped, 0, 0
	case n > exactInt || n < -exactInt:
		return bigLong, n, 0
	}
	return long, n, float64(n)
}
