package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Sources are the places that settings are read from, weakest first.
type Sources struct {
	// File is the path of a YAML file. Empty: DefaultFile if there is one.
	File string
	// NoFile reads none.
	NoFile bool
	// Env is the environment as os.Environ returns it.
	Env []string
	// Flags are --korvet.x.y=z flags as SplitFlags returns them.
	Flags []string
}

// DefaultFile is read from the working directory when no file is named.
const DefaultFile = "korvet.yml"

// entry is one setting as one source has it.
type entry struct {
	name   string // the setting's own name
	shown  string // as the user wrote it
	text   string
	origin string
	env    bool // the name is a variable's: dots and dashes are lost
}

// read returns the entries of all sources, weakest first, and what could not be read.
func (s Sources) read() ([]entry, Problems, error) {
	path, optional := s.File, false
	if path == "" {
		path, optional = DefaultFile, true
	}
	var entries []entry
	var problems Problems
	var data []byte
	var err error
	if !s.NoFile {
		data, err = os.ReadFile(path)
	}
	switch {
	case err == nil:
		entries, problems = parseFile(path, data)
	case optional && os.IsNotExist(err):
	default:
		return nil, nil, fmt.Errorf("read settings: %w", err)
	}
	return slices.Concat(entries, parseEnv(s.Env), parseFlags(s.Flags)), problems, nil
}

// envName is the variable of a setting, or of a group of them.
func envName(setting string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_", "[", "_", "]", "").Replace(setting))
}

var (
	// Kubernetes gives pods variables for each service of the namespace, so a service "korvet" or "korvet-redis" makes
	// KORVET_PORT=tcp://10.0.0.1:9092, KORVET_SERVICE_HOST and the like. They are not settings.
	serviceLink  = regexp.MustCompile(`^KORVET_(?:.*_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.*)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$`)
	serviceValue = regexp.MustCompile(`^(?:tcp|udp|sctp)://`)
	topicEnv     = regexp.MustCompile(`^KORVET_TOPICS_(\d+)_(.+)$`)
)

// parseEnv returns the KORVET_* variables, in order of their names. KORVET_TEST_* belong to korvet's own tests.
func parseEnv(env []string) []entry {
	names := map[string]string{}
	for _, row := range settings() {
		names[row.envName()] = row.name
	}
	var entries []entry
	for _, variable := range slices.Sorted(slices.Values(env)) {
		name, text, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "KORVET_") || strings.HasPrefix(name, "KORVET_TEST_") ||
			serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && serviceValue.MatchString(text) {
			continue
		}
		e := entry{name: names[name], shown: name, text: text, origin: "environment", env: true}
		if m := topicEnv.FindStringSubmatch(name); m != nil {
			e.name = fmt.Sprintf("korvet.topics[%s].%s", m[1], strings.ToLower(strings.ReplaceAll(m[2], "_", "-")))
		}
		entries = append(entries, e)
	}
	return entries
}

// SplitFlags takes the --korvet.* flags out of a command line. A value follows = or is the next word; true and false
// settings need none.
func SplitFlags(args []string) (flags, rest []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return flags, append(rest, args[i:]...)
		}
		if !strings.HasPrefix(arg, "--korvet.") {
			rest = append(rest, arg)
			continue
		}
		if !strings.Contains(arg, "=") {
			switch {
			case isBool(arg[2:]):
				arg += "=true"
			case i+1 < len(args) && !strings.HasPrefix(args[i+1], "--"):
				i++
				arg += "=" + args[i]
			}
		}
		flags = append(flags, arg)
	}
	return flags, rest
}

func isBool(name string) bool {
	row := find(name)
	return row != nil && row.def != "" && (row.def == "true" || row.def == "false")
}

func parseFlags(flags []string) []entry {
	var entries []entry
	for _, flag := range flags {
		name, text, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		entries = append(entries, entry{name: name, shown: "--" + name, text: text, origin: "flag"})
	}
	return entries
}
