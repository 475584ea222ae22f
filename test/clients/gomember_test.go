package clients_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// goMemberVariable makes this test's binary a member of a group instead: its value is the client's name and the broker's address.
const goMemberVariable = "KORVET_TEST_MEMBER"

// goMembers are the clients in Go that can be members.
var goMembers = map[string]func(context.Context, string, memberOptions, *memberLines) error{
	"franz-go": franzMember,
	"Sarama":   saramaMember,
	"kafka-go": kafkaGoMember,
}

func TestMain(m *testing.M) {
	name, addr, isMember := strings.Cut(os.Getenv(goMemberVariable), "@")
	if !isMember {
		os.Exit(m.Run())
	}
	if err := beMember(name, addr); err != nil {
		fmt.Printf("error %q\n", err.Error())
		os.Exit(1)
	}
}

// goMember starts this binary again as a member.
func goMember(name, addr string) memberProgram {
	return memberProgram{command: func(memberOptions) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), goMemberVariable+"="+name+"@"+addr)
		return cmd
	}}
}

// beMember is the member's process. It ends at the command close, or when the member has read all that it was to read.
func beMember(name, addr string) error {
	in := bufio.NewReader(os.Stdin)
	first, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read options: %w", err)
	}
	o, err := parseMemberOptions(strings.Fields(first))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := &memberLines{out: os.Stdout, commands: make(chan memberCommand)}
	go lines.obey(in, cancel)
	return goMembers[name](ctx, addr, o, lines)
}

func parseMemberOptions(words []string) (memberOptions, error) {
	if len(words) < 3 || words[0] != "member" {
		return memberOptions{}, fmt.Errorf("%q is not member GROUP TOPIC", words)
	}
	o := memberOptions{group: words[1], topic: words[2]}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "session":
			o.session, err = time.ParseDuration(value + "ms")
		case "instance":
			o.instance = value
		case "cooperative":
			o.cooperative = true
		case "protocol":
			o.consumerProtocol = true
		case "max":
			o.max, err = strconv.Atoi(value)
		}
		if err != nil {
			return o, fmt.Errorf("option %s: %w", word, err)
		}
	}
	return o, nil
}

// memberLines is how a member speaks with its test. Its methods may be called from several goroutines.
type memberLines struct {
	mu  sync.Mutex
	out io.Writer
	// commands are the pauses and resumes to carry out. They end with "close".
	commands chan memberCommand
}

type memberCommand struct {
	resume    bool
	partition int32
}

// obey passes on commands until "close" or the end of the input, and then cancels.
func (l *memberLines) obey(in *bufio.Reader, cancel func()) {
	defer cancel()
	for {
		line, err := in.ReadString('\n')
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		partition, numberErr := strconv.ParseInt(rest, 10, 32)
		if err != nil || numberErr != nil || verb == "close" {
			return
		}
		l.commands <- memberCommand{resume: verb == "resume", partition: int32(partition)}
	}
}

// done tells that the command was carried out.
func (l *memberLines) done(c memberCommand) {
	if c.resume {
		l.say("resumed %d", c.partition)
	} else {
		l.say("paused %d", c.partition)
	}
}

func (l *memberLines) record(partition int32, offset int64, value []byte) {
	l.say("record %d %d %s", partition, offset, value)
}

// changed tells what the member has more or less, word being assigned or revoked.
func (l *memberLines) changed(word string, partitions []int32) {
	l.say("%s%s", word, strings.TrimSuffix(fmt.Sprintln(append([]any{""}, anys(partitions)...)...), "\n"))
}

func (l *memberLines) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, format+"\n", args...) // who does not listen any more will kill us
}

func anys(partitions []int32) []any {
	list := make([]any, len(partitions))
	for i, p := range partitions {
		list[i] = p
	}
	return list
}

// unlessAsked is the error unless the member was told to close.
func unlessAsked(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
