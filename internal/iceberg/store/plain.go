package store

import (
	"net/url"
	"strings"
)

// Plain writes a location in one way: engines write file:/ with one slash or three, percent-encode names of files, and call buckets as
// Hadoop's clients do. It may be asked for an object as any of them.
func Plain(location string) string {
	if name, ok := strings.CutPrefix(location, "file:/"); ok {
		name = strings.TrimLeft(name, "/")
		if decoded, err := url.PathUnescape(name); err == nil {
			name = decoded
		}
		return "file:/" + strings.ReplaceAll(name, "%", "%25")
	}
	for _, other := range [][2]string{{"s3a://", "s3://"}, {"s3n://", "s3://"}, {"abfss://", "abfs://"}} {
		if rest, ok := strings.CutPrefix(location, other[0]); ok {
			return other[1] + rest
		}
	}
	return location
}
