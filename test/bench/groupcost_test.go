package main

import (
	"maps"
	"testing"
)

func TestRedisCommandsAreCounted(t *testing.T) {
	got, err := parseCommands("# Commandstats\r\ncmdstat_evalsha:calls=21,usec=175,usec_per_call=8.33\r\ncmdstat_config|get:calls=2,usec=5\r\n\r\n")
	if want := (map[string]float64{"evalsha": 21, "config|get": 2}); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseCommands("cmdstat_evalsha:usec=175"); err == nil {
		t.Error("a line without calls was accepted")
	}
}

func TestScenariosOfGroupsAreNamed(t *testing.T) {
	for want, s := range map[string]scenario{
		"500 members":                        {Members: 500},
		"2000 groups":                        {Groups: 2000},
		"100 groups, 10 partitions a commit": {Groups: 100, Partitions: 10},
		"1024 B, 6 partitions, 1 producer":   {Size: 1024, Partitions: 6, Producers: 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
