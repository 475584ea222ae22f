package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/config"
)

// RedisMemory asks a Redis how much memory it uses.
type RedisMemory struct {
	client rueidis.Client
}

// NewRedisMemory connects to a Redis.
func NewRedisMemory(r config.Redis) (*RedisMemory, error) {
	client, err := metadataClient(r)
	if err != nil {
		return nil, err
	}
	return &RedisMemory{client: client}, nil
}

// Used is the memory in use, in bytes.
func (m *RedisMemory) Used(ctx context.Context) (int64, error) {
	info, err := m.client.Do(ctx, m.client.B().Info().Section("memory").Build()).ToString()
	if err != nil {
		return 0, fmt.Errorf("ask Redis for its memory: %w", err)
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, "used_memory:"); ok {
			return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		}
	}
	return 0, errors.New("ask Redis for its memory: no used_memory in its answer")
}

// Close ends the connection.
func (m *RedisMemory) Close() { m.client.Close() }

// MessagesRedis connects to the Redis that holds the messages, for a tool that measures there. The caller closes it.
func MessagesRedis(c *config.Config) (client rueidis.Client, address string, err error) {
	client, err = metadataClient(c.Messages)
	return client, place(c.Messages), err
}
