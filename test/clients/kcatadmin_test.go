package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// kcatAdmin asks kcat for metadata and offsets, which is all it can tell.
func kcatAdmin(addr string) adminFunc {
	return func(ctx context.Context, verb string, w ...string) ([]string, error) {
		if verb == "end" {
			return kcatEnd(ctx, addr, w[0], w[1])
		}
		args := []string{"-L", "-J", "-b", addr}
		if verb == "partitions" {
			args = append(args, "-t", w[0])
		}
		out, err := exec.CommandContext(ctx, "kcat", args...).Output()
		if err != nil {
			return nil, fmt.Errorf("kcat -L: %w", err)
		}
		var listed struct {
			Brokers []struct{ ID int }
			Topics  []struct {
				Topic      string
				Partitions []json.RawMessage
			}
		}
		if err := json.Unmarshal(out, &listed); err != nil {
			return nil, fmt.Errorf("read output of kcat -L: %w", err)
		}
		var told []string
		if verb == "brokers" {
			for _, b := range listed.Brokers {
				told = append(told, strconv.Itoa(b.ID))
			}
			return told, nil
		}
		for _, topic := range listed.Topics {
			if verb == "topics" {
				told = append(told, topic.Topic)
			} else {
				told = append(told, strconv.Itoa(len(topic.Partitions)))
			}
		}
		return told, nil
	}
}

// kcatLacksAdmin are all calls but those for metadata and offsets.
func kcatLacksAdmin() map[string]string {
	lacks := map[string]string{}
	for _, call := range adminCalls() {
		lacks[call.verb] = "has no command for it"
	}
	for _, verb := range []string{"topics", "partitions", "end", "brokers"} {
		delete(lacks, verb)
	}
	return lacks
}

// kcatEnd asks for the end of a partition: "topic [0] offset 10".
func kcatEnd(ctx context.Context, addr, topic, partition string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "kcat", "-Q", "-b", addr, "-t", topic+":"+partition+":-1").Output()
	if err != nil {
		return nil, fmt.Errorf("kcat -Q: %w", err)
	}
	words := strings.Fields(string(out))
	return words[max(0, len(words)-1):], nil
}
