package clients_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// kcatMember is kcat's balanced consumer.
func kcatMember(addr string) memberProgram {
	return memberProgram{
		command: func(o memberOptions) *exec.Cmd {
			args := []string{"kcat", "-G", o.group, "-b", addr, "-u", "-f", `record %p %o %s\n`}
			for _, setting := range []string{"auto.offset.reset=earliest", "auto.commit.interval.ms=500", "fetch.wait.max.ms=100",
				fmt.Sprintf("session.timeout.ms=%d", o.session.Milliseconds()), "heartbeat.interval.ms=500"} {
				args = append(args, "-X", setting)
			}
			if o.instance != "" {
				args = append(args, "-X", "group.instance.id="+o.instance)
			}
			if o.cooperative {
				args = append(args, "-X", "partition.assignment.strategy=cooperative-sticky")
			}
			if o.max > 0 {
				args = append(args, "-c", fmt.Sprint(o.max))
			}
			// kcat tells on standard error what it has been assigned.
			return exec.Command("sh", append([]string{"-c", `exec "$0" "$@" 2>&1`}, append(args, o.topic)...)...)
		},
		parse: parseKcatMember,
		stop:  interrupt,
		// librdkafka's enable.auto.offset.store stores the offset of "last message provided to application", and kcat cannot do without.
		storesFirst: true,
	}
}

var (
	kcatRebalanced = regexp.MustCompile(`^% Group \S+ rebalanced.*?: .*?(assign|revoke)`)
	kcatPartition  = regexp.MustCompile(`\[(\d+)\]`)
)

// parseKcatMember makes a member's line of one of kcat's: "% Group g rebalanced (memberid m): assigned: t [0], t [1]", or with the cooperative protocol
// "% Group g rebalanced: incremental revoke of 1 partition(s) (memberid m ...): t [0]".
func parseKcatMember(line string) string {
	if strings.HasPrefix(line, "record ") {
		return line
	}
	m := kcatRebalanced.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	words := []string{map[string]string{"assign": "assigned", "revoke": "revoked"}[m[1]]}
	for _, place := range kcatPartition.FindAllStringSubmatch(line, -1) {
		words = append(words, place[1])
	}
	return strings.Join(words, " ")
}
