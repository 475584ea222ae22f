package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/korvet-io/korvet/internal/metadata"
)

// fakeConfigs keeps settings in memory.
type fakeConfigs struct {
	mu         sync.Mutex
	byResource map[string]map[string]string
}

func newFakeConfigs() *fakeConfigs { return &fakeConfigs{byResource: map[string]map[string]string{}} }

func (f *fakeConfigs) Config(kind metadata.ConfigKind, name string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byResource[string(kind)+":"+name]
}

func (f *fakeConfigs) Configured(kind metadata.ConfigKind) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for resource := range f.byResource {
		if name, ok := strings.CutPrefix(resource, string(kind)+":"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (f *fakeConfigs) AlterConfig(_ context.Context, kind metadata.ConfigKind, name string, change func(map[string]string) (map[string]string, error)) error {
	resource := string(kind) + ":" + name
	wanted, err := change(maps.Clone(f.Config(kind, name)))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byResource[resource] = wanted; len(wanted) == 0 {
		delete(f.byResource, resource)
	}
	return nil
}

// fakeLoggers keeps the levels of a root and one logger.
type fakeLoggers struct {
	mu     sync.Mutex
	levels map[string]string
}

func newFakeLoggers() *fakeLoggers {
	return &fakeLoggers{levels: map[string]string{RootLogger: "INFO", "server": "INFO"}}
}

func (f *fakeLoggers) Levels() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.levels)
}

func (f *fakeLoggers) SetLevel(logger, level string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.levels[logger] = level
}

func (f *fakeLoggers) ResetLevel(logger string) { f.SetLevel(logger, f.Levels()[RootLogger]) }
