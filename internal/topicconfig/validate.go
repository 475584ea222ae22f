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
	return own, s.cross(topic, own, nil)
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
		return fmt.Errorf("turning %s off needs %s=true, which deletes the remote data; %s=true keeps it readable", remoteStorageEnable, remoteDeleteOnOff, remoteCopyDisable)
	}
	return nil
}

// crossRemote checks a tiered topic (KIP-405).
func (s *Schema) crossRemote(topic string, own map[string]string) error {
	if !s.remote {
		return errors.New("Tiered Storage functionality is disabled in the broker. Set korvet.storage.remote.path to enable it.") //lint:ignore ST1005 Kafka's text, shown to clients as it is
	}
	if slices.Contains(SplitList(s.value(topic, own, cleanupPolicy)), "compact") {
		return errors.New("Remote log storage only supports topics with cleanup.policy=delete or an empty one.") //lint:ignore ST1005 Kafka's text, shown to clients as it is
	}
	for _, c := range []struct{ local, total, lag string }{
		{localRetentionMs, retentionMs, remoteCopyLagMs},
		{localRetentionBytes, retentionBytes, remoteCopyLagBytes},
	} {
		if err := s.crossRetention(topic, own, c.local, c.total, c.lag); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) crossRetention(topic string, own map[string]string, local, total, lag string) error {
	l, t := s.number(topic, own, local), s.number(topic, own, total)
	refuse := func(name, format string, args ...any) error {
		return &InvalidError{Name: name, Value: s.value(topic, own, name), Reason: fmt.Sprintf(format, args...)}
	}
	if t >= 0 && l == -1 {
		return refuse(local, "Value must not be -1 as %s value is set as %d.", total, t)
	}
	if t >= 0 && l > t {
		return refuse(local, "Value must not be more than %s property value: %d", total, t)
	}
	if s.flag(topic, own, remoteCopyDisable) && l != -2 && l != t {
		return refuse(local, "Value must equal %s or be -2 while %s is true", total, remoteCopyDisable)
	}
	if l == -2 {
		l = t
	}
	if g := s.number(topic, own, lag); l > 0 && g > l {
		return refuse(lag, "Value must not exceed %s (effective value: %d)", local, l)
	}
	return nil
}
