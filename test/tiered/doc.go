// Package tiered uses topics with remote storage as a client does: the real binary, a directory and a real S3 server.
package tiered
