package group

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTopicsThatChangeAreAssignedAnew(t *testing.T) {
	r := newConsumerRig(t)
	r.wantBeat(r.mustBeat(joining("a", "t000", "new")), 2, parts(1, 0, 1, 2, 3, 4, 5))

	r.img = r.img.with(Topic{Name: "other", ID: topicID(8), Partitions: 1})
	r.wantBeat(r.mustBeat(plain("a", 2)), 2)
	r.img = r.img.with(Topic{Name: "new", ID: topicID(9), Partitions: 2})
	r.wantBeat(r.mustBeat(plain("a", 2)), 3, parts(1, 0, 1, 2, 3, 4, 5), parts(9, 0, 1))
	r.img = r.img.with(Topic{Name: "new", ID: topicID(9), Partitions: 3})
	r.wantBeat(r.mustBeat(plain("a", 3)), 4, parts(1, 0, 1, 2, 3, 4, 5), parts(9, 0, 1, 2))
	r.img = r.img.without("t000")
	r.wantBeat(r.mustBeat(plain("a", 4)), 4, parts(9, 0, 1, 2))
	r.wantBeat(r.mustBeat(has("a", 4, parts(9, 0, 1, 2))), 5)
	r.img = r.img.with(Topic{Name: "new", ID: topicID(10), Partitions: 1})
	r.wantBeat(r.mustBeat(plain("a", 5)), 5, nothing...)
	r.wantBeat(r.mustBeat(has("a", 5)), 6, parts(10, 0))
	r.want(Stable)
}

func TestTopicsThatChangeAreNoticedByTickToo(t *testing.T) {
	r := newConsumerRig(t)
	r.two()
	r.img = r.img.with(Topic{Name: "t000", ID: topicID(1), Partitions: 8})
	r.tick()
	r.want(Assigning)
}

func TestRegularExpressionsFollowTheTopics(t *testing.T) {
	r := newConsumerRig(t)
	r.wantBeat(r.mustBeat(joining("a").matching("t00[12]")), 2, parts(2, 0, 1, 2), parts(3, 0))
	r.img = r.img.with(Topic{Name: "t0012", ID: topicID(12), Partitions: 1}) // matches only in part
	r.wantBeat(r.mustBeat(plain("a", 2)), 2)
	r.img = r.img.with(Topic{Name: "t001", ID: topicID(2), Partitions: 4})
	r.wantBeat(r.mustBeat(plain("a", 2)), 3, parts(2, 0, 1, 2, 3), parts(3, 0))
	r.img = r.img.without("t001")
	r.wantBeat(r.mustBeat(has("a", 3, parts(3, 0))), 4, parts(3, 0))

	more := plain("a", 4)
	more.Topics = &[]string{"t000"}
	r.wantBeat(r.mustBeat(more), 5, parts(1, 0, 1, 2, 3, 4, 5), parts(3, 0))
	none := plain("a", 5)
	none.Regexp = new(string)
	r.wantBeat(r.mustBeat(none), 5, parts(1, 0, 1, 2, 3, 4, 5))
	if n := len(r.consumer().regexps); n != 0 {
		t.Errorf("%d regular expressions kept", n)
	}
}

func TestRegularExpressionOfALeaverIsForgotten(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a").matching("t.*"))
	r.mustBeat(joining("b").matching("t000"))
	r.mustBeat(plain("a", -1))
	if r.g.Subscribed("t001") || !r.g.Subscribed("t000") || r.g.Subscribed("xt000") {
		t.Error("subscribed to other topics")
	}
}

func TestSubscribedKnowsNamesAndExpressionsAlsoOfARestoredGroup(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	r.mustBeat(joining("b").matching("t00[1]"))
	r.restart()
	for topic, want := range map[string]bool{"t000": true, "t001": true, "t002": false} {
		if got := r.g.Subscribed(topic); got != want {
			t.Errorf("%s: %v", topic, got)
		}
	}
	r.mustBeat(plain("a", -1))
	r.mustBeat(plain("b", -1))
	if r.g.Subscribed("t000") {
		t.Error("an empty group is subscribed")
	}
}

func TestAssignedTopicsAreThoseOfTheRangeAssignorWhereItIsPreferred(t *testing.T) {
	r := newConsumerRig(t)
	r.set.Assignors = []string{RangeAssignor, UniformAssignor}
	r.mustBeat(joining("a", "t001", "t002"))
	r.mustBeat(joining("b", "t001", "t002"))
	r.wantBeat(r.mustBeat(has("a", 2, parts(2, 0, 1), parts(3, 0))), 3, parts(2, 0, 1), parts(3, 0))
	r.wantBeat(r.mustBeat(plain("b", 3)), 3, parts(2, 2))
}

func TestUnknownTopicsAreNothing(t *testing.T) {
	r := newConsumerRig(t)
	r.wantBeat(r.mustBeat(joining("a", "nothing", "t002")), 2, parts(3, 0))
	r.wantBeat(r.mustBeat(joining("b", "nothing")), 3, nothing...)
	r.wantBeat(r.mustBeat(joining("c")), 3, nothing...) // subscribed to nothing: no reason to assign
	r.wait(time.Second)
	r.wantBeat(r.mustBeat(plain("a", 2)), 3)
	r.wantBeat(r.mustBeat(plain("b", 3)), 3)
	r.want(Stable)
}

// A text of a few bytes can stand for a program of many megabytes that takes seconds for one name.
func TestRegularExpressionsThatStandForMuchAreInvalid(t *testing.T) {
	for text, want := range map[string]error{
		strings.Repeat("(?:x{1000})", 1400):              ErrInvalidRegexp,
		"(?:" + strings.Repeat("[a-z]?", 100) + "){200}": ErrInvalidRegexp,
		strings.Repeat("(?:[a-z]?){1000}", 9):            ErrInvalidRegexp,
		strings.Repeat(`\pL`, 5000):                      ErrInvalidRegexp,
		"(?:(?:a{10}){10}){10}":                          nil,
		strings.Repeat("orders-eu|", 1600) + "x":         nil,
		strings.Repeat(`\pL`, 50):                        nil,
		`(?i)[\pL\d_.-]{1,249}`:                          nil,
	} {
		if _, err := compileTopics(text); !errors.Is(err, want) {
			t.Errorf("%.40s: %v, want %v", text, err, want)
		}
	}
}
