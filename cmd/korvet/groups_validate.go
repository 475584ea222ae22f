package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// groupsJob is what the texts of the flags mean.
type groupsJob struct {
	scopes []scope
	way    string        // of resetting: one of resetWays
	at     int64         // Unix milliseconds, of --to-datetime
	back   time.Duration // of --by-duration
	plan   []planned     // of --from-file
}

// validate checks the flags. changed tells whether a flag was given.
func (f *groupsFlags) validate(changed func(string) bool) (groupsJob, error) {
	if err := f.validateAction(); err != nil {
		return groupsJob{}, err
	}
	if err := f.validateDetails(); err != nil {
		return groupsJob{}, err
	}
	var job groupsJob
	for _, text := range f.topics {
		s, err := parseScope(text)
		if err != nil {
			return groupsJob{}, fmt.Errorf("--topic %s: %w", text, err)
		}
		job.scopes = append(job.scopes, s)
	}
	ways := slices.DeleteFunc(slices.Clone(resetWays), func(way string) bool { return !changed(way) })
	if !f.resetOffsets {
		if len(ways) > 0 || f.reset.dryRun || f.reset.execute || f.reset.export {
			return groupsJob{}, errors.New("--to-..., --by-duration, --shift-by, --from-file, --dry-run, --execute and --export go with --reset-offsets")
		}
		return job, nil
	}
	err := f.validateReset(ways, &job)
	return job, err
}

// validateAction checks what is to be done to which groups.
func (f *groupsFlags) validateAction() error {
	actions := 0
	for _, wanted := range []bool{f.list, f.describe, f.resetOffsets, f.delete, f.deleteOffsets} {
		if wanted {
			actions++
		}
	}
	switch {
	case actions != 1:
		return errors.New("groups needs one of --list, --describe, --reset-offsets, --delete and --delete-offsets")
	case len(f.groups) > 0 && f.allGroups:
		return errors.New("--group and --all-groups exclude each other")
	case f.list && (len(f.groups) > 0 || f.allGroups):
		return errors.New("--list takes no groups; --describe does")
	case f.deleteOffsets && (len(f.groups) != 1 || f.allGroups):
		return errors.New("--delete-offsets needs one --group")
	case !f.list && len(f.groups) == 0 && !f.allGroups:
		return errors.New("--group or --all-groups is missing")
	case slices.Contains(f.groups, "") && !f.deleteOffsets:
		return errors.New("--group must not be empty")
	}
	return nil
}

// validateDetails checks the flags that go with some actions only.
func (f *groupsFlags) validateDetails() error {
	sections := 0
	for _, wanted := range []bool{f.members, f.offsets, f.state.on} {
		if wanted {
			sections++
		}
	}
	switch {
	case f.state.on && !f.list && !f.describe:
		return errors.New("--state goes with --list and --describe")
	case f.kind.on && !f.list:
		return errors.New("--type goes with --list")
	case len(f.state.values) > 0 && !f.list:
		return errors.New("--state takes values with --list only")
	case (f.members || f.offsets || f.verbose) && !f.describe:
		return errors.New("--members, --offsets and --verbose go with --describe")
	case f.describe && sections > 1:
		return errors.New("--members, --offsets and --state exclude each other")
	case (len(f.topics) > 0 || f.allTopics) && !f.resetOffsets && !f.deleteOffsets:
		return errors.New("--topic and --all-topics go with --reset-offsets and --delete-offsets")
	case len(f.topics) > 0 && f.allTopics:
		return errors.New("--topic and --all-topics exclude each other")
	case f.deleteOffsets && len(f.topics) == 0:
		return errors.New("--delete-offsets needs --topic")
	}
	return nil
}

// validateReset checks where offsets are to be reset to, and reads it.
func (f *groupsFlags) validateReset(ways []string, job *groupsJob) error {
	switch {
	case len(ways) != 1:
		return fmt.Errorf("--reset-offsets needs one of --%s", strings.Join(resetWays, ", --"))
	case f.reset.dryRun && f.reset.execute:
		return errors.New("--dry-run and --execute exclude each other")
	case f.reset.fromFile != "" && (len(f.topics) > 0 || f.allTopics):
		return errors.New("--from-file names the topics itself: it goes without --topic and --all-topics")
	case f.reset.fromFile == "" && len(f.topics) == 0 && !f.allTopics:
		return errors.New("--reset-offsets needs --topic or --all-topics")
	}
	job.way = ways[0]
	var err error
	switch job.way {
	case "to-datetime":
		job.at, err = parseDatetime(f.reset.toDatetime)
	case "by-duration":
		job.back, err = parsePeriod(f.reset.byDuration)
	case "from-file":
		job.plan, err = readPlan(f.reset.fromFile)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", job.way, err)
	}
	return nil
}
