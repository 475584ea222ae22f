package api

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// The loggers of a broker (KIP-412): the parts of the broker that korvet.log.level names, and the root. Levels that tools
// change last until the broker stops, as in Kafka.

// logLevels are Kafka's levels, the most talkative first.
func logLevels() []string { return []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} }

// loggerConfigs lists the loggers of this broker with their levels.
func (a *API) loggerConfigs(broker string) (configs, error) {
	if err := a.checkLoggerBroker(broker); err != nil {
		return nil, err
	}
	levels := a.loggers.Levels()
	var list configs
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		list = append(list, newConfig(name, topicconfig.String, levels[name], kmsg.ConfigSourceDynamicBrokerLoggerConfig, ""))
	}
	return list, nil
}

func (a *API) checkLoggerBroker(broker string) error {
	if broker == "" {
		return refuse(kerr.InvalidRequest, "Broker id must not be empty")
	}
	return a.checkBroker(broker)
}

// changeLoggers changes levels, all or none.
func (a *API) changeLoggers(change *configChange, validateOnly bool) error {
	if err := a.checkLoggerBroker(change.name); err != nil {
		return err
	}
	if change.replaceAll {
		return refuse(kerr.InvalidRequest, "Levels of loggers can only be changed one by one (IncrementalAlterConfigs).")
	}
	levels := a.loggers.Levels()
	for _, s := range change.settings {
		if err := checkLevelChange(levels, s); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	for _, s := range change.settings {
		if s.op == kmsg.IncrementalAlterConfigOpDelete {
			a.loggers.ResetLevel(s.name)
		} else {
			a.loggers.SetLevel(s.name, *s.value)
		}
	}
	return nil
}

func checkLevelChange(levels map[string]string, s settingChange) error {
	if s.op != kmsg.IncrementalAlterConfigOpSet && s.op != kmsg.IncrementalAlterConfigOpDelete {
		return refuse(kerr.InvalidRequest, "%s operation is not allowed for the BROKER_LOGGER resource", s.op)
	}
	if _, known := levels[s.name]; !known {
		return refuse(kerr.InvalidConfig, "Logger %s does not exist!", s.name)
	}
	if s.op == kmsg.IncrementalAlterConfigOpDelete {
		if s.name == RootLogger {
			return refuse(kerr.InvalidRequest, "Removing the log level of the %s logger is not allowed", RootLogger)
		}
		return nil
	}
	if !slices.Contains(logLevels(), *s.value) {
		return refuse(kerr.InvalidConfig, "Cannot set the log level of %s to %s as it is not a supported log level. Valid log levels are %v", s.name, *s.value, logLevels())
	}
	return nil
}
