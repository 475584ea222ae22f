package redischeck

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

//go:embed trims.lua
var trimsScript string

// Facts are what a Redis tells of itself.
type Facts struct {
	Info       map[string]string
	InfoErr    error             // INFO is refused
	Config     map[string]string // what CONFIG GET tells of configNames
	ConfigErr  error             // it is refused, as many managed Redis do
	Trims      string            // how it trims a stream by id: trimsRight, or wrong
	TrimsErr   error             // it could not be tried: the Redis is full, a replica, or its user may not
	RoundTrips []time.Duration   // of some PINGs, one after the other
	Self       string            // the user we are
	Users      []User            // those that can log in
	UsersErr   error             // ACL is refused
}

// trimsRight is how many entries the trial trims and leaves.
const trimsRight = "3 1"

// roundTrips is how many are measured.
const roundTrips = 50

// configNames are the settings that checks look at. None is a secret.
var configNames = [...]string{
	"save", "appendfsync", "no-appendfsync-on-rewrite", "stream-node-max-bytes", "stream-node-max-entries",
	"min-replicas-to-write", "timeout", "tcp-keepalive", "disable-thp",
}

// ReadStart looks at what JudgeStart judges. An error: the Redis does not answer.
func ReadStart(ctx context.Context, client rueidis.Client, namespace string) (Facts, error) {
	var f Facts
	text, refused, err := ask(ctx, client, client.B().Info().Build())
	if err != nil {
		return f, fmt.Errorf("read INFO: %w", err)
	}
	f.Info, f.InfoErr = parseInfo(text), refused
	trial := client.B().Eval().Script(trimsScript).Numkeys(1).Key(namespace + ":storage:check").Build()
	if f.Trims, f.TrimsErr, err = ask(ctx, client, trial); err != nil {
		return f, fmt.Errorf("try to trim a stream: %w", err)
	}
	return f, nil
}

// ask runs a command whose answer is text, "" where it is refused: the client gives the error's text then, too.
func ask(ctx context.Context, client rueidis.Client, command rueidis.Completed) (text string, refused, failed error) {
	text, err := client.Do(ctx, command).ToString()
	if err != nil {
		text = ""
	}
	refused, failed = refusal(err)
	return text, refused, failed
}

// Read looks at everything. An error: the Redis does not answer.
func Read(ctx context.Context, client rueidis.Client, namespace string, now func() time.Time) (Facts, error) {
	f, err := ReadStart(ctx, client, namespace)
	if err != nil {
		return f, err
	}
	if err := f.readConfig(ctx, client); err != nil {
		return f, fmt.Errorf("read settings: %w", err)
	}
	if err := f.readUsers(ctx, client, namespace); err != nil {
		return f, fmt.Errorf("read users: %w", err)
	}
	for range roundTrips {
		begin := now()
		if err := client.Do(ctx, client.B().Ping().Build()).Error(); err != nil {
			return f, fmt.Errorf("measure a round trip: %w", err)
		}
		f.RoundTrips = append(f.RoundTrips, now().Sub(begin))
	}
	return f, nil
}

func (f *Facts) readConfig(ctx context.Context, client rueidis.Client) error {
	f.Config = map[string]string{}
	for _, name := range configNames {
		values, err := client.Do(ctx, client.B().ConfigGet().Parameter(name).Build()).AsStrMap()
		if f.ConfigErr, err = refusal(err); err != nil || f.ConfigErr != nil {
			return err
		}
		if value, known := values[name]; known {
			f.Config[name] = value
		}
	}
	return nil
}

// refusal tells apart a command that is not there, or that the user may not run, which is a finding, from a Redis that
// does not answer it now.
func refusal(err error) (refused, failed error) {
	refusal, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return nil, err
	}
	switch word, _, _ := strings.Cut(refusal.Error(), " "); word {
	case "BUSY", "LOADING", "MASTERDOWN":
		return nil, err
	}
	return refusal, nil
}

// parseInfo reads INFO's name:value lines.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		if name, value, ok := strings.Cut(strings.TrimRight(sc.Text(), "\r"), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// number is one of INFO, 0 where it does not tell.
func (f Facts) number(name string) int64 {
	n, err := strconv.ParseInt(f.Info[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// setting is a number of CONFIG.
func (f Facts) setting(name string) (n int64, known bool) {
	n, err := strconv.ParseInt(f.Config[name], 10, 64)
	return n, err == nil
}
