package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// Why a store can never be used as the settings are, beside ErrDenied. Each error's text says what to do.
var (
	ErrNoBucket  = errors.New("there is no such bucket: make it, or name another one")
	ErrElsewhere = errors.New("the bucket is in another region, or at another endpoint, than the settings say")
	ErrNoStore   = errors.New("what answers at the endpoint is no object store: it is another server, or needs path-style access")
	ErrDirectory = errors.New("files cannot be kept in this directory: name one that exists or can be made, that this process may write to, and whose file system has hard links")
)

// checker is a store that can be looked at.
type checker interface {
	check(ctx context.Context, folder string) error
}

// Check looks, with one request, whether a store can be used for what is in a folder. ErrDenied, ErrNoBucket, ErrElsewhere,
// ErrNoStore and ErrDirectory do not end by themselves; after another error the store may be away for a while.
func Check(ctx context.Context, s Store, folder string) error {
	if c, ok := s.(checker); ok {
		return c.check(ctx, folder)
	}
	return nil
}

// Unusable tells whether an error of Check is one that does not end by itself.
func Unusable(err error) bool {
	for _, kind := range []error{ErrDenied, ErrNoBucket, ErrElsewhere, ErrNoStore, ErrDirectory} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// check makes a file, gives it a second name as PutIfAbsent does, and removes both.
func (f files) check(context.Context, string) error {
	temp, err := os.CreateTemp(f.root, unfinished)
	if err != nil {
		return unusable(err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	second := temp.Name() + "-link"
	if err := errors.Join(temp.Close(), os.Link(temp.Name(), second), os.Remove(second)); err != nil {
		return unusable(err)
	}
	return nil
}

// unusable is an error of a directory, without the name of a file that nobody knows.
func unusable(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && strings.HasPrefix(filepath.Base(p.Path), unfinished) {
		err = &fs.PathError{Op: "make a file in", Path: filepath.Dir(p.Path), Err: p.Err}
	}
	return fmt.Errorf("%w: %w", ErrDirectory, err)
}

// check reads an object that is not there: unlike a HEAD, that has an answer which says what is wrong.
func (b *bucket) check(ctx context.Context, folder string) error {
	name, key, err := object(strings.TrimRight(folder, "/") + "/check")
	if err != nil {
		return err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: name, Key: key, Range: aws.String("bytes=0-0")})
	if err == nil {
		return out.Body.Close()
	}
	return checkedS3(folder, err)
}

// elsewhere are codes of S3 for a bucket that is not where it is asked for.
var elsewhere = map[string]bool{
	"PermanentRedirect": true, "TemporaryRedirect": true, "AuthorizationHeaderMalformed": true, "IllegalLocationConstraintException": true,
	"IncorrectEndpoint": true, "InvalidRegion": true,
}

// checkedS3 is what an answer says of the store; nil: that it is one.
func checkedS3(folder string, err error) error {
	status, code := 0, ""
	if answered, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		status = answered.HTTPStatusCode()
	}
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		code = refused.ErrorCode()
	}
	wrapped := wrapS3("read", folder, err)
	switch {
	case code == "NoSuchKey", status == http.StatusRequestedRangeNotSatisfiable:
		return nil
	case code == "NoSuchBucket":
		return fmt.Errorf("%w: %w", ErrNoBucket, wrapped)
	case elsewhere[code], status == http.StatusMovedPermanently, status == http.StatusTemporaryRedirect:
		return fmt.Errorf("%w: %w", ErrElsewhere, wrapped)
	case errors.Is(wrapped, ErrDenied):
		return wrapped
	case status >= 300 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", ErrNoStore, wrapped)
	}
	return wrapped
}
