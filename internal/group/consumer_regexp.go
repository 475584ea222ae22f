package group

import (
	"encoding/binary"
	"hash/fnv"
	"regexp"
)

// topicRegexp is a regular expression that members are subscribed to. Its topics are those whose whole name it matches
// (KIP-848; the syntax is RE2's).
type topicRegexp struct {
	re      *regexp.Regexp
	img     uint64 // version of the view that topics are of
	matched bool   // there was one
	topics  []string
}

// maxRegexp bounds what a client can make a broker compile, in bytes.
const maxRegexp = 16 << 10

// knowRegexp makes a regular expression known to the group.
func (c *consumerGroup) knowRegexp(text string) error {
	if text == "" || c.regexps[text] != nil {
		return nil
	}
	r, err := compileTopics(text)
	if err != nil {
		return err
	}
	c.regexps[text] = r
	return nil
}

func compileTopics(text string) (*topicRegexp, error) {
	if len(text) > maxRegexp {
		return nil, ErrInvalidRegexp
	}
	// By itself first: parentheses around a text that is none may make it one.
	if _, err := regexp.Compile(text); err != nil {
		return nil, ErrInvalidRegexp
	}
	re, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, ErrInvalidRegexp
	}
	return &topicRegexp{re: re}, nil
}

// forgetRegexps forgets the regular expressions that no member has any more.
func (c *consumerGroup) forgetRegexps() {
	if len(c.regexps) == 0 {
		return
	}
	used := make(map[string]bool, len(c.regexps))
	for _, m := range c.members {
		used[m.regexp] = true
	}
	for text := range c.regexps {
		if !used[text] {
			delete(c.regexps, text)
		}
	}
}

// matched lists the topics of a regular expression in the view last seen, in the order of their names.
func (c *consumerGroup) matched(text string) []string {
	r := c.regexps[text]
	if r == nil {
		return nil
	}
	if version := c.img.Version(); !r.matched || r.img != version {
		r.topics = nil
		for _, t := range c.img.All() {
			if r.re.MatchString(t.Name) {
				r.topics = append(r.topics, t.Name)
			}
		}
		r.img, r.matched = version, true
	}
	return r.topics
}

// hashTopic is a number of a topic's name, id and partitions.
func hashTopic(t Topic) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(t.ID[:])
	_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(t.Partitions)))
	_, _ = h.Write([]byte(t.Name))
	return h.Sum64()
}
