package clients_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/korvet-io/korvet/test/harness"
)

// memberOptions are what a member of a group is started with. They are the words after "member" on the first line of its standard input.
type memberOptions struct {
	group string
	topic string
	// session is the session timeout of the classic protocol; the consumer protocol has the broker's.
	session time.Duration
	// instance makes a static member.
	instance string
	// cooperative asks for the cooperative rebalance protocol, for an application that has to ask for it.
	cooperative bool
	// consumerProtocol asks for the consumer protocol (KIP-848).
	consumerProtocol bool
	// max, if not 0, makes the member commit after so many records exactly what it has handed out, leave and end.
	max int
}

func (o memberOptions) words() string {
	words := []string{"member", o.group, o.topic, fmt.Sprintf("session=%d", o.session.Milliseconds())}
	if o.instance != "" {
		words = append(words, "instance="+o.instance)
	}
	if o.cooperative {
		words = append(words, "cooperative=true")
	}
	if o.consumerProtocol {
		words = append(words, "protocol=consumer")
	}
	if o.max > 0 {
		words = append(words, fmt.Sprintf("max=%d", o.max))
	}
	return strings.Join(words, " ")
}

// member is a process that is one member of a group. It reads from the earliest record where nothing is committed, commits at least every second
// and when partitions are taken away, and says what happens, one line each:
//
//	assigned P...        partitions that it has now in addition
//	revoked P...         partitions that it has no more
//	record P OFFSET VALUE
//	paused P, resumed P  the command was carried out
//	error WHY
//
// The commands are "pause P", "resume P" and "close", which makes it leave the group and end.
type member struct {
	name  string
	crowd *crowd
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// parse makes one of the lines above from what a program that is not of this folder prints, or "" from what says nothing.
	parse func(line string) string
	// stop ends the member in an orderly way, with the exit code.
	stop   func(*member) error
	exit   int
	stores bool          // memberProgram.storesFirst
	stderr string        // a file
	ended  chan struct{} // closed when all output was read and the process is gone

	// What follows is guarded by crowd.mu.
	read    []position
	highest map[int32]int64 // of each partition that it has read from
	changes []assignmentChange
	acks    []string // "paused 0"
	chatter []string // the newest lines that say nothing else
	failure error
}

// chatterLines bounds a member's chatter.
const chatterLines = 5

type position struct {
	partition int32
	offset    int64
}

type assignmentChange struct {
	revoked    bool
	partitions []int32
}

// memberProgram tells how a client's members are started. Command is not started yet and has neither input nor output.
type memberProgram struct {
	command func(memberOptions) *exec.Cmd
	// parse and stop are for programs that are not of this folder; nil: the lines and commands of member.
	parse func(line string) string
	stop  func(*member) error
	// exit is the exit code after stop.
	exit int
	// storesFirst: a record's offset is stored, and may be committed, before the record is printed. Of a member that is killed in
	// between nobody sees it.
	storesFirst bool
}

// startMember starts a member that ends with the crowd at the latest.
func (c *crowd) startMember(name string, p memberProgram, o memberOptions) (*member, error) {
	cmd := p.command(o)
	cmd.SysProcAttr = harness.EndWithParent()
	m := &member{
		name: name, crowd: c, cmd: cmd, parse: p.parse, stop: p.stop, exit: p.exit, stores: p.storesFirst, ended: make(chan struct{}), highest: map[int32]int64{},
		stderr: filepath.Join(c.dir, fmt.Sprintf("%s-%d.stderr", name, len(c.members))),
	}
	stderr, err := os.Create(m.stderr)
	if err != nil {
		return nil, fmt.Errorf("create file for errors: %w", err)
	}
	defer func() { _ = stderr.Close() }()
	cmd.Stderr = stderr
	if m.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("connect to member %s: %w", name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to member %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start member %s: %w", name, err)
	}
	c.add(m)
	go m.listen(stdout)
	if m.parse == nil {
		if _, err := fmt.Fprintln(m.stdin, o.words()); err != nil {
			return nil, fmt.Errorf("start member %s: %w", name, err)
		}
	}
	return m, nil
}

