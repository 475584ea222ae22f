package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func (m *measurement) isKorvet() bool { return m.system != nil && m.system.Name() == m.korvetName() }

func (m *measurement) korvetName() string {
	if m.korvet == nil {
		return ""
	}
	return m.korvet.Name()
}

// allocations returns how many objects korvet's broker has allocated since its start, 0 where that is not to be known.
func (m *measurement) allocations(ctx context.Context) float64 {
	if !m.isKorvet() {
		return 0
	}
	value, err := m.counter(ctx, "go_memstats_mallocs_total")
	if err != nil {
		m.note("allocations are left out: %v", err)
	}
	return value
}

var errNoMetric = errors.New("korvet's /metrics has no")

// counter reads one of korvet's metrics, over all labels. errNoMetric: one with labels is not there before something counted.
func (m *measurement) counter(ctx context.Context, name string) (float64, error) {
	answer, err := get(ctx, m.korvet.URL("/metrics"))
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	lines := bufio.NewScanner(answer)
	sum, found := 0.0, false
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("korvet's metric %s: %w", name, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("%w %s", errNoMetric, name)
	}
	return sum, lines.Err()
}

// startProfile takes a CPU profile of korvet's broker while the load of the measure that was asked for runs; load names its
// part of the measure. The function it returns waits for the profile.
func (m *measurement) startProfile(ctx context.Context, measure, load string) (wait func() error) {
	if m.Profile == "" || measure != m.Profile || !m.isKorvet() {
		return func() error { return nil }
	}
	name := fmt.Sprintf("%s-%s.prof", load, m.shape.slug())
	path := filepath.Join(m.out, name)
	done := make(chan error, 1)
	go func() {
		done <- saveProfile(ctx, m.korvet.URL(fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(m.ProfileFor.Seconds()))), path)
	}()
	return func() error {
		if err := <-done; err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		m.note("profile: go tool pprof -top %s %s", m.korvet.Program, path)
		return nil
	}
}

func saveProfile(ctx context.Context, url, path string) error {
	answer, err := get(ctx, url)
	if err != nil {
		return err
	}
	defer answer.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, answer); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("get %s: %s", url, answer.Status)
	}
	return answer.Body, nil
}
