package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// consoleAdmin makes calls with Kafka's command-line tools. Files for them go to dir.
func consoleAdmin(dir string, run func(ctx context.Context, class string, args ...string) *exec.Cmd) adminFunc {
	return func(ctx context.Context, verb string, w ...string) ([]string, error) {
		class, args, pattern := consoleCall(verb, w)
		if verb == "trim" {
			file, err := recordsToDelete(dir, w)
			if err != nil {
				return nil, err
			}
			args = append(args, file)
		}
		out, err := run(ctx, class, args...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "Error") {
			return nil, fmt.Errorf("%s %q: %w: %s", class, args, err, out)
		}
		var told []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(out), -1) {
			told = append(told, strings.ToLower(m[1]))
		}
		return told, nil
	}
}

// consoleCall is a tool's class, its arguments, and where in its output the answer is. Not told matches nothing.
func consoleCall(verb string, w []string) (class string, args []string, pattern string) {
	const (
		topics  = "TopicCommand"
		configs = "ConfigCommand"
		groups  = "consumer.group.ConsumerGroupCommand"
		untold  = `^()$`
	)
	switch verb {
	case "create":
		return topics, []string{"--create", "--topic", w[0], "--partitions", w[1], "--config", w[2]}, untold
	case "topics":
		return topics, []string{"--list"}, `(?m)^(\S+)$`
	case "partitions":
		return topics, []string{"--describe", "--topic", w[0]}, `PartitionCount: (\d+)`
	case "grow":
		return topics, []string{"--alter", "--topic", w[0], "--partitions", w[1]}, untold
	case "config":
		return configs, []string{"--describe", "--entity-type", "topics", "--entity-name", w[0]}, w[1] + `=(\d+) sensitive`
	case "alter":
		return configs, []string{"--alter", "--entity-type", "topics", "--entity-name", w[0], "--add-config", w[1] + "=" + w[2]}, untold
	case "end":
		return "GetOffsetShell", []string{"--topic-partitions", w[0] + ":" + w[1]}, `(?m):(\d+)$`
	case "trim":
		return "DeleteRecordsCommand", []string{"--offset-json-file"}, untold
	case "groups":
		return groups, []string{"--list"}, `(?m)^(\S+)$`
	case "group":
		return groups, []string{"--describe", "--state", "--group", w[0]}, `(?m)(\w+) +0 *$`
	case "committed":
		return groups, []string{"--describe", "--offsets", "--group", w[0]}, w[1] + ` +` + w[2] + ` +(\d+) `
	case "reset":
		return groups, []string{"--reset-offsets", "--group", w[0], "--topic", w[1] + ":" + w[2], "--to-offset", w[3], "--execute"}, untold
	case "forget":
		return groups, []string{"--delete-offsets", "--group", w[0], "--topic", w[1] + ":" + w[2]}, untold
	case "ungroup":
		return groups, []string{"--delete", "--group", w[0]}, untold
	case "brokers":
		return "BrokerApiVersionsCommand", nil, `\(id: (\d+) `
	}
	return topics, []string{"--delete", "--topic", w[0]}, untold
}

// recordsToDelete writes what kafka-delete-records reads.
func recordsToDelete(dir string, w []string) (string, error) {
	type place struct {
		Topic     string `json:"topic"`
		Partition int    `json:"partition"`
		Offset    int64  `json:"offset"`
	}
	b, err := json.Marshal(map[string]any{"version": 1, "partitions": []place{{w[0], number[int](w[1]), number[int64](w[2])}}})
	if err != nil {
		return "", fmt.Errorf("encode records to delete: %w", err)
	}
	file := filepath.Join(dir, "delete-records.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return "", fmt.Errorf("write records to delete: %w", err)
	}
	return file, nil
}