// listen takes in what the member says until it ends.
func (m *member) listen(stdout io.Reader) {
	defer close(m.ended)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m.parse != nil {
			line = m.parse(line)
		}
		m.crowd.note(m, func() error {
			if line == "" {
				m.chatter = append(m.chatter[max(0, len(m.chatter)-chatterLines+1):], lines.Text())
				return nil
			}
			return m.take(line)
		})
	}
	err := errors.Join(lines.Err(), m.cmd.Wait())
	m.crowd.note(m, func() error { return err })
}

// take keeps what one line says. The caller has crowd.mu.
func (m *member) take(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "record":
		return m.takeRecord(strings.Fields(rest))
	case "assigned", "revoked":
		var p fieldParser
		change := assignmentChange{revoked: word == "revoked"}
		for _, f := range strings.Fields(rest) {
			change.partitions = append(change.partitions, int32(p.number(f)))
		}
		m.changes = append(m.changes, change)
		return p.err
	case "paused", "resumed":
		m.acks = append(m.acks, line)
		return nil
	}
	return errors.New(line)
}

func (m *member) takeRecord(f []string) error {
	if len(f) != 3 {
		return fmt.Errorf("record of %d fields", len(f))
	}
	var p fieldParser
	at := position{int32(p.number(f[0])), p.number(f[1])}
	if want := fedValue(at.partition, at.offset); p.err == nil && f[2] != want {
		return fmt.Errorf("record %d of partition %d has value %q, want %q", at.offset, at.partition, f[2], want)
	}
	m.read = append(m.read, at)
	if h, any := m.highest[at.partition]; !any || at.offset > h {
		m.highest[at.partition] = at.offset
	}
	return p.err
}

// say sends a command.
func (m *member) say(words string) error {
	if _, err := fmt.Fprintln(m.stdin, words); err != nil {
		return fmt.Errorf("tell member %s to %s: %w", m.name, words, err)
	}
	return nil
}

// do sends a command and waits until the member has carried it out.
func (m *member) do(ctx context.Context, verb, done string, partition int32) error {
	if err := m.say(fmt.Sprintf("%s %d", verb, partition)); err != nil {
		return err
	}
	want := done + " " + strconv.Itoa(int(partition))
	return m.crowd.await(ctx, func() error {
		for _, ack := range m.acks {
			if ack == want {
				return nil
			}
		}
		return fmt.Errorf("member %s has not %s partition %d", m.name, done, partition)
	})
}

// close makes the member leave the group and waits for its end, which must be one in order.
func (m *member) close(ctx context.Context) error {
	stop := m.stop
	if stop == nil {
		stop = func(m *member) error { return m.say("close") }
	}
	m.crowd.leave(m)
	if err := stop(m); err != nil {
		return err
	}
	err := m.awaitEnd(ctx)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == m.exit {
		return nil
	}
	return err
}

// awaitEnd waits until the member has ended by itself, in order.
func (m *member) awaitEnd(ctx context.Context) error {
	select {
	case <-m.ended:
	case <-ctx.Done():
		return fmt.Errorf("member %s does not end: %w", m.name, ctx.Err())
	}
	m.crowd.leave(m)
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	if m.failure != nil {
		return fmt.Errorf("member %s: %w; %s", m.name, m.failure, m.complaints())
	}
	return nil
}

// kill9 ends the member in the middle of whatever it does.
func (m *member) kill9() {
	m.crowd.leave(m)
	_ = m.cmd.Process.Kill() // it may have ended by itself
	<-m.ended
	m.crowd.mu.Lock()
	defer m.crowd.mu.Unlock()
	m.crowd.killed = append(m.crowd.killed, m)
}

// interrupt is how a command-line program is stopped in an orderly way.
func interrupt(m *member) error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("interrupt member %s: %w", m.name, err)
	}
	return nil
}

// complaints is the end of what the member wrote beside its lines. The caller has crowd.mu.
func (m *member) complaints() string {
	b, err := os.ReadFile(m.stderr)
	if err != nil {
		return err.Error()
	}
	return strings.Join(m.chatter, "\n") + string(b[max(0, len(b)-600):])
}
