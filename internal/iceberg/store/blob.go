package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// blobs is the store of locations that Go's Cloud Development Kit reaches: gs:// and abfs://. All are in one bucket, which Azure
// calls a container.
type blobs struct {
	bucket  *blob.Bucket
	root    string // scheme and bucket of locations, with a slash at its end
	aliases []string
	timeout time.Duration // of one request that is small
}

// openers make the buckets of the schemes that this binary can reach.
var openers = map[string]func(ctx context.Context, authority string) (*blob.Bucket, error){}

// sameAs are schemes that name the same objects.
var sameAs = map[string][]string{"abfs": {"abfss"}, "abfss": {"abfs"}}

// openBlobs opens the bucket of a location: scheme://authority/prefix.
func openBlobs(ctx context.Context, scheme, authority string, timeout time.Duration) (Store, error) {
	open, ok := openers[scheme]
	if !ok {
		return nil, fmt.Errorf("open store: %s:// is not in this binary, which was built with -tags noclouds", scheme)
	}
	bucket, err := open(ctx, authority)
	if err != nil {
		return nil, fmt.Errorf("open store %s://%s: %w", scheme, authority, err)
	}
	return onBucket(bucket, scheme, authority, timeout), nil
}

func onBucket(bucket *blob.Bucket, scheme, authority string, timeout time.Duration) *blobs {
	b := &blobs{bucket: bucket, root: scheme + "://" + authority + "/", timeout: cmp.Or(timeout, DefaultTimeout)}
	for _, other := range sameAs[scheme] {
		b.aliases = append(b.aliases, other+"://"+authority+"/")
	}
	return b
}

// key is the name in the bucket. It is as it is: nothing of it is encoded.
func (b *blobs) key(location string) (string, error) {
	for _, root := range append([]string{b.root}, b.aliases...) {
		if key, ok := strings.CutPrefix(location, root); ok {
			return key, nil
		}
	}
	return "", fmt.Errorf("%q is not below %s", location, b.root)
}

// do runs a request that is small, of an object.
func (b *blobs) do(ctx context.Context, verb, location string, request func(ctx context.Context, key string) error) error {
	key, err := b.key(location)
	err = cmp.Or(err, ctx.Err())
	if err == nil {
		small, cancel := context.WithTimeout(ctx, b.timeout)
		err = request(small, key)
		cancel()
	}
	return wrapBlob(verb, location, err)
}

func (b *blobs) Put(ctx context.Context, location string, body io.Reader) error {
	key, err := b.key(location)
	if err == nil {
		err = b.write(ctx, key, body, false)
	}
	return wrapBlob("write", location, err)
}

func (b *blobs) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	return b.do(ctx, "write", location, func(ctx context.Context, key string) error {
		return b.write(ctx, key, strings.NewReader(string(body)), true)
	})
}

// write puts an object. What is written when its context ends before Close is not kept.
func (b *blobs) write(ctx context.Context, key string, body io.Reader, absent bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/octet-stream", DisableContentTypeDetection: true, IfNotExist: absent})
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, &stoppable{ctx, body}); err != nil {
		cancel()
		_ = w.Close()
		return err
	}
	if err := ctx.Err(); err != nil { // what is not read does not end
		_ = w.Close()
		return err
	}
	return w.Close()
}

func (b *blobs) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	return b.do(ctx, "read", location, func(ctx context.Context, key string) error {
		err := b.fill(ctx, key, p, off)
		if err == nil || gcerrors.Code(err) == gcerrors.NotFound || ctx.Err() != nil {
			return err
		}
		// Each service says in its own way that a range is beyond the end.
		if about, failed := b.bucket.Attributes(ctx, key); failed == nil && about.Size < off+int64(len(p)) {
			return fmt.Errorf("%w: it has %d bytes", ErrShort, about.Size)
		}
		return err
	})
}

