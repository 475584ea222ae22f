package redisproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Files of a data directory, beside Redis's own.
const (
	ownerFile = "korvet.lock" // locked by the korvet that uses the directory; holds its process id, for people
	childFile = "redis.lock"  // locked by the Redis server itself, which inherits it open: free means that none lives
	stateFile = "redis.json"  // where the server listens; written before it starts
	logFile   = "redis.log"
)

// InUseError says that another korvet uses the data directory.
type InUseError struct {
	Dir string
	PID string // of the other one; empty when unknown
}

func (e *InUseError) Error() string {
	who := "another korvet"
	if e.PID != "" {
		who += " (process " + e.PID + ")"
	}
	return fmt.Sprintf("%s uses the data directory %s: stop it, or name another directory", who, e.Dir)
}

// state is what a later korvet needs to find a server that outlived its parent.
type state struct {
	Port int `json:"port"`
	PID  int `json:"pid"` // 0 until the server was started
}

// DefaultDir is the place for a child's data below the user's data directory.
func DefaultDir(name string) (string, error) {
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find data directory: %w", err)
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "korvet", name), nil
}

// prepare creates the directory for this user only and returns its path without links, as Redis reports it.
func prepare(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create data directory: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("resolve data directory: %w", err)
	}
	return dir, nil
}

// lockOwner makes this process the directory's only user until the file is closed or the process ends.
func lockOwner(dir string) (*os.File, error) {
	f, err := tryLock(filepath.Join(dir, ownerFile))
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, _ := os.ReadFile(filepath.Join(dir, ownerFile)) // the message can do without
		return nil, &InUseError{Dir: dir, PID: strings.TrimSpace(string(pid))}
	}
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write lock file: %w", err)
	}
	return f, nil
}

// tryLock opens and locks a file. unix.EWOULDBLOCK: somebody has it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// childAlive tells whether a Redis server, or a process that it forked, uses the directory.
func childAlive(dir string) bool {
	f, err := tryLock(filepath.Join(dir, childFile))
	if err != nil {
		return errors.Is(err, unix.EWOULDBLOCK)
	}
	_ = f.Close()
	return false
}

func readState(dir string) (state, error) {
	var s state
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return s, fmt.Errorf("read state file: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read state file: %w", err)
	}
	return s, nil
}

// writeState replaces the state file whole.
func writeState(dir string, s state) error {
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, stateFile+".new"), data, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, stateFile+".new"), filepath.Join(dir, stateFile))
	}
	if err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	return nil
}
