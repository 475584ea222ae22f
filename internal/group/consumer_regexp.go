package group

import (
	"encoding/binary"
	"hash/fnv"
	"regexp"
	"regexp/syntax"
)

// topicRegexp is a regular expression that members are subscribed to. Its topics are those whose whole name it matches
// (KIP-848; the syntax is RE2's).
type topicRegexp struct {
	re      *regexp.Regexp
	img     uint64 // version of the view that topics are of
	matched bool   // there was one
	topics  []string
}

// maxRegexp bounds what a client can make a broker compile: the text in bytes and, as a short one can stand for much, the
// steps that it compiles to: (a{1000}){1000}. Memory, and the time for each character of a name, grow with both.
const maxRegexp = 16 << 10

// maxClasses bounds the runes in all character classes of a regular expression. One of a script has some hundreds.
const maxClasses = 8 * maxRegexp

// weigh counts about the steps that a regular expression compiles to, and the runes in its classes. Once there are too
// many it need not count the others.
func weigh(re *syntax.Regexp) (steps, classes int) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), 0
	case syntax.OpCharClass:
		return 1, len(re.Rune)
	}
	steps = 1
	for _, sub := range re.Sub {
		s, c := weigh(sub)
		steps, classes = steps+s, classes+c
		if steps > maxRegexp || classes > maxClasses {
			return steps, classes
		}
	}
	if re.Op == syntax.OpRepeat {
		steps *= max(re.Min, re.Max, 1)
	}
	return steps, classes
}

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
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, ErrInvalidRegexp
	}
	if steps, classes := weigh(tree); steps > maxRegexp || classes > maxClasses {
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
