package config

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files and docs/settings.md")

// TestLoadGolden reads testdata/load/*.txt: sections korvet.yml, env and flags go in, section want comes out: the values
// that are not defaults, or the error.
func TestLoadGolden(t *testing.T) {
	folder, err := filepath.Abs("testdata/load") // load changes the working directory
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(folder + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("find golden files: %v, %d files", err, len(files))
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := sections(string(data))
			got := load(t, in)
			if *update {
				input, _, _ := strings.Cut(string(data), "-- want --\n")
				if err := os.WriteFile(path, []byte(input+"-- want --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := in["want"]; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func load(t *testing.T, in map[string]string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("korvet.yml", []byte(in["korvet.yml"]), 0o644); err != nil {
		t.Fatal(err)
	}
	c, values, err := Load(Sources{File: "korvet.yml", Env: lines(in["env"]), Flags: lines(in["flags"])})
	if err != nil {
		if problems := (Problems)(nil); !errors.As(err, &problems) {
			t.Errorf("error of type %T, want Problems", err)
		}
		return err.Error() + "\n"
	}
	var out strings.Builder
	for _, v := range values.All() {
		if v.Origin != originDefault {
			fmt.Fprintf(&out, "%s=%s (%s)\n", v.Name, v.Text, v.Origin)
		}
	}
	for _, p := range c.Topics {
		fmt.Fprintf(&out, "pattern %q", p.Name)
		if p.AutoCreate != nil {
			fmt.Fprintf(&out, " auto-create %v", *p.AutoCreate)
		}
		if p.Partitions != nil {
			fmt.Fprintf(&out, " partitions %v", *p.Partitions)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

func sections(text string) map[string]string {
	result := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if head, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(head, " --\n") {
			name = strings.TrimSuffix(head, " --\n")
			continue
		}
		result[name] += line
	}
	return result
}

func TestDefaultsAreValidValuesOfTheirSettings(t *testing.T) {
	for _, row := range settings() {
		if row.def == "" && row.check != nil && row.name != "korvet.broker.advertised-host" && !strings.HasSuffix(row.name, ".uri") && !strings.HasPrefix(row.name, "korvet.storage.remote.") {
			t.Errorf("%s: no default", row.name)
		}
		if message := row.wrong(row.def); row.def != "" && message != "" {
			t.Errorf("%s=%s: %s", row.name, row.def, message)
		}
		if row.doc == "" {
			t.Errorf("%s: no documentation", row.name)
		}
	}
}

func TestEverySettingFillsAPlaceOfItsOwn(t *testing.T) {
	c := &Config{}
	places := map[any]string{}
	for _, row := range settings() {
		if row.field == nil {
			continue
		}
		if other, ok := places[row.field(c)]; ok {
			t.Errorf("%s and %s fill one place", row.name, other)
		}
		places[row.field(c)] = row.name
	}
}

func TestVariablesOfSettingsDiffer(t *testing.T) {
	names := map[string]string{}
	for _, row := range settings() {
		if other, ok := names[row.envName()]; ok {
			t.Errorf("%s is the variable of %s and %s", row.envName(), row.name, other)
		}
		names[row.envName()] = row.name
	}
}

func TestLoadReportsAFileThatIsNotThere(t *testing.T) {
	_, _, err := Load(Sources{File: filepath.Join(t.TempDir(), "missing.yml")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file does not exist", err)
	}
}

func TestLoadReadsKorvetYmlOfTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if c, _, err := Load(Sources{}); err != nil || c.Namespace != "korvet" {
		t.Fatalf("without a file: %v", err)
	}
	if err := os.WriteFile(DefaultFile, []byte("korvet.namespace: shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, _, err := Load(Sources{}); err != nil || c.Namespace != "shop" {
		t.Errorf("with a file: %v", err)
	}
}

func TestSplitFlagsTakesSettingsOutOfACommandLine(t *testing.T) {
	for in, want := range map[string]string{
		"server --korvet.broker.port=1 --config a":             "[--korvet.broker.port=1] [server --config a]",
		"--korvet.broker.port 1 server":                        "[--korvet.broker.port=1] [server]",
		"--korvet.broker.auto-create-topics-enable server":     "[--korvet.broker.auto-create-topics-enable=true] [server]",
		"--korvet.broker.port --korvet.namespace=a":            "[--korvet.broker.port --korvet.namespace=a] []",
		"--korvet.broker.port":                                 "[--korvet.broker.port] []",
		"topics -- --korvet.broker.port=1":                     "[] [topics -- --korvet.broker.port=1]",
		"--korvet.redis.password=a=b":                          "[--korvet.redis.password=a=b] []",
		"--korvet.log.level info,server=debug --korvet.x.y=-1": "[--korvet.log.level=info,server=debug --korvet.x.y=-1] []",
	} {
		flags, rest := SplitFlags(strings.Fields(in))
		if got := fmt.Sprint(flags, rest); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestPatternsGiveTopicSettings(t *testing.T) {
	c, _, err := Load(Sources{NoFile: true, Flags: []string{
		"--korvet.topics[0].name=*", "--korvet.topics[0].retention-time=2h", "--korvet.topics[0].retention-bytes=-1",
		"--korvet.topics[0].segment-time=500ms", "--korvet.topics[0].segment-bytes=2MB",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"retention.ms": "7200000", "retention.bytes": "-1", "segment.ms": "500", "segment.bytes": "2097152"}
	if got := c.Topics[0].Configs; !maps.Equal(got, want) {
		t.Errorf("topic settings %v, want %v", got, want)
	}
	for _, wrong := range []string{"retention-time=soon", "retention-time=-2", "retention-bytes=-2", "segment-time=0ms", "segment-bytes=10", "segment-bytes=3GB"} {
		flag := "korvet.topics[0]." + wrong
		if _, _, err := Load(Sources{NoFile: true, Flags: []string{"--korvet.topics[0].name=*", "--" + flag}}); err == nil || !strings.Contains(err.Error(), strings.Split(flag, "=")[0]) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
