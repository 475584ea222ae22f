package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// setting is one row of the table: everything there is to know of one setting.
type setting struct {
	name     string
	def      string            // default, as text
	field    func(*Config) any // pointer to its place: *string, *bool, *int, *int32, *int64, *Bytes or *time.Duration
	check    func(any) string  // what is wrong with a parsed value, or ""
	doc      string
	secret   bool
	later    bool   // not in this version: only the default is accepted
	inherits string // the setting whose value is the default
	kafka    string // Kafka's name of it, under which DescribeConfigs shows it; or ""
	dynamic  bool   // tools may change it, under Kafka's name, while the broker runs
	pool     bool   // of threads: a change while the broker runs is to half of what it was at least, to twice as many at most, as in Kafka
}

func (s *setting) envName() string { return envName(s.name) }

// text returns what may be shown of a value.
func (s *setting) text(value string) string {
	if s.secret && value != "" {
		return mask
	}
	return maskURI(value)
}

// kind names the type for users.
func (s *setting) kind() string {
	if s.field == nil {
		return ""
	}
	switch s.field(&Config{}).(type) {
	case *string:
		return "text"
	case *bool:
		return "true or false"
	case *Bytes:
		return "size"
	case *time.Duration:
		return "duration"
	default:
		return "number"
	}
}

func between(low, high int64) func(any) string {
	return func(v any) string {
		n, show := number(v)
		switch {
		case n >= low && n <= high:
			return ""
		case high == math.MaxInt64 || high == math.MaxInt32:
			return "must be at least " + show(low)
		default:
			return fmt.Sprintf("must be %s to %s", show(low), show(high))
		}
	}
}

// atLeast bounds numbers below; durations are in milliseconds.
func atLeast(low int64) func(any) string { return between(low, math.MaxInt64) }

func port(v any) string { return between(0, 65535)(v) }

func oneOf(words ...string) func(any) string {
	return func(v any) string {
		if slices.Contains(words, v.(string)) {
			return ""
		}
		return "must be one of " + strings.Join(words, ", ")
	}
}

func namespace(v any) string {
	text := v.(string)
	if text == "" || strings.ContainsAny(text, ":{}") || strings.ContainsFunc(text, unicode.IsSpace) {
		return "must not be blank and holds no whitespace, colon or braces"
	}
	return ""
}

func listenHost(v any) string {
	if strings.ContainsFunc(v.(string), unicode.IsSpace) || v.(string) == "" {
		return "must be a host name or an address; 0.0.0.0 listens on all"
	}
	return ""
}

// advertisedHost refuses what clients cannot connect to.
func advertisedHost(v any) string {
	text := v.(string)
	ip := net.ParseIP(strings.Trim(text, "[]"))
	if strings.TrimSpace(text) == "" || strings.ContainsFunc(text, unicode.IsSpace) || ip != nil && ip.IsUnspecified() {
		return "must be a name or an address that clients can connect to, not blank, 0.0.0.0 or ::"
	}
	return ""
}

func redisURI(v any) string {
	text := v.(string)
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil { // its text may hold the password
		return "must be redis://[user:password@]host[:port][/database]"
	}
	if u.Scheme == "redis+unix" && u.Path != "" {
		return ""
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return "must be redis://[user:password@]host[:port][/database], rediss:// for TLS, or redis+unix:///path"
	}
	if p := strings.Trim(u.Path, "/"); p != "" && strings.Trim(p, "0123456789") != "" {
		return "must end with the number of a database, or with nothing, after the host"
	}
	return ""
}

func logLevels(v any) string {
	if _, _, err := ParseLevels(v.(string)); err != nil {
		return err.Error()
	}
	return ""
}
