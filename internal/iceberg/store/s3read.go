package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// fill reads the bytes from off on into p. What a cut body left out is asked for again, as often as a request is tried.
func (b *bucket) fill(ctx context.Context, location string, p []byte, off int64) error {
	var err error
	for range b.attempts {
		var n int
		var short bool
		n, short, err = b.readPart(ctx, location, p, off)
		if n == len(p) {
			return nil
		}
		p, off = p[n:], off+int64(n)
		if short || err == nil || !cut(ctx, err) {
			break
		}
	}
	return err
}

// cutBody is an error in the middle of a body, after an answer that promised all of it.
type cutBody struct{ error }

func (c cutBody) Unwrap() error { return c.error }

// cut tells whether it is worth while to go on.
func cut(ctx context.Context, err error) bool {
	var c cutBody
	return errors.As(err, &c) && ctx.Err() == nil
}

// readPart reads as many of the bytes as come. short: the object has no more.
func (b *bucket) readPart(ctx context.Context, location string, p []byte, off int64) (n int, short bool, err error) {
	out, err := b.get(ctx, location, aws.String(fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1)))
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = out.Body.Close() }()
	first, size, err := rangeOf(out)
	if err != nil {
		return 0, false, err
	}
	if skip := off - first; skip > 0 { // a server that knows no ranges
		if _, err := io.CopyN(io.Discard, out.Body, skip); err != nil {
			return 0, false, cutBody{err}
		}
	}
	if there := size - off; size >= 0 && there < int64(len(p)) {
		return 0, true, fmt.Errorf("%w: %d bytes from %d on, of %d", ErrShort, len(p), off, size)
	}
	n, err = io.ReadFull(out.Body, p)
	if err != nil {
		err = cutBody{fmt.Errorf("body cut after %d of %d bytes: %w", n, len(p), err)}
	}
	return n, false, err
}

// rangeOf tells which byte of the object a body begins with and how large the object is; below 0: it does not say.
func rangeOf(out *s3.GetObjectOutput) (first, size int64, err error) {
	if out.ContentRange == nil {
		if out.ContentLength == nil {
			return 0, -1, nil
		}
		return 0, *out.ContentLength, nil
	}
	// bytes 5-9/100, or /*
	span, whole, ok := strings.Cut(strings.TrimPrefix(*out.ContentRange, "bytes "), "/")
	from, _, dash := strings.Cut(span, "-")
	first, err = strconv.ParseInt(from, 10, 64)
	if !ok || !dash || err != nil || first < 0 {
		return 0, 0, fmt.Errorf("malformed Content-Range %q", *out.ContentRange)
	}
	if size, err = strconv.ParseInt(whole, 10, 64); err != nil {
		size = -1
	}
	return first, size, nil
}

// whole reads a small object. One that was cut is read again.
func (b *bucket) whole(ctx context.Context, location string) (data []byte, err error) {
	for range b.attempts {
		data, err = b.readWhole(ctx, location)
		if err == nil || !cut(ctx, err) {
			return data, err
		}
	}
	return nil, err
}

func (b *bucket) readWhole(ctx context.Context, location string) ([]byte, error) {
	out, err := b.get(ctx, location, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Body.Close() }()
	data, err := readSmall(out.Body)
	switch {
	case errors.Is(err, errLarge):
		return nil, err
	case err != nil:
		return nil, cutBody{fmt.Errorf("body cut after %d bytes: %w", len(data), err)}
	case out.ContentLength != nil && *out.ContentLength != int64(len(data)):
		return nil, cutBody{fmt.Errorf("body cut after %d of %d bytes", len(data), *out.ContentLength)}
	}
	return data, nil
}

func (b *bucket) get(ctx context.Context, location string, bytes *string) (*s3.GetObjectOutput, error) {
	name, key, err := object(location)
	if err != nil {
		return nil, err
	}
	return b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: name, Key: key, Range: bytes})
}
