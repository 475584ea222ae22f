package topicconfig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Create returns what a new topic stores: the canonical values of the settings given, and how its values are stored, so
// that a later change of the server's codec does not reach back. The error's text is for the client.
func (s *Schema) Create(topic string, given map[string]string) (map[string]string, error) {
	own, problems := s.parseAll(given)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	if _, named := own[storageCompression]; !named {
		own[storageCompression] = s.inherited(topic, s.byName[storageCompression])[0].Value
	}
	if _, named := own[storageDictionary]; !named && own[storageCompression] != "none" { // that it is there marks frames, see Effective
		own[storageDictionary] = strconv.FormatBool(own[storageCompression] == "zstd")
	}
	if _, named := own[remoteStorageEnable]; !named && s.wantsRemote(topic, own) {
		own[remoteStorageEnable] = "true"
	}
	return own, s.cross(topic, own, nil)
}

// wantsRemote tells whether a pattern turns the remote tier on for a new topic that can have it.
func (s *Schema) wantsRemote(topic string, own map[string]string) bool {
	return s.inherited(topic, s.byName[remoteStorageEnable])[0].Value == "true" && !Internal(topic) &&
		!slices.Contains(SplitList(s.value(topic, own, cleanupPolicy)), "compact")
}

// Alter returns what a topic that has the settings old stores after a change to the settings wanted: a full set, without
// those that go back to their defaults. Settings for the creation only keep their value when wanted does not name them.
func (s *Schema) Alter(topic string, old, wanted map[string]string) (map[string]string, error) {
	own, problems := s.parseAll(wanted)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	for i := range s.settings {
		setting := &s.settings[i]
		if !setting.CreationOnly {
			continue
		}
		before := s.value(topic, old, setting.Name)
		if v, ok := own[setting.Name]; ok && v != before {
			return nil, fmt.Errorf("%s cannot be altered after topic creation", setting.Name)
		}
		if v, ok := old[setting.Name]; ok {
			own[setting.Name] = v
		}
	}
	return own, s.cross(topic, own, old)
}

// cross checks settings against each other. old is nil for a new topic.
func (s *Schema) cross(topic string, own, old map[string]string) error {
	low, high := s.number(topic, own, minCompactionLagMs), s.number(topic, own, maxCompactionLagMs)
	if low > high {
		return fmt.Errorf("conflict topic config setting %s (%d) > %s (%d)", minCompactionLagMs, low, maxCompactionLagMs, high)
	}
	if s.flag(topic, own, storageDictionary) && s.value(topic, own, storageCompression) != "zstd" {
		return fmt.Errorf("%s needs %s=zstd", storageDictionary, storageCompression)
	}
	if s.flag(topic, own, remoteStorageEnable) {
		return s.crossRemote(topic, own)
	}
	if old != nil && s.flag(topic, old, remoteStorageEnable) && !s.flag(topic, own, remoteDeleteOnOff) {
		return errors.New("It is invalid to disable remote storage without deleting remote data. " + //lint:ignore ST1005 Kafka's text, shown to clients as it is
			"If you want to keep the remote data and turn to read only, please set `remote.storage.enable=true,remote.log.copy.disable=true`. " +
			"If you want to disable remote storage and delete all remote data, please set `remote.storage.enable=false,remote.log.delete.on.disable=true`.")
	}
	return nil
}

// crossRemote checks a tiered topic (KIP-405, KIP-950, KIP-1241), in Kafka's order.
func (s *Schema) crossRemote(topic string, own map[string]string) error {
	if !s.remote {
		return errors.New("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage. (korvet.storage.remote.path is not set.)") //lint:ignore ST1005 Kafka's text, shown to clients as it is
	}
	if Internal(topic) {
		return fmt.Errorf("topic %s cannot be configured with remote log storage: it is internal", topic)
	}
	if policies := SplitList(s.value(topic, own, cleanupPolicy)); len(policies) > 1 || len(policies) == 1 && policies[0] != "delete" {
		return errors.New("Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list.") //lint:ignore ST1005 Kafka's text, shown to clients as it is
	}
	if err := s.crossRetention(topic, own); err != nil {
		return err
	}
	for _, c := range retentions {
		if err := s.crossCopyLag(topic, own, c); err != nil {
			return err
		}
	}
	if !s.flag(topic, own, remoteCopyDisable) {
		return nil
	}
	for _, c := range retentions {
		if l := s.number(topic, own, c.local); l != -2 && l != s.number(topic, own, c.total) {
			return fmt.Errorf("When `%s` is set to true, the `%s` and `%s` must be set to the identical value because there will be no more logs copied to the remote storage.", remoteCopyDisable, c.local, c.total) //lint:ignore ST1005 Kafka's text, shown to clients as it is
		}
	}
	return nil
}

// retentions are the settings that belong together, in the order in which they are checked.
var retentions = []struct{ local, total, lag string }{
	{localRetentionBytes, retentionBytes, remoteCopyLagBytes},
	{localRetentionMs, retentionMs, remoteCopyLagMs},
}

// crossRetention checks that no more is to stay in Redis than is kept at all.
func (s *Schema) crossRetention(topic string, own map[string]string) error {
	for _, c := range retentions {
		l, t := s.number(topic, own, c.local), s.number(topic, own, c.total)
		switch {
		case t < 0 || l == -2:
		case l == -1:
			return s.refuse(topic, own, c.local, "Value must not be -1 as %s value is set as %d.", c.total, t)
		case l > t:
			return s.refuse(topic, own, c.local, "Value must not be more than %s property value: %d", c.total, t)
		}
	}
	return nil
}

func (s *Schema) crossCopyLag(topic string, own map[string]string, c struct{ local, total, lag string }) error {
	l := s.number(topic, own, c.local)
	if l == -2 {
		l = s.number(topic, own, c.total)
	}
	if lag := s.number(topic, own, c.lag); lag > 0 && l >= 0 && lag > l {
		return s.refuse(topic, own, c.lag, "Value must not exceed %s (effective value: %d)", c.local, l)
	}
	return nil
}

func (s *Schema) refuse(topic string, own map[string]string, name, format string, args ...any) error {
	return &InvalidError{Name: name, Value: s.value(topic, own, name), Reason: fmt.Sprintf(format, args...)}
}
