package resp

import (
	"fmt"
	"strings"
)

// Value is one reply. Its strings are copies.
type Value struct {
	Kind  byte // '+', '-', ':', '$', '*'
	Null  bool
	Str   string
	Int   int64
	Elems []Value
}

// Error is an error reply, such as "OOM command not allowed ...".
type Error string

func (e Error) Error() string { return "redis: " + string(e) }

// Code is the error's first word: OOM, READONLY, LOADING, NOSCRIPT, ERR, ...
func (e Error) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Err returns the value as an error if it is an error reply.
func (v Value) Err() error {
	if v.Kind == '-' {
		return Error(v.Str)
	}
	return nil
}

// Text is the string of a simple or bulk string, or the digits of an integer.
func (v Value) Text() string {
	if v.Kind == ':' {
		return fmt.Sprint(v.Int)
	}
	return v.Str
}

// Pairs calls f for each pair of a flat field-value array.
func (v Value) Pairs(f func(field string, value Value)) {
	for i := 0; i+1 < len(v.Elems); i += 2 {
		f(v.Elems[i].Str, v.Elems[i+1])
	}
}

// Value reads one whole reply.
func (r *Reader) Value() (Value, error) {
	budget := maxElements
	v, err := r.value(maxDepth, &budget)
	r.Discard(0)
	return v, err
}

func (r *Reader) value(depth int, budget *int) (Value, error) {
	if *budget--; *budget < 0 || depth == 0 {
		return Value{}, fmt.Errorf("%w: a reply too large or too deep", ErrProtocol)
	}
	line, err := r.Line()
	if err != nil {
		return Value{}, err
	}
	if len(line) == 0 {
		return Value{}, fmt.Errorf("%w: an empty line", ErrProtocol)
	}
	switch v := (Value{Kind: line[0]}); v.Kind {
	case '+', '-':
		v.Str = string(line[1:])
		return v, nil
	case ':', '$', '*':
		n, ok := ParseInt(line[1:])
		if !ok {
			return v, fmt.Errorf("%w: %q is no number", ErrProtocol, line)
		}
		return r.sized(v, n, depth, budget)
	default:
		return v, fmt.Errorf("%w: a reply of type %q", ErrProtocol, line[0])
	}
}

func (r *Reader) sized(v Value, n int64, depth int, budget *int) (Value, error) {
	switch {
	case v.Kind == ':':
		v.Int = n
		return v, nil
	case n == -1:
		v.Null = true
		return v, nil
	case n < 0 || v.Kind == '$' && n > maxBulk || v.Kind == '*' && n > maxElements:
		return v, fmt.Errorf("%w: a length of %d", ErrProtocol, n)
	case v.Kind == '$':
		return r.bulk(v, int(n))
	}
	for range n {
		e, err := r.value(depth-1, budget)
		if err != nil {
			return v, err
		}
		v.Elems = append(v.Elems, e)
	}
	return v, nil
}

func (r *Reader) bulk(v Value, n int) (Value, error) {
	if len(r.Buffered()) < n+2 {
		if err := r.More(n + 2); err != nil {
			return v, err
		}
	}
	b := r.Buffered()
	if b[n] != '\r' || b[n+1] != '\n' {
		return v, fmt.Errorf("%w: a bulk string without CRLF", ErrProtocol)
	}
	v.Str = string(b[:n])
	r.r += n + 2
	return v, nil
}

// ParseInt parses a decimal of at most 18 digits with an optional minus sign.
func ParseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}
