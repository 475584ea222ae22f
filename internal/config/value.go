package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// assign parses text into the place that field points to.
func assign(field any, text string) error {
	var err error
	switch p := field.(type) {
	case *string:
		*p = text
	case *bool:
		*p, err = parseBool(text)
	case *int:
		var n int64
		n, err = parseInt(text, strconv.IntSize)
		*p = int(n)
	case *int32:
		var n int64
		n, err = parseInt(text, 32)
		*p = int32(n)
	case *int64:
		*p, err = parseInt(text, 64)
	case *Bytes:
		*p, err = ParseBytes(text)
	case *time.Duration:
		*p, err = ParseDuration(text)
	default:
		panic(fmt.Sprintf("config: no settings of type %T", field)) // a mistake in the table, found by its test
	}
	return err
}

// deref returns what a field of the table points to.
func deref(field any) any {
	switch p := field.(type) {
	case *string:
		return *p
	case *bool:
		return *p
	case *int:
		return *p
	case *int32:
		return *p
	case *int64:
		return *p
	case *Bytes:
		return *p
	case *time.Duration:
		return *p
	}
	return nil
}

// number returns a value as one (durations in milliseconds) and how such numbers are shown.
func number(v any) (int64, func(int64) string) {
	plain := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch n := v.(type) {
	case int:
		return int64(n), plain
	case int32:
		return int64(n), plain
	case int64:
		return n, plain
	case Bytes:
		return int64(n), formatBytes
	case time.Duration:
		return n.Milliseconds(), formatMs
	}
	return 0, plain
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func parseInt(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("is too large")
	}
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

var (
	bytesText    = regexp.MustCompile(`^(-?\d+) ?([kKmMgGtT]?)(?:[iI]?[bB])?$`)
	durationText = regexp.MustCompile(`^(?:\d+(?:ms|s|m|h|d))+$`)
	durationPart = regexp.MustCompile(`(\d+)(ms|s|m|h|d)`)
)

// ParseBytes reads 1048576, 512KB, 100MB, 10GB or -1.
func ParseBytes(text string) (Bytes, error) {
	m := bytesText.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("must be a size like 1048576, 512KB, 100MB or 10GB")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[strings.ToLower(m[2])]
	if err != nil || n > math.MaxInt64>>shift || n < math.MinInt64>>shift {
		return 0, errors.New("is too large")
	}
	return Bytes(n << shift), nil
}

// ParseDuration reads 500ms, 3s, 1m, 2h, 7d, several of these (1h30m), a plain number of milliseconds, or -1.
func ParseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return milliseconds(n, 1)
	}
	if !durationText.MatchString(text) {
		return 0, errors.New("must be a duration like 500ms, 3s, 1m, 2h, 7d or a number of milliseconds")
	}
	units := map[string]int64{"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
	var sum time.Duration
	for _, m := range durationPart.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return 0, errors.New("is too large")
		}
		d, err := milliseconds(n, units[m[2]])
		if err != nil {
			return 0, err
		}
		if sum += d; sum < 0 {
			return 0, errors.New("is too large")
		}
	}
	return sum, nil
}

func milliseconds(n, unit int64) (time.Duration, error) {
	if most := int64(math.MaxInt64) / int64(time.Millisecond) / unit; n > most || n < -most {
		return 0, errors.New("is too large")
	}
	return time.Duration(n*unit) * time.Millisecond, nil
}

// ParseLevels reads "info" or "info,server=debug,partition=warn": the level of all, and those of single components.
func ParseLevels(text string) (slog.Level, map[string]slog.Level, error) {
	var all slog.Level
	components := map[string]slog.Level{}
	for i, word := range strings.Split(text, ",") {
		component, name, ok := strings.Cut(strings.TrimSpace(word), "=")
		if !ok {
			component, name = "", component
		}
		level, known := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[strings.ToLower(name)]
		if !known || ok == (i == 0) || ok && component == "" {
			return 0, nil, errors.New("must be debug, info, warn or error, then component=level pairs after commas")
		}
		if ok {
			components[component] = level
		} else {
			all = level
		}
	}
	return all, components, nil
}

func formatBytes(n int64) string {
	for _, u := range []struct {
		shift int
		name  string
	}{{30, "GB"}, {20, "MB"}, {10, "KB"}} {
		if n != 0 && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func formatMs(n int64) string {
	for _, u := range []struct {
		ms   int64
		name string
	}{{86_400_000, "d"}, {3_600_000, "h"}, {60_000, "m"}, {1000, "s"}} {
		if n != 0 && n%u.ms == 0 {
			return strconv.FormatInt(n/u.ms, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "ms"
}
