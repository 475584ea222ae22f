// Package store holds the remote tier's objects: files below a directory (file://) or objects of a bucket (s3://, gs://, abfs://). An object
// is written whole, once, and never changed.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// Store keeps objects under locations, which are URLs with a scheme. It is safe for concurrent use.
type Store interface {
	// Put writes an object from body, in bounded memory, in place of one that is there. It is there whole or not at all. After an
	// error it may be there all the same.
	Put(ctx context.Context, location string, body io.Reader) error
	// PutIfAbsent writes a small object unless one is there: ErrExists. Of several at once, one succeeds. A write that the store
	// carried out without an answer is tried again and then meets itself: after ErrExists, what is there may be this caller's.
	PutIfAbsent(ctx context.Context, location string, body []byte) error
	// ReadRange fills p from the object's byte off on; ErrShort when it ends before.
	ReadRange(ctx context.Context, location string, p []byte, off int64) error
	// Read returns a small object whole.
	Read(ctx context.Context, location string) ([]byte, error)
	// Size is the object's size in bytes.
	Size(ctx context.Context, location string) (int64, error)
	// List tells of each object whose location begins with a folder's, which ends in /, in no order.
	List(ctx context.Context, folder string, each func(Object) error) error
	// Folders names the folders right below a folder, by rising names and without slashes, without listing what is in them.
	Folders(ctx context.Context, folder string) ([]string, error)
	// Clear removes every object whose location begins with a folder's, which ends in /, and what is left of writes there.
	Clear(ctx context.Context, folder string) error
	// Delete removes objects; those that are not there are no error. It goes on after one that fails.
	Delete(ctx context.Context, locations []string) error
}

// Object is what a listing tells.
type Object struct {
	Location string
	Size     int64
	Modified time.Time
}

// Errors of stores, beside those of the network and the disk.
var (
	ErrNotFound = errors.New("no such object")
	ErrExists   = errors.New("object exists")
	ErrShort    = errors.New("object is shorter than asked for")
	ErrDenied   = errors.New("access denied")
	ErrFull     = errors.New("store is full")
	ErrGone     = errors.New("the whole store is gone") // what must be there always is not; it may come back
)

// maxSmall bounds what Read takes into memory: a metadata file, a manifest, a manifest list.
const maxSmall = 256 << 20

// S3 is how an S3-compatible store is reached. Where a field is empty the AWS SDK's own chain decides.
type S3 struct {
	Region, Endpoint             string
	PathStyle                    bool
	AccessKeyID, SecretAccessKey string

	Timeout  time.Duration // of one request, with its body; 0: DefaultTimeout. What is larger than 8 MiB goes in parts
	Attempts int           // of one request before it fails; 0: DefaultAttempts
	Backoff  time.Duration // at most so long is waited before a request is tried again; 0: DefaultBackoff
}

// Open makes the store of a location: a URL with one of the schemes file, s3, gs, abfs and abfss.
func Open(ctx context.Context, location string, s S3) (Store, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return openFiles(location)
	case u.Scheme == "s3" && u.Host != "":
		return openS3(ctx, s)
	case u.Scheme == "gs" && u.Host != "" && u.User == nil:
		return openBlobs(ctx, u.Scheme, u.Host, s.Timeout)
	case (u.Scheme == "abfs" || u.Scheme == "abfss") && u.Host != "" && u.User.Username() != "":
		return openBlobs(ctx, u.Scheme, u.User.Username()+"@"+u.Host, s.Timeout)
	}
	return nil, fmt.Errorf("open store: %q is none of file:///directory, s3://bucket/prefix, gs://bucket/prefix and abfs://container@account.dfs.core.windows.net/prefix", location)
}
