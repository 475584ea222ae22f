package app

import (
	"context"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/redischeck"
)

// RedisReport is what is found of one Redis.
type RedisReport struct {
	Address  string               `json:"address"`
	UsedFor  string               `json:"used_for"`
	Findings []redischeck.Finding `json:"findings"`
}

// CheckRedis looks at the Redis that a broker with these settings would use, or at both. An error: one does not answer.
func CheckRedis(ctx context.Context, c *config.Config) ([]RedisReport, error) {
	same, err := sameRedis(c)
	if err != nil {
		return nil, err
	}
	if same {
		r, err := checkOne(ctx, c.Redis, "metadata and messages", redischeck.Use{Namespace: c.Namespace, Replicas: c.Messages.Replicas, Messages: true})
		return []RedisReport{r}, err
	}
	metadata, err := checkOne(ctx, c.Redis, "metadata", redischeck.Use{Namespace: c.Namespace, Replicas: c.Redis.Replicas})
	if err != nil {
		return nil, err
	}
	messages, err := checkOne(ctx, c.Messages, "messages", redischeck.Use{Namespace: c.Namespace, Replicas: c.Messages.Replicas, Messages: true})
	return []RedisReport{metadata, messages}, err
}

func checkOne(ctx context.Context, r config.Redis, usedFor string, use redischeck.Use) (RedisReport, error) {
	report := RedisReport{Address: place(r), UsedFor: usedFor}
	client, err := metadataClient(r)
	if err != nil {
		return report, err
	}
	defer client.Close()
	facts, err := redischeck.Read(ctx, client, use.Namespace, time.Now)
	if err != nil {
		return report, fmt.Errorf("check Redis at %s: %w", report.Address, err)
	}
	report.Findings = redischeck.Judge(facts, use)
	return report, nil
}

// sameRedis tells whether metadata and messages are in one database.
func sameRedis(c *config.Config) (bool, error) {
	messages, err := streamOptions(c.Messages, c.Storage)
	if err != nil {
		return false, err
	}
	metadata, err := streamOptions(c.Redis, c.Storage)
	return err == nil && messages.Address == metadata.Address && messages.DB == metadata.DB, err
}
