package store

import "gocloud.dev/blob"

// OnBucket is the store of scheme://authority/ in a bucket.
func OnBucket(b *blob.Bucket, scheme, authority string) Store {
	return onBucket(b, scheme, authority, 0)
}
