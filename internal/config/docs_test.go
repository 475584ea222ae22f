package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDocsListEverySetting(t *testing.T) {
	const path = "../../docs/settings.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table of settings says: run go test ./internal/config -update", path)
	}
}

const settingsHead = `# Settings

Made from the table of settings by ` + "`go test ./internal/config -update`" + `; do not edit.

A setting has one name in three places; of these a flag wins over a variable, a variable over the file, the file over the default.
- **File**: YAML, ` + "`--config PATH`" + `, else ` + "`korvet.yml`" + ` of the working directory if there is one. Names may be nested or written with dots.
- **Environment**: the name in capitals, dots and dashes as ` + "`_`" + `: ` + "`KORVET_BROKER_ADVERTISED_HOST`" + `. Lists by number: ` + "`KORVET_TOPICS_0_NAME`" + `; lists of words by commas. The variables that Kubernetes makes for services (` + "`KORVET_PORT=tcp://...`, `KORVET_SERVICE_HOST`" + ` ...) are not settings, and ` + "`KORVET_TEST_*`" + ` belong to korvet's own tests.
- **Flags**: ` + "`--korvet.broker.port=9093`" + ` for ` + "`korvet server` and `korvet config`" + `.

A size is a number of bytes or ` + "`512KB`, `100MB`, `10GB`" + ` (powers of 1024). A duration is ` + "`500ms`, `3s`, `1m`, `2h`, `7d`, `1h30m`" + ` or a number of milliseconds.
Unknown names and wrong values stop the start, all of them listed. ` + "`korvet config`" + ` prints what is in effect and where it was set, secrets masked.
`

// changeable says how a setting is changed while the broker runs.
func changeable(row setting) string {
	if !row.dynamic {
		return ""
	}
	return fmt.Sprintf(" Can be changed while the broker runs: `kafka-configs --entity-type brokers`, as `%s`.", row.kafka)
}

func document() string {
	var out strings.Builder
	out.WriteString(settingsHead)
	out.WriteString("\n## In this version\n| setting | default | type | meaning |\n|---|---|---|---|\n")
	for _, row := range settings() {
		if row.later {
			continue
		}
		def := code(row.def)
		if row.inherits != "" {
			def = "that of " + code(row.inherits)
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", row.name, def, row.kind(), row.doc+changeable(row))
	}
	out.WriteString("\nOf a group `korvet.storage.local.redis.*` that names a uri, nothing of the address and no credentials are inherited; of one that names a host or a port, no uri is.\n")
	out.WriteString("\n## Patterns of topics\n`korvet.topics` is an ordered list. Of the patterns that match a new topic's name, the first that sets a field decides it.\n\n| field | meaning |\n|---|---|\n")
	for _, field := range topicFields {
		if !field.later {
			fmt.Fprintf(&out, "| `korvet.topics[n].%s` | %s |\n", field.name, field.doc)
		}
	}
	out.WriteString("\n## Not in this version\nThese are known, and refused unless they say what is so anyway (their default): nobody should believe to have what is not there.\n\n| setting | default | meaning |\n|---|---|---|\n")
	for _, row := range settings() {
		if row.later {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", row.name, code(row.def), row.doc)
		}
	}
	for _, group := range laterGroups {
		fmt.Fprintf(&out, "| `%s*` | | |\n", group)
	}
	for _, field := range topicFields {
		if field.later {
			fmt.Fprintf(&out, "| `korvet.topics[n].%s` | | |\n", field.name)
		}
	}
	return out.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
