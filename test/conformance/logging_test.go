package conformance

import (
	"strings"
	"testing"
)

// TestAClosedConnectionIsOneLogLine: who runs old or foreign clients finds in the log which one was refused, and why.
func TestAClosedConnectionIsOneLogLine(t *testing.T) {
	to := startOwn(t)
	for _, r := range []struct{ name, frame, words string }{
		{"version too high", "00000014 0003 0063 00000001 0006 636c69656e74 00000000", "unsupported version 99 of Metadata"},
		{"unknown API", "00000010 03e7 0000 00000001 0006 636c69656e74", "unsupported api key 999"},
		{"request that cannot be read", "00000014 0003 0001 00000001 0006 636c69656e74 7fffffff", "decode Metadata version 1"},
	} {
		c := dial(t, to)
		before := strings.Count(to.own.Logs(), "closing connection")
		c.writeHex(r.frame)
		if !c.closed() {
			t.Errorf("%s: not closed", r.name)
		}
		var lines []string
		c.eventually("log tells", func() bool {
			lines = strings.Split(strings.TrimSpace(to.own.Logs()), "\n")
			return strings.Contains(lines[len(lines)-1], r.words)
		})
		if n := strings.Count(to.own.Logs(), "closing connection") - before; n != 1 || !strings.Contains(lines[len(lines)-1], "client_id=client") {
			t.Errorf("%s: %d lines, the last is %s", r.name, n, lines[len(lines)-1])
		}
	}
}