func (b *blobs) fill(ctx context.Context, key string, p []byte, off int64) error {
	r, err := b.bucket.NewRangeReader(ctx, key, off, int64(len(p)), nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	_, err = io.ReadFull(r, p)
	return err
}

func (b *blobs) Read(ctx context.Context, location string) (data []byte, err error) {
	err = b.do(ctx, "read", location, func(ctx context.Context, key string) error {
		r, err := b.bucket.NewReader(ctx, key, nil)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		if data, err = readSmall(r); err == nil && int64(len(data)) != r.Size() {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (b *blobs) Size(ctx context.Context, location string) (size int64, err error) {
	err = b.do(ctx, "read size of", location, func(ctx context.Context, key string) error {
		about, err := b.bucket.Attributes(ctx, key)
		if err == nil {
			size = about.Size
		}
		return err
	})
	return size, err
}

func (b *blobs) List(ctx context.Context, folder string, each func(Object) error) error {
	return b.list(ctx, folder, "", func(o *blob.ListObject) error {
		return each(Object{Location: b.root + o.Key, Size: o.Size, Modified: o.ModTime})
	})
}

func (b *blobs) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = b.list(ctx, folder, "/", func(o *blob.ListObject) error {
		if o.IsDir {
			whole := strings.TrimSuffix(o.Key, "/")
			names = append(names, whole[strings.LastIndexByte(whole, '/')+1:])
		}
		return nil
	})
	return names, err
}

func (b *blobs) list(ctx context.Context, folder, delimiter string, each func(*blob.ListObject) error) error {
	prefix, err := b.key(folder)
	if err != nil {
		return wrapBlob("list", folder, err)
	}
	found := b.bucket.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter})
	for {
		o, err := found.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && gcerrors.Code(err) == gcerrors.NotFound && !strings.Contains(err.Error(), "no such host") { // a folder is always there
			err = fmt.Errorf("%w: %s", ErrNoBucket, err.Error())
		}
		if err != nil {
			return wrapBlob("list", folder, err)
		}
		if err := each(o); err != nil {
			return err
		}
	}
}

func (b *blobs) Clear(ctx context.Context, folder string) error {
	var found []string
	err := b.List(ctx, folder, func(o Object) error {
		found = append(found, o.Location)
		return nil
	})
	return errors.Join(err, b.Delete(ctx, found))
}

func (b *blobs) Delete(ctx context.Context, locations []string) error {
	var failed []error
	for _, l := range locations {
		if err := b.do(ctx, "delete", l, b.bucket.Delete); err != nil && !errors.Is(err, ErrNotFound) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// errStop ends a listing.
var errStop = errors.New("enough")

func (b *blobs) check(ctx context.Context, folder string) error {
	err := b.list(ctx, folder, "/", func(*blob.ListObject) error { return errStop })
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// noBucket are words of the services for a bucket, or its whole host, that is not there. The library calls that not found, as it
// does an object: a table would seem not to be there.
var noBucket = []string{"ContainerNotFound", "ContainerBeingDeleted", "bucket does not exist", "bucket doesn't exist", "no such host"}

func isNoBucket(err error) bool {
	return slices.ContainsFunc(noBucket, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// wrapBlob names the object, and the kind of what happened.
func wrapBlob(verb, location string, err error) error {
	if err == nil {
		return nil
	}
	kinds := map[gcerrors.ErrorCode]error{
		gcerrors.NotFound: ErrNotFound, gcerrors.FailedPrecondition: ErrExists, gcerrors.AlreadyExists: ErrExists,
		gcerrors.PermissionDenied: ErrDenied, gcerrors.ResourceExhausted: ErrFull,
	}
	code := gcerrors.Code(err)
	if code == gcerrors.NotFound && isNoBucket(err) {
		return fmt.Errorf("%s %s: the bucket cannot be reached: %w", verb, location, err)
	}
	if kind := kinds[code]; kind != nil && !errors.Is(err, kind) {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return fmt.Errorf("%s %s: %w", verb, location, err)
}
