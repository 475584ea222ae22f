package rawredis

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Append describes a pipelined load of XADDs on one connection.
type Append struct {
	Address  string
	Streams  []string // written in turn, a batch each
	Records  int
	Batch    int           // XADDs written at once
	InFlight int           // batches sent and not answered yet
	Value    func() []byte // the next record's value
	Now      func() time.Time
}

// Run appends the records and returns when the last one was answered. Ids are <ms>-<offset>, as korvet's are.
func (a Append) Run(ctx context.Context) error {
	conn, err := Dial(ctx, a.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	free := make(chan []byte, a.InFlight)
	for range a.InFlight {
		free <- nil
	}
	sent := make(chan batch, a.InFlight)
	read := make(chan error, 1)
	go func() { read <- conn.readAnswers(sent, free) }()

	writeErr := a.write(conn, free, sent, read)
	close(sent)
	if writeErr != nil {
		return writeErr
	}
	if err := <-read; err != nil {
		return fmt.Errorf("read answer to XADD: %w", err)
	}
	return nil
}

type batch struct {
	bytes []byte
	count int
}

// write sends the batches, each into a buffer that the reader has freed.
func (a Append) write(conn *Conn, free <-chan []byte, sent chan<- batch, read <-chan error) error {
	heads := make([][]byte, len(a.Streams))
	for i, stream := range a.Streams {
		heads[i] = appendBulk([]byte("*7\r\n$4\r\nXADD\r\n"), stream)
	}
	next := make([]int64, len(a.Streams))
	for stream, left := 0, a.Records; left > 0; stream = (stream + 1) % len(a.Streams) {
		var buf []byte
		select {
		case buf = <-free:
		case err := <-read:
			return fmt.Errorf("read answer to XADD: %w", err)
		}
		count := min(a.Batch, left)
		left -= count
		buf = a.encode(buf[:0], heads[stream], next[stream], count)
		next[stream] += int64(count)
		if _, err := conn.net.Write(buf); err != nil {
			return fmt.Errorf("write XADD: %w", err)
		}
		sent <- batch{buf, count}
	}
	return nil
}

func (a Append) encode(dst, head []byte, offset int64, count int) []byte {
	ms := strconv.AppendInt(nil, a.Now().UnixMilli(), 10)
	var id [48]byte
	for i := range int64(count) {
		dst = append(dst, head...)
		dst = appendBulk(dst, strconv.AppendInt(append(append(id[:0], ms...), '-'), offset+i, 10))
		dst = append(dst, "$5\r\nvalue\r\n"...)
		dst = appendBulk(dst, a.Value())
		dst = append(dst, "$9\r\ntimestamp\r\n"...)
		dst = appendBulk(dst, ms)
	}
	return dst
}

func (c *Conn) readAnswers(sent <-chan batch, free chan<- []byte) error {
	for b := range sent {
		for range b.count {
			if _, err := c.bulk(); err != nil {
				return err
			}
		}
		free <- b.bytes
	}
	return nil
}
