package clients_test

import (
	"fmt"
	"os/exec"
	"regexp"
)

// sigtermExit is how a Java program ends that has closed its consumer after SIGTERM.
const sigtermExit = 143

// consoleMember is Kafka's console consumer in a group.
func consoleMember(run func(class string, args ...string) *exec.Cmd) memberProgram {
	return memberProgram{
		command: func(o memberOptions) *exec.Cmd {
			args := []string{"--topic", o.topic, "--group", o.group, "--from-beginning"}
			settings := []string{"auto.commit.interval.ms=500", "fetch.max.wait.ms=100"}
			if o.consumerProtocol {
				settings = append(settings, "group.protocol=consumer")
			} else {
				settings = append(settings, fmt.Sprintf("session.timeout.ms=%d", o.session.Milliseconds()), "heartbeat.interval.ms=500")
			}
			if o.instance != "" {
				settings = append(settings, "group.instance.id="+o.instance)
			}
			for _, setting := range settings {
				args = append(args, "--command-property", setting)
			}
			for _, property := range []string{"print.partition=true", "print.offset=true", "key.separator= "} {
				args = append(args, "--formatter-property", property)
			}
			if o.max > 0 {
				args = append(args, "--max-messages", fmt.Sprint(o.max))
			}
			return run("consumer.ConsoleConsumer", args...)
		},
		parse: func(line string) string { return consoleFed.ReplaceAllString(line, "record $1 $2 $3") },
		stop:  interrupt,
		exit:  sigtermExit,
	}
}

var consoleFed = regexp.MustCompile(`^Partition:(\d+) Offset:(\d+) (\S+)$`)
