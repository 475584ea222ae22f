package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// openClient connects to the first broker of a list, host:port by commas, that answers.
func openClient(ctx context.Context, bootstrap, id string, more ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(more, kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.ClientID(id), kgo.RequestRetries(3))...)
	if err != nil {
		return nil, usageError{fmt.Errorf("--bootstrap-server %s: %w", bootstrap, err)}
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("no broker answers on %s: %w", bootstrap, err)
	}
	return client, nil
}
