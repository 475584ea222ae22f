package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"
)

// pollPause is the pause between two looks at a server that starts, stops or is not our own child.
const pollPause = 10 * time.Millisecond

// child is a running Redis server.
type child struct {
	pid     int
	port    int
	adopted bool
	exited  chan struct{} // closed when it is gone
}

// spawn starts the program on a port and returns when it answers. The caller knows that no server uses the directory.
func spawn(ctx context.Context, binary, dir string, port int) (*child, error) {
	lock, err := tryLock(filepath.Join(dir, childFile))
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the server keeps its own copy
	out, err := openLog(dir)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if err := writeState(dir, state{Port: port}); err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, arguments(dir, port)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's Ctrl-C is for korvet, which stops the server last
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	c := &child{pid: cmd.Process.Pid, port: port, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // why it ended is in its log
		close(c.exited)
	}()
	if err := writeState(dir, state{Port: port, PID: c.pid}); err != nil {
		c.terminate(ctx)
		return nil, err
	}
	if err := c.await(ctx, dir); err != nil {
		c.terminate(ctx)
		return nil, err
	}
	return c, nil
}

func arguments(dir string, port int) []string {
	return []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--protected-mode", "yes", "--daemonize", "no",
		"--dir", dir, "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
		"--maxmemory-policy", "noeviction",
	}
}

// await returns when the child answers and has loaded its data.
func (c *child) await(ctx context.Context, dir string) error {
	for {
		pid, _, err := identify(ctx, c.port)
		if err == nil && pid == c.pid {
			return nil
		}
		if err == nil {
			return fmt.Errorf("start redis: port %d belongs to process %d", c.port, pid)
		}
		select {
		case <-c.exited:
			return fmt.Errorf("start redis: it ended, its log says:\n%s", logTail(dir))
		case <-ctx.Done():
			return fmt.Errorf("start redis: %w; its log is %s", ctx.Err(), filepath.Join(dir, logFile))
		case <-time.After(pollPause):
		}
	}
}

// adopt returns the server that lives in the directory without a parent, or nil when it ended meanwhile.
func adopt(ctx context.Context, dir string) (*child, error) {
	for childAlive(dir) {
		s, err := readState(dir)
		if err != nil {
			return nil, err
		}
		pid, where, err := identify(ctx, s.Port)
		if err == nil && where == dir {
			c := &child{pid: pid, port: s.Port, adopted: true, exited: make(chan struct{})}
			go c.watch(dir)
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("adopt redis: process %d uses %s and does not answer on port %d: stop it: %w", s.PID, dir, s.Port, ctx.Err())
		case <-time.After(pollPause):
		}
	}
	return nil, nil
}

// watch closes exited when a server that is nobody's child is gone.
func (c *child) watch(dir string) {
	for childAlive(dir) {
		time.Sleep(pollPause)
	}
	close(c.exited)
}

// terminate ends the server: orderly, and by force when ctx ends first.
func (c *child) terminate(ctx context.Context) {
	_ = syscall.Kill(c.pid, syscall.SIGTERM) // as SHUTDOWN: the AOF is written out; it may have ended by itself
	select {
	case <-c.exited:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(c.pid, syscall.SIGKILL)
	<-c.exited
}

// identify asks the server on a port who it is. An error: it does not answer, or still loads its data.
func identify(ctx context.Context, port int) (pid int, dir string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))},
		DisableCache:      true,
		DisableRetry:      true,
		ForceSingleClient: true,
		AlwaysRESP2:       true,
		Dialer:            net.Dialer{Timeout: time.Second},
	})
	if err != nil {
		return 0, "", fmt.Errorf("connect to redis: %w", err)
	}
	defer client.Close()
	info, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if err != nil {
		return 0, "", fmt.Errorf("ask redis for INFO: %w", err)
	}
	if strings.Contains(info, "\r\nloading:1") {
		return 0, "", errors.New("redis loads its data")
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); ok {
			pid, err = strconv.Atoi(text)
		}
	}
	if err != nil {
		return 0, "", fmt.Errorf("read INFO: %w", err)
	}
	config, err := client.Do(ctx, client.B().ConfigGet().Parameter("dir").Build()).AsStrMap()
	if err != nil {
		return 0, "", fmt.Errorf("ask redis for its directory: %w", err)
	}
	return pid, config["dir"], nil
}

// openLog opens the server's log for appending and starts it anew when it has grown.
func openLog(dir string) (*os.File, error) {
	const most = 4 << 20
	path, mode := filepath.Join(dir, logFile), os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > most {
		mode = os.O_TRUNC
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open redis log: %w", err)
	}
	return f, nil
}

func logTail(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-600):])
}
