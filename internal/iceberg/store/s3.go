package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// bucket is the store of s3:// locations; the bucket is in the location.
type bucket struct {
	client   *s3.Client
	attempts int
}

// deleteAtOnce is S3's limit of one DeleteObjects.
const deleteAtOnce = 1000

// Defaults of S3's limits.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultAttempts = 5
	DefaultBackoff  = 5 * time.Second // pauses are drawn by chance, from a range that doubles
)

func openS3(ctx context.Context, s S3) (Store, error) {
	timeout, attempts := cmp.Or(s.Timeout, DefaultTimeout), cmp.Or(s.Attempts, DefaultAttempts)
	options := []func(*config.LoadOptions) error{
		// Checksums that only newer servers know are sent and checked only where S3 demands them.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
		config.WithRetryer(func() aws.Retryer { return retryer(attempts, cmp.Or(s.Backoff, DefaultBackoff)) }),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(timeout).WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = 64
		})),
	}
	if s.Region != "" {
		options = append(options, config.WithRegion(s.Region))
	}
	if s.AccessKeyID != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(s.AccessKeyID, s.SecretAccessKey, "")))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if s.AccessKeyID == "" {
		c.Credentials = aws.NewCredentialsCache(&chain{c.Credentials})
	}
	if c.Region == "" {
		c.Region = "us-east-1" // servers other than AWS's do not care, but the signature needs one
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = s.PathStyle
		if s.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.Endpoint)
		}
	})
	return &bucket{client: client, attempts: attempts}, nil
}

// object splits s3://bucket/key; s3a and s3n are what Hadoop's writers call it. A key is as it is: nothing of it is encoded.
func object(location string) (bucket, key *string, err error) {
	scheme, rest, ok := strings.Cut(location, "://")
	name, k, _ := strings.Cut(rest, "/")
	if !ok || scheme != "s3" && scheme != "s3a" && scheme != "s3n" || name == "" {
		return nil, nil, fmt.Errorf("%q is no s3: location", location)
	}
	return &name, &k, nil
}

func (b *bucket) Put(ctx context.Context, location string, body io.Reader) error {
	name, key, err := object(location)
	if err == nil {
		err = b.put(ctx, name, key, body)
	}
	return wrapS3("write", location, err)
}

func (b *bucket) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	name, key, err := object(location)
	if err == nil {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: name, Key: key, Body: bytes.NewReader(body), IfNoneMatch: aws.String("*")})
	}
	return wrapS3("write", location, err)
}

func (b *bucket) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	return wrapS3("read", location, b.fill(ctx, location, p, off))
}

func (b *bucket) Read(ctx context.Context, location string) ([]byte, error) {
	data, err := b.whole(ctx, location)
	return data, wrapS3("read", location, err)
}

func (b *bucket) Size(ctx context.Context, location string) (int64, error) {
	name, key, err := object(location)
	if err != nil {
		return 0, wrapS3("read size of", location, err)
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: name, Key: key})
	if err != nil {
		return 0, wrapS3("read size of", location, err)
	}
	return aws.ToInt64(out.ContentLength), nil
}

func (b *bucket) List(ctx context.Context, folder string, each func(Object) error) error {
	name, prefix, err := object(folder)
	if err != nil {
		return wrapS3("list", folder, err)
	}
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: name, Prefix: prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return wrapS3("list", folder, err)
		}
		for _, o := range page.Contents {
			err := each(Object{Location: "s3://" + *name + "/" + aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bucket) Folders(ctx context.Context, folder string) ([]string, error) {
	name, prefix, err := object(folder)
	if err != nil {
		return nil, wrapS3("list", folder, err)
	}
	var names []string
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: name, Prefix: prefix, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrapS3("list", folder, err)
		}
		for _, p := range page.CommonPrefixes {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), *prefix), "/"))
		}
	}
	return names, nil
}

func (b *bucket) Clear(ctx context.Context, folder string) error {
	var found []string
	clear := func() error {
		err := b.Delete(ctx, found)
		found = found[:0]
		return err
	}
	err := b.List(ctx, folder, func(o Object) error {
		if found = append(found, o.Location); len(found) < deleteAtOnce {
			return nil
		}
		return clear()
	})
	return errors.Join(err, clear())
}

func (b *bucket) Delete(ctx context.Context, locations []string) error {
	byBucket := map[string][]types.ObjectIdentifier{}
	for _, l := range locations {
		name, key, err := object(l)
		if err != nil {
			return wrapS3("delete", l, err)
		}
		byBucket[*name] = append(byBucket[*name], types.ObjectIdentifier{Key: key})
	}
	var failed []error
	for name, keys := range byBucket {
		for len(keys) > 0 {
			n := min(len(keys), deleteAtOnce)
			out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &name, Delete: &types.Delete{Objects: keys[:n], Quiet: aws.Bool(true)}}, s3.WithAPIOptions(contentMD5))
			keys = keys[n:]
			if err != nil {
				failed = append(failed, wrapS3("delete", "s3://"+name, err))
				continue
			}
			for _, e := range out.Errors {
				if aws.ToString(e.Code) != "NoSuchKey" {
					failed = append(failed, fmt.Errorf("delete s3://%s/%s: %s: %s", name, aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message)))
				}
			}
		}
	}
	return errors.Join(failed...)
}

// contentMD5 gives DeleteObjects, which must have a checksum, the one that all servers know.
func contentMD5(stack *middleware.Stack) error {
	for _, remove := range []func() error{
		func() error { _, err := stack.Initialize.Remove("AWSChecksum:SetupInputContext"); return err },
		func() error { _, err := stack.Finalize.Remove("AWSChecksum:ComputeInputPayloadChecksum"); return err },
	} {
		if err := remove(); err != nil {
			return err
		}
	}
	_, _ = stack.Finalize.Remove("addInputChecksumTrailer") // there is none with plain HTTP
	return smithyhttp.AddContentChecksumMiddleware(stack)
}

// chain is where the SDK looks for keys. What it says when it finds none is about the last place alone.
type chain struct{ aws.CredentialsProvider }

func (c *chain) Retrieve(ctx context.Context) (aws.Credentials, error) {
	keys, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = fmt.Errorf("no keys: none are set (s3.access-key-id, s3.secret-access-key), and the AWS SDK finds none in AWS_ACCESS_KEY_ID, its files or the machine's role: %w", err)
	}
	return keys, err
}
