package app

import (
	"context"
	"io"
	"log/slog"
	"math"
	"sync"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/kafka/api"
)

// componentKey is the attribute that names the part of the broker that logs.
const componentKey = "component"

// NewLogger makes the logger that the settings describe. Its levels may change while it is used: loggersOf has them.
func NewLogger(c config.Log, out io.Writer) (*slog.Logger, error) {
	all, components, err := config.ParseLevels(c.Level)
	if err != nil {
		return nil, err
	}
	loggers := &loggers{byName: map[string]*component{}}
	loggers.root.Set(all)
	for name, level := range components {
		loggers.component(name).set(level)
	}
	options := &slog.HandlerOptions{Level: slog.Level(math.MinInt), ReplaceAttr: nameLevel} // levelled lets through what it may
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if c.Format == "json" {
		handler = slog.NewJSONHandler(out, options)
	}
	return slog.New(&levelled{Handler: handler, loggers: loggers}), nil
}

// Kafka has two levels that slog has no names for.
const (
	levelTrace = slog.LevelDebug - 4
	levelFatal = slog.LevelError + 4
)

// levelName is Kafka's name of a level.
func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "TRACE"
	case l < slog.LevelInfo:
		return "DEBUG"
	case l < slog.LevelWarn:
		return "INFO"
	case l < slog.LevelError:
		return "WARN"
	case l < levelFatal:
		return "ERROR"
	}
	return "FATAL"
}

func levelOf(name string) slog.Level {
	return map[string]slog.Level{
		"TRACE": levelTrace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": levelFatal,
	}[name]
}

// nameLevel writes TRACE and FATAL instead of DEBUG-4 and ERROR+4.
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && len(groups) == 0 {
		a.Value = slog.StringValue(levelName(level))
	}
	return a
}

// loggers are the levels of the broker's components. A component without its own follows the root. It is safe for
// concurrent use.
type loggers struct {
	root slog.LevelVar

	mu     sync.Mutex
	byName map[string]*component
}

// component is the level of one component.
type component struct {
	mu    sync.RWMutex
	own   bool
	level slog.Level
}

func (c *component) set(level slog.Level) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own, c.level = true, level
}

func (c *component) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = false
}

func (c *component) or(root slog.Level) slog.Level {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.own {
		return c.level
	}
	return root
}

// component returns the level of a component, which is known from then on.
func (l *loggers) component(name string) *component {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.byName[name]
	if c == nil {
		c = &component{}
		l.byName[name] = c
	}
	return c
}

// Levels implements api.Loggers.
func (l *loggers) Levels() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	root := l.root.Level()
	levels := map[string]string{api.RootLogger: levelName(root)}
	for name, c := range l.byName {
		levels[name] = levelName(c.or(root))
	}
	return levels
}

// SetLevel implements api.Loggers.
func (l *loggers) SetLevel(logger, level string) {
	if logger == api.RootLogger {
		l.root.Set(levelOf(level))
		return
	}
	l.component(logger).set(levelOf(level))
}

// ResetLevel implements api.Loggers.
func (l *loggers) ResetLevel(logger string) { l.component(logger).follow() }

// loggersOf returns the levels of a logger that NewLogger made. Those of another one cannot be changed: it has none.
func loggersOf(log *slog.Logger) *loggers {
	if h, ok := log.Handler().(*levelled); ok {
		return h.loggers
	}
	return &loggers{byName: map[string]*component{}}
}

// levelled lets through what the level of its component allows.
type levelled struct {
	slog.Handler
	loggers   *loggers
	component *component // nil: the root
}

// Enabled tells whether the component logs at a level.
func (l *levelled) Enabled(_ context.Context, level slog.Level) bool {
	root := l.loggers.root.Level()
	if l.component == nil {
		return level >= root
	}
	return level >= l.component.or(root)
}

// WithAttrs goes over to the component that the attributes name.
func (l *levelled) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := &levelled{Handler: l.Handler.WithAttrs(attrs), loggers: l.loggers, component: l.component}
	for _, a := range attrs {
		if a.Key == componentKey {
			next.component = l.loggers.component(a.Value.String())
		}
	}
	return next
}

// WithGroup opens a group in the handler below.
func (l *levelled) WithGroup(name string) slog.Handler {
	return &levelled{Handler: l.Handler.WithGroup(name), loggers: l.loggers, component: l.component}
}
