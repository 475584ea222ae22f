package config

import (
	"net"
	"strings"
)

const originDefault = "default"

// Value is the effective value of one setting.
type Value struct {
	Name   string
	Text   string // secrets are masked
	Origin string // default, file:line, environment, flag, or where it is inherited from
}

// Values are the effective values of all settings, in the order of the table.
type Values struct {
	list  []Value
	index map[string]int
}

// All returns them.
func (v *Values) All() []Value { return v.list }

func (v *Values) put(value Value) {
	if i, ok := v.index[value.Name]; ok {
		v.list[i] = value
		return
	}
	v.index[value.Name] = len(v.list)
	v.list = append(v.list, value)
}

func (v *Values) lookup(name string) (Value, bool) {
	i, ok := v.index[name]
	if !ok {
		return Value{}, false
	}
	return v.list[i], true
}

// Load reads and validates the settings. The error is Problems when settings are wrong: all of them.
func Load(sources Sources) (*Config, *Values, error) {
	entries, problems, err := sources.read()
	if err != nil {
		return nil, nil, err
	}
	chosen := map[string]entry{}
	var topics []entry
	for _, e := range entries {
		switch row := find(e.name); {
		case topicSetting.MatchString(e.name):
			topics = append(topics, e)
		case row == nil:
			problems = append(problems, e.problem(unknown(e.shown, knownNames(e))))
		default:
			if message := row.wrong(e.text); message != "" {
				problems = append(problems, e.problem(message))
				continue
			}
			chosen[row.name] = e
		}
	}
	c, values := &Config{}, &Values{index: map[string]int{}}
	for i := range settings() {
		c.set(&settings()[i], chosen, values)
	}
	var wrong Problems
	c.Topics, wrong = topicPatterns(topics, values)
	problems = append(problems, wrong...)
	c.derive(chosen, values)
	problems = append(problems, c.Validate()...)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	return c, values, nil
}

// set assigns the effective value of one setting: chosen, inherited or default.
func (c *Config) set(row *setting, chosen map[string]entry, values *Values) {
	text, origin := row.def, originDefault
	if e, ok := chosen[row.name]; ok {
		text, origin = e.text, e.origin
	} else if e, ok := chosen[row.inherits]; ok && row.mayInherit(chosen) {
		text, origin = e.text, "inherited from "+row.inherits
	}
	if row.field != nil && text != "" {
		_ = assign(row.field(c), text) // wrong reported what cannot be parsed, and it was not chosen
	}
	values.put(Value{Name: row.name, Text: row.text(text), Origin: origin})
}

// mayInherit is false for the parts of an address whose group names another server itself: its uri must not be that of
// the parent, nor may the parent's credentials go to a server that was given with its own uri.
func (s *setting) mayInherit(chosen map[string]entry) bool {
	group := s.name[:strings.LastIndex(s.name, ".")+1]
	_, ownURI := chosen[group+"uri"]
	_, ownHost := chosen[group+"host"]
	_, ownPort := chosen[group+"port"]
	switch strings.TrimPrefix(s.name, group) {
	case "uri":
		return !ownHost && !ownPort
	case "host", "port", "username", "password":
		return !ownURI
	}
	return true
}

// wrong tells what is wrong with text as a value of the setting, or "".
func (s *setting) wrong(text string) string {
	if s.later {
		if text == s.def {
			return ""
		}
		return "not in this version"
	}
	field := s.field(&Config{})
	if err := assign(field, text); err != nil {
		return err.Error()
	}
	if s.check != nil {
		return s.check(deref(field))
	}
	return ""
}

// derive fills what follows from other settings.
func (c *Config) derive(chosen map[string]entry, values *Values) {
	if c.Broker.AdvertisedHost == "" {
		c.Broker.AdvertisedHost = c.Broker.Host
		if ip := net.ParseIP(strings.Trim(c.Broker.Host, "[]")); ip != nil && ip.IsUnspecified() {
			c.Broker.AdvertisedHost = "localhost"
		}
		values.put(Value{Name: "korvet.broker.advertised-host", Text: c.Broker.AdvertisedHost, Origin: "from korvet.broker.host"})
	}
	for _, place := range []string{"uri", "host", "port"} {
		_, named := chosen["korvet.redis."+place]
		c.Redis.Configured = c.Redis.Configured || named
		_, named = chosen["korvet.storage.local.redis."+place]
		c.Messages.Configured = c.Messages.Configured || named
	}
}

func (e entry) problem(message string) Problem {
	text := maskURI(e.text)
	if row := find(e.name); row != nil {
		text = row.text(e.text)
	} else if secretName(strings.ReplaceAll(e.shown, "_", "-")) || secretName(nearest(e.shown, knownNames(e))) {
		text = mask // a misspelt secret is one, too
	}
	return Problem{Name: e.shown, Value: text, Origin: e.origin, Message: message}
}

func find(name string) *setting {
	for i := range settings() {
		if settings()[i].name == name {
			return &settings()[i]
		}
	}
	return nil
}

// knownNames are the names that e's may have been meant for, as its source writes them.
func knownNames(e entry) []string {
	var names []string
	for _, row := range settings() {
		switch {
		case e.env:
			names = append(names, row.envName())
		case e.origin == "flag":
			names = append(names, "--"+row.name)
		default:
			names = append(names, row.name)
		}
	}
	return names
}
