package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mostOwners bounds the earlier brokers that an owner file names: those whose leases may still run.
const mostOwners = 32

// ownerLock proves which earlier brokers of this machine are gone: each holds the lock of its file for as long as it
// lives, and names itself there. So whoever has the lock knows that all others that are named have ended.
type ownerLock struct {
	file *os.File
	gone map[string]bool
}

// lockOwner takes the lock of a cluster's broker and notes owner in it. Where another process has it, or the file cannot
// be written, nobody is proven gone.
func lockOwner(dir, cluster string, broker int32, owner string) (*ownerLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of lock files: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s-%d.lock", cluster, broker)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	l := &ownerLock{file: f, gone: map[string]bool{}}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		l.release()
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	earlier := strings.Fields(string(data))
	earlier = earlier[max(0, len(earlier)-mostOwners):]
	for _, one := range earlier {
		l.gone[one] = true
	}
	text := strings.Join(append(slices.Clone(earlier), owner), "\n") + "\n"
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	if err != nil {
		l.release()
		return nil, fmt.Errorf("write lock file: %w", err)
	}
	return l, nil
}

// isGone tells whether a broker is proven to have ended.
func (l *ownerLock) isGone(owner string) bool { return l != nil && l.gone[owner] }

func (l *ownerLock) release() {
	if l != nil {
		_ = l.file.Close() // closing unlocks
	}
}

// lockDir is the folder of owner files: the user's cache.
func lockDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	return filepath.Join(base, "korvet", "locks"), nil
}
