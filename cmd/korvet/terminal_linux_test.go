package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a terminal of a size.
func openTerminal(t *testing.T, columns, rows uint16) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

func TestDemoShowsALiveViewOnATerminalAndGivesTheScreenBack(t *testing.T) {
	h := newHome(t)
	ours, theirs := openTerminal(t, 100, 40)
	screen := &output{}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			_, _ = screen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	cmd := h.command(h.demo("--rate", "200")...)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdout, cmd.Stderr = theirs, theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[?1049h\x1b[?25l", "korvet demo", "records/s", "p50", "redis memory", "events-2", "XREVRANGE korvet:storage:local:events:0", "customer-", "demo-consumers  Stable", "demo-consumer-2", "redis  3 open", "ATTACH", "offsets   records   values   stored in redis   age"} {
		eventually(t, want+" on the screen:\n", screen, func() bool { return strings.Contains(screen.String(), want) })
	}
	child := h.child()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, screen)
	}
	eventually(t, "the screen and the cursor back, then the summary:\n", screen, func() bool {
		_, after, found := strings.Cut(screen.String(), "\x1b[?25h\x1b[?1049l")
		return found && strings.Contains(after, "records were produced")
	})
	if !gone(child) {
		t.Error("its Redis lives")
	}
}
