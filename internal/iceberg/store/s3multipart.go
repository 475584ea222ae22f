package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	partBytes = 8 << 20 // of a large object; S3 takes 5 MiB and more, and 10,000 parts
	parts     = 2       // held in memory and sent side by side
	// abortTimeout bounds the end of an upload that failed: its caller may be gone already.
	abortTimeout = 10 * time.Second
)

// buffers are for parts.
var buffers = sync.Pool{New: func() any { return new([partBytes]byte) }}

// put writes an object: in one request what fits into a part, in parts what does not. Parts of an upload that failed are removed,
// as far as the store answers.
func (b *bucket) put(ctx context.Context, name, key *string, body io.Reader) error {
	first := buffers.Get().(*[partBytes]byte)
	n, err := io.ReadFull(body, first[:])
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		defer buffers.Put(first)
		_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: name, Key: key, Body: bytes.NewReader(first[:n]), ContentLength: aws.Int64(int64(n))})
		return err
	case err != nil:
		buffers.Put(first)
		return fmt.Errorf("read what is to be written: %w", err)
	}
	begun, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: name, Key: key})
	if err != nil {
		return fmt.Errorf("begin upload in parts: %w", err)
	}
	u := &upload{client: b.client, bucket: name, key: key, id: begun.UploadId}
	if err := u.finish(ctx, first[:], body); err != nil {
		return errors.Join(err, u.abort(ctx))
	}
	return nil
}

// upload is one in parts.
type upload struct {
	client          *s3.Client
	bucket, key, id *string

	mu   sync.Mutex
	done []types.CompletedPart
}

// finish sends the first part and what follows, and puts the object in its place.
func (u *upload) finish(ctx context.Context, part []byte, body io.Reader) error {
	all, sending := errgroup.WithContext(ctx)
	all.SetLimit(parts - 1) // the one that is filled is the other
	var readErr error
	for number := int32(1); len(part) > 0 && readErr == nil && sending.Err() == nil; number++ {
		full := part
		all.Go(func() error {
			defer buffers.Put((*[partBytes]byte)(full[:partBytes]))
			return u.send(sending, number, full)
		})
		part = buffers.Get().(*[partBytes]byte)[:]
		var n int
		n, readErr = io.ReadFull(body, part)
		part = part[:n]
		if errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF) {
			readErr = nil
		}
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := errors.Join(readErr, ctx.Err()); err != nil {
		return fmt.Errorf("read what is to be written: %w", err)
	}
	slices.SortFunc(u.done, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	_, err := u.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: u.bucket, Key: u.key, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.done},
	})
	if err != nil {
		return fmt.Errorf("complete upload in parts: %w", err)
	}
	return nil
}

func (u *upload) send(ctx context.Context, number int32, part []byte) error {
	out, err := u.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: u.bucket, Key: u.key, UploadId: u.id, PartNumber: aws.Int32(number), Body: bytes.NewReader(part), ContentLength: aws.Int64(int64(len(part))),
	})
	if err != nil {
		return fmt.Errorf("write part %d: %w", number, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done = append(u.done, types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(number)})
	return nil
}

// abort removes the parts that were sent. An upload that was completed without an answer is not there any more.
func (u *upload) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_, err := u.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: u.bucket, Key: u.key, UploadId: u.id})
	var gone *types.NoSuchUpload
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("remove the parts of the upload: %w", err)
	}
	return nil
}
