// Package topicconfig knows every topic setting: its name, type, default, validation and whether it has an effect.
//
// A setting's value comes from the topic itself, else from the first pattern of korvet.topics that gives one, else from
// the dynamic defaults (of this broker, then of all), else from the server's settings, else from the table. Names, types, ranges and messages are Apache Kafka 4.4's.
package topicconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is a setting's type as DescribeConfigs tells it (KIP-569).
type Type int8

const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3
	Long    Type = 5
	Double  Type = 6
	List    Type = 7
)

// String is Kafka's name of the type.
func (t Type) String() string {
	switch t {
	case Boolean:
		return "BOOLEAN"
	case Int:
		return "INT"
	case Long:
		return "LONG"
	case Double:
		return "DOUBLE"
	case List:
		return "LIST"
	default:
		return "STRING"
	}
}

// Effect tells what a setting does in this version.
type Effect int8

const (
	// Stored settings are validated, stored and shown, so that tools which set them work. They have no meaning here.
	Stored Effect = iota
	// Active settings have the effect that their documentation says.
	Active
)

// Setting describes one topic setting.
type Setting struct {
	Name         string
	Type         Type
	Default      string
	KafkaDefault string // where it differs from Default
	Product      bool   // Kafka does not know the setting
	BrokerName   string // the broker setting that gives the default, under Kafka's name; empty when there is none
	CreationOnly bool   // altering it after the creation is refused
	AtCreation   bool   // what a pattern gives is stored as the topic's own when it is created; patterns do not count later
	Effect       Effect
	Doc          string

	check check
}

// check tells why a canonical value of the right type is not accepted, in Kafka's words, or returns nothing.
type check func(canonical string) (reason string)

// InvalidError is a setting that cannot be stored. Its text is Kafka's.
type InvalidError struct {
	Name   string
	Value  string
	Reason string // empty: the name is unknown
}

func (e *InvalidError) Error() string {
	if e.Reason == "" {
		return "Unknown topic config name: " + e.Name
	}
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Name, e.Reason)
}

// Parse returns the canonical form of a value: without blanks around it, numbers in decimal, lists joined by commas, each word once.
// The error is an *InvalidError.
func (s *Setting) Parse(value string) (string, error) {
	canonical, reason := s.Type.parse(strings.TrimSpace(value))
	if reason != "" {
		return "", &InvalidError{Name: s.Name, Value: value, Reason: reason}
	}
	if s.Name == compressionType && canonical == "none" {
		canonical = "uncompressed"
	}
	if s.check != nil {
		if reason := s.check(canonical); reason != "" {
			return "", &InvalidError{Name: s.Name, Value: value, Reason: reason}
		}
	}
	return canonical, nil
}

// parse returns the canonical form of a trimmed value, or the reason why it has none.
func (t Type) parse(v string) (canonical, reason string) {
	switch t {
	case Boolean:
		if b := strings.ToLower(v); b == "true" || b == "false" {
			return b, ""
		}
		return "", "Expected value to be either true or false"
	case Int, Long:
		bits := 64
		if t == Int {
			bits = 32
		}
		n, err := strconv.ParseInt(v, 10, bits)
		if err != nil {
			return "", "Not a number of type " + t.String()
		}
		return strconv.FormatInt(n, 10), ""
	case Double:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || f != f {
			return "", "Not a number of type " + t.String()
		}
		return strconv.FormatFloat(f, 'g', -1, 64), ""
	case List:
		return strings.Join(distinct(SplitList(v)), ","), ""
	default:
		return v, ""
	}
}

// SplitList splits a list's value into its words. The empty value is the empty list.
func SplitList(v string) []string {
	if strings.TrimSpace(v) == "" {
		return nil
	}
	words := strings.Split(v, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// distinct drops later words that equal an earlier one.
func distinct(words []string) []string {
	seen := make(map[string]bool, len(words))
	return slices.DeleteFunc(words, func(w string) bool {
		twice := seen[w]
		seen[w] = true
		return twice
	})
}

func atLeast(low int64) check {
	return func(v string) string {
		if n, _ := strconv.ParseInt(v, 10, 64); n < low {
			return fmt.Sprintf("Value must be at least %d", low)
		}
		return ""
	}
}

func between(low, high float64) check {
	return func(v string) string {
		n, _ := strconv.ParseFloat(v, 64)
		if n < low {
			return fmt.Sprintf("Value must be at least %v", int64(low))
		}
		if n > high {
			return fmt.Sprintf("Value must be no more than %v", int64(high))
		}
		return ""
	}
}

// or accepts one value beside those of a check.
func or(value string, c check) check {
	return func(v string) string {
		if v == value {
			return ""
		}
		return c(v)
	}
}

func oneOf(words ...string) check {
	return func(v string) string {
		if slices.Contains(words, v) {
			return ""
		}
		return fmt.Sprintf("String must be one of: %s", strings.Join(words, ", "))
	}
}

// valueFormats accepts those of remote.storage.iceberg.value.format.
func valueFormats(v string) string {
	if v == "avro" || v == "protobuf" {
		return v + " is not in this version: it comes with the schema registry"
	}
	return oneOf("raw", "json")(v)
}

// listOf accepts lists of some of the words. The empty list is accepted.
func listOf(words ...string) check {
	one := oneOf(words...)
	return func(v string) string {
		for _, w := range SplitList(v) {
			if reason := one(w); reason != "" {
				return reason
			}
		}
		return ""
	}
}

// throttledReplicas accepts * or a list of partition:broker pairs.
func throttledReplicas(v string) string {
	if v == "*" {
		return ""
	}
	for _, w := range SplitList(v) {
		partition, broker, ok := strings.Cut(w, ":")
		_, err1 := strconv.ParseUint(partition, 10, 31)
		_, err2 := strconv.ParseUint(broker, 10, 31)
		if !ok || err1 != nil || err2 != nil {
			return "must be the literal '*' or a list of replicas in the form [partitionId]:[brokerId],[partitionId]:[brokerId],..."
		}
	}
	return ""
}
