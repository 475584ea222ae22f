package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// filterOn is what a filter is set to when it is given without a value.
const filterOn = "true"

// filter is a flag that shows a column and, with values, lists only what has one of them.
type filter struct {
	on     bool
	values []string
}

// String, Set and Type make it a flag's value.
func (f *filter) String() string { return strings.Join(f.values, ",") }

// Set takes values by commas, or filterOn.
func (f *filter) Set(text string) error {
	f.on = true
	if text != filterOn {
		f.values = append(f.values, strings.Split(text, ",")...)
	}
	return nil
}

// Type is the one of flags that may go without a value.
func (f *filter) Type() string { return "bool" }

// The states and types of groups, as Kafka spells them.
var (
	groupStates = []string{"Assigning", "CompletingRebalance", "Dead", "Empty", "PreparingRebalance", "Reconciling", "Stable"}
	groupTypes  = []string{"Classic", "Consumer"}
)

// takeFilters takes the values that follow --state and --type with a blank between, as kafka-consumer-groups has them:
// they arrive as arguments, and no state is a type. It replaces all values by Kafka's spelling.
func (f *groupsFlags) takeFilters(args []string) error {
	for _, arg := range args {
		word, _, _ := strings.Cut(arg, ",")
		switch {
		case f.list && f.state.on && spelled(word, groupStates) != "":
			f.state.values = append(f.state.values, strings.Split(arg, ",")...)
		case f.list && f.kind.on && spelled(word, groupTypes) != "":
			f.kind.values = append(f.kind.values, strings.Split(arg, ",")...)
		case f.list && f.state.on:
			return fmt.Errorf("--state %s: want some of %s", arg, strings.Join(groupStates, ", "))
		case f.list && f.kind.on:
			return fmt.Errorf("--type %s: want some of %s", arg, strings.Join(groupTypes, ", "))
		default:
			return fmt.Errorf("unknown argument %q", arg)
		}
	}
	if err := respell("state", f.state.values, groupStates); err != nil {
		return err
	}
	return respell("type", f.kind.values, groupTypes)
}

func respell(flag string, values, known []string) error {
	for i, v := range values {
		if values[i] = spelled(v, known); values[i] == "" {
			return fmt.Errorf("--%s %s: want some of %s", flag, v, strings.Join(known, ", "))
		}
	}
	return nil
}

// spelled returns the known word that a text means, whatever its case, or nothing.
func spelled(text string, known []string) string {
	i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, strings.TrimSpace(text)) })
	if i < 0 {
		return ""
	}
	return known[i]
}

// scope is a topic, or partitions of it.
type scope struct {
	topic      string
	partitions []int32 // empty: all
}

// parseScope reads topic or topic:0,1. A topic's name has no colon.
func parseScope(text string) (scope, error) {
	topic, list, some := strings.Cut(text, ":")
	if topic == "" {
		return scope{}, errors.New("the topic's name is missing")
	}
	s := scope{topic: topic}
	if !some {
		return s, nil
	}
	for number := range strings.SplitSeq(list, ",") {
		p, err := strconv.ParseInt(number, 10, 32)
		if err != nil || p < 0 {
			return scope{}, fmt.Errorf("partition %q: want topic:0,1", number)
		}
		s.partitions = append(s.partitions, int32(p))
	}
	return s, nil
}

var (
	datetimeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d(:?\d\d)?)?$`)
	periodForm   = regexp.MustCompile(`^P(?:(\d+)D)?(?:T((?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d{1,9})?S)?))?$`)
)

// parseDatetime reads a time as kafka-consumer-groups does and returns Unix milliseconds: UTC unless it has a zone, as Z,
// +01, +0100 or +01:00. The milliseconds may be left away.
func parseDatetime(text string) (int64, error) {
	if datetimeForm.MatchString(text) {
		for _, zone := range []string{"", "Z07:00", "Z0700", "Z07"} {
			if t, err := time.Parse("2006-01-02T15:04:05"+zone, text); err == nil {
				return max(0, t.UnixMilli()), nil // below 0 are ListOffsets' special values
			}
		}
	}
	return 0, fmt.Errorf("%q is no time: want YYYY-MM-DDThh:mm:ss.sss, UTC or with a zone as Z or +01:00", text)
}

// parsePeriod reads an ISO 8601 duration of days to seconds.
func parsePeriod(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is no duration: want PnDTnHnMnS, as P1D or PT1H30M, at most P100000D", text)
	text = strings.ToUpper(text)
	parts := periodForm.FindStringSubmatch(text)
	if parts == nil || text == "P" || strings.HasSuffix(text, "T") {
		return 0, bad
	}
	const mostDays = 100_000 // a Duration holds 106,751
	days, err := int64(0), error(nil)
	if parts[1] != "" {
		if days, err = strconv.ParseInt(parts[1], 10, 64); err != nil || days > mostDays {
			return 0, bad
		}
	}
	var rest time.Duration
	if parts[2] != "" {
		if rest, err = time.ParseDuration(strings.ToLower(parts[2])); err != nil || rest > mostDays*24*time.Hour {
			return 0, bad
		}
	}
	total := time.Duration(days)*24*time.Hour + rest
	if total < 0 || total > mostDays*24*time.Hour {
		return 0, bad
	}
	return total, nil
}

// planned is a line of a reset plan. An empty group stands for any.
type planned struct {
	group, topic string
	partition    int32
	offset       int64
}

// readPlan reads what --export prints.
func readPlan(path string) ([]planned, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord, reader.TrimLeadingSpace = -1, true
	var plan []planned
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return plan, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		line, err := parsePlanned(fields)
		if err != nil {
			number, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("%s, line %d: %w", path, number, err)
		}
		plan = append(plan, line)
	}
}

func parsePlanned(fields []string) (planned, error) {
	var p planned
	switch len(fields) {
	case 3:
	case 4:
		p.group, fields = fields[0], fields[1:]
	default:
		return p, fmt.Errorf("%d fields, want topic,partition,offset or group,topic,partition,offset", len(fields))
	}
	p.topic = fields[0]
	partition, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || partition < 0 {
		return p, fmt.Errorf("partition %q: want a number", fields[1])
	}
	p.partition = int32(partition)
	if p.offset, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return p, fmt.Errorf("offset %q: want a number", fields[2])
	}
	return p, nil
}
