package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/korvet-io/korvet/internal/config"
)

// componentKey is the attribute that names the part of the broker that logs.
const componentKey = "component"

// NewLogger makes the logger that the settings describe.
func NewLogger(c config.Log, out io.Writer) (*slog.Logger, error) {
	all, components, err := config.ParseLevels(c.Level)
	if err != nil {
		return nil, err
	}
	lowest := all
	for _, level := range components {
		lowest = min(lowest, level)
	}
	options := &slog.HandlerOptions{Level: lowest}
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if c.Format == "json" {
		handler = slog.NewJSONHandler(out, options)
	}
	return slog.New(&levels{Handler: handler, level: all, components: components}), nil
}

// levels lets through what the level of its component allows.
type levels struct {
	slog.Handler
	level      slog.Level
	components map[string]slog.Level
}

// Enabled tells whether the component logs at a level.
func (l *levels) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// WithAttrs takes the component's level over when the attributes name one.
func (l *levels) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := &levels{Handler: l.Handler.WithAttrs(attrs), level: l.level, components: l.components}
	for _, a := range attrs {
		if level, ok := l.components[a.Value.String()]; ok && a.Key == componentKey {
			next.level = level
		}
	}
	return next
}

// WithGroup opens a group in the handler below.
func (l *levels) WithGroup(name string) slog.Handler {
	return &levels{Handler: l.Handler.WithGroup(name), level: l.level, components: l.components}
}
