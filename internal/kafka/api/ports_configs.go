package api

import (
	"context"

	"github.com/korvet-io/korvet/internal/metadata"
)

// DynamicConfigs is what the API needs of settings that change while brokers run, under Kafka's names. All methods are safe
// for concurrent use.
type DynamicConfigs interface {
	// Config returns a resource's settings from memory. They must not be changed.
	Config(kind metadata.ConfigKind, name string) map[string]string
	// Configured lists the resources of a kind that have settings, by name, from memory.
	Configured(kind metadata.ConfigKind) []string
	// AlterConfig changes a resource's settings. change gets a copy of them as they are now, maybe nil, and returns what
	// they become, or an error, which ends it; it may be called several times and may call Config. This broker obeys when AlterConfig returns,
	// the others do soon after. The error kinds of package metadata.
	AlterConfig(ctx context.Context, kind metadata.ConfigKind, name string, change func(map[string]string) (map[string]string, error)) error
}

// Loggers is what the API needs of this broker's loggers, whose levels change while it runs and are not kept. All methods
// are safe for concurrent use.
type Loggers interface {
	// Levels tells the level in force of each logger by name, the root's under RootLogger. Levels are Kafka's: TRACE, DEBUG,
	// INFO, WARN, ERROR, FATAL.
	Levels() map[string]string
	// SetLevel changes the level of a logger that Levels names to one of those.
	SetLevel(logger, level string)
	// ResetLevel makes a logger follow the root.
	ResetLevel(logger string)
}

// RootLogger is the name of the logger that the others follow.
const RootLogger = "root"
