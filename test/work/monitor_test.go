// Package work counts what each command of korvet makes Redis do. Redis runs one command at a time, so that what takes long
// holds up everybody. A clock would tell it, but also what else the machine does; here MONITOR tells every command, those
// within scripts too, and they are run again on a second Redis that holds the same, which shows what each touches.
//
//	KORVET_TEST_LONG=1  segments of 128 MiB instead of 8, and what Redis's SLOWLOG says at the end
package work

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// command is one line of MONITOR.
type command struct {
	lua  bool // called by a script, the one before it
	args []string
}

// watch hands every command that Redis runs from now on to take, in its order, until the test ends. sync waits until all
// that ran before it was taken.
func watch(t *testing.T, redis *redistest.Server, take func(command)) (sync func()) {
	t.Helper()
	conn, err := net.Dial("tcp", redis.Addr())
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(conn, 1<<20)
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := in.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	m := &marks{reached: map[string]chan struct{}{}}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			c, err := parse(strings.TrimSuffix(line[1:], "\r\n"))
			if err != nil {
				t.Errorf("MONITOR: %.200q: %v", line, err)
				return
			}
			if c.args[0] == "ECHO" {
				m.reach(c.args[1])
				continue
			}
			take(c)
		}
	}()
	return func() {
		t.Helper()
		name, reached := m.next()
		redis.Do("ECHO", name)
		select {
		case <-reached:
		case <-done:
			t.Fatal("MONITOR ended")
		}
	}
}

// marks are ECHOs whose place in MONITOR's lines somebody waits for.
type marks struct {
	mu      sync.Mutex
	n       int
	reached map[string]chan struct{}
}

func (m *marks) next() (string, chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	name, c := fmt.Sprint("mark", m.n), make(chan struct{})
	m.reached[name] = c
	return name, c
}

func (m *marks) reach(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.reached[name]; c != nil {
		close(c)
	}
}

// parse reads `<time> [<database> <client, or lua>] "<word>" ...`, with words quoted as C does.
func parse(line string) (command, error) {
	_, rest, ok := strings.Cut(line, " [")
	where, words, closed := strings.Cut(rest, "] ")
	if !ok || !closed {
		return command{}, fmt.Errorf("not a command")
	}
	c := command{lua: strings.HasSuffix(where, " lua")}
	for words != "" {
		quoted, err := strconv.QuotedPrefix(words)
		if err != nil {
			return c, fmt.Errorf("word %d: %w", len(c.args), err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return c, fmt.Errorf("word %d: %w", len(c.args), err)
		}
		c.args = append(c.args, word)
		words = strings.TrimPrefix(words[len(quoted):], " ")
	}
	if len(c.args) == 0 {
		return c, fmt.Errorf("no words")
	}
	c.args[0] = strings.ToUpper(c.args[0])
	return c, nil
}

func TestLinesOfMonitorAreReadAsTheyWereSent(t *testing.T) {
	redis := redistest.Start(t)
	want := []string{"SET", "a \"key\" \\ \t\x00\xff\n", "\a\b\r'é"}
	var got []command
	var mu sync.Mutex
	wait := watch(t, redis, func(c command) { mu.Lock(); defer mu.Unlock(); got = append(got, c) })
	redis.Do(want...)
	redis.Do("EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", want[1], want[2])
	wait()
	mu.Lock()
	defer mu.Unlock()
	found := 0
	for _, c := range got {
		if strings.Join(c.args, ",") == strings.Join(want, ",") {
			found++
			if c.lua != (found == 2) {
				t.Errorf("%q called by a script: %v", c.args, c.lua)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of two commands were found in %v", found, got)
	}
}
