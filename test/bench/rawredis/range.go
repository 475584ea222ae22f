package rawredis

import (
	"context"
	"fmt"
	"strconv"
)

// Range describes reading whole streams with XRANGE, one reply after the other, on one connection.
type Range struct {
	Address string
	Streams []string
	Count   int // entries a reply
}

// Run reads the streams and returns how many entries there were and how many bytes their values had.
func (r Range) Run(ctx context.Context) (entries, valueBytes int64, err error) {
	conn, err := Dial(ctx, r.Address)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	var request, values []byte // values stands for the record batch that a broker would write
	for _, stream := range r.Streams {
		from := []byte("-")
		for {
			request = appendCommand(request[:0], "XRANGE", stream, string(from), "+", "COUNT", strconv.Itoa(r.Count))
			if _, err := conn.net.Write(request); err != nil {
				return entries, valueBytes, fmt.Errorf("write XRANGE: %w", err)
			}
			var n int
			n, values, from, err = conn.entries(values[:0], from)
			if err != nil {
				return entries, valueBytes, fmt.Errorf("read answer to XRANGE: %w", err)
			}
			entries += int64(n)
			valueBytes += int64(len(values))
			if n < r.Count {
				break
			}
		}
	}
	return entries, valueBytes, nil
}

// entries reads one reply. It appends the values to dst and returns the id to go on from, exclusive, in from's space.
func (c *Conn) entries(dst, from []byte) (n int, values, next []byte, err error) {
	n, err = c.header('*')
	if err != nil {
		return 0, dst, from, err
	}
	for range n {
		if err = c.expect('*', 2); err != nil {
			return n, dst, from, err
		}
		id, err := c.bulk()
		if err != nil {
			return n, dst, from, err
		}
		from = append(append(from[:0], '('), id...)
		if dst, err = c.fields(dst); err != nil {
			return n, dst, from, err
		}
	}
	return n, dst, from, nil
}

// fields reads an entry's names and values.
func (c *Conn) fields(dst []byte) ([]byte, error) {
	n, err := c.header('*')
	if err != nil {
		return dst, err
	}
	for i := range n {
		field, err := c.bulk()
		if err != nil {
			return dst, err
		}
		if i == 1 { // "value" comes first, what follows is its timestamp
			dst = append(dst, field...)
		}
	}
	return dst, nil
}

func (c *Conn) expect(kind byte, want int) error {
	got, err := c.header(kind)
	if err == nil && got != want {
		err = fmt.Errorf("%c%d where %c%d was expected", kind, got, kind, want)
	}
	return err
}
