package app

import (
	"testing"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// korvet config and the start of a server check korvet.topics in two places: of a topic's settings the schema knows more
// than the table of korvet's. What the one takes the other must not refuse.
func TestPatternsThatTheConfigurationTakesAreTakenByTheServer(t *testing.T) {
	texts := []string{
		"", "0", "-0", "+1", "-1", "-2", "1", "1.5", "0x10", "1e3", " 1", "1 ", "1ms", "-1ms", "1us", "-1us", "999us", "1s", "7d", "106751d", "106752d",
		"1MB", "1048575", "1048576", "2147483647", "2147483648", "2GB", "1TB", "8EB", "9223372036854775807", "9223372036854775808",
		"true", "false", "maybe", "raw", "json", "none", "gzip", "GZIP", "zstd", "producer", "10000", "10001", "a*", "*", "?", "[a", "[a]", "a]", `a\`, "{a}", "a b", "ä",
	}
	fields := []string{"name", "auto-create", "partitions", "storage-compression-type", "retention-time", "retention-bytes", "segment-time", "segment-bytes", "local-retention-time", "local-retention-bytes", "remote-storage-enabled", "remote-value-format"}
	for _, field := range fields {
		taken := 0
		for _, text := range texts {
			flags := []string{"--korvet.storage.remote.path=file:///tier", "--korvet.topics[0].name=a*", "--korvet.topics[0]." + field + "=" + text}
			cfg, _, err := config.Load(config.Sources{NoFile: true, Flags: flags})
			if err != nil {
				continue
			}
			taken++
			if _, problems := topicconfig.New(topicOptions(cfg)); len(problems) > 0 {
				t.Errorf("%s: %q is taken and then refused: %v", field, text, problems)
			}
		}
		if taken == 0 || taken == len(texts) {
			t.Errorf("%s: %d of %d texts are taken", field, taken, len(texts))
		}
	}
}
