// Package proc reads what Linux knows of another process.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// ticksPerSecond is Linux's USER_HZ, the unit of times in /proc/PID/stat.
const ticksPerSecond = 100

// CPU returns the seconds that a process has spent in user and kernel mode, in steps of 10 ms.
func CPU(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return parseCPU(stat)
}

func parseCPU(stat []byte) (float64, error) {
	// The second field is the program's name in parentheses, which may hold anything.
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("read processor time: unexpected %.80q", stat)
	}
	ticks := 0.0
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseFloat(string(field), 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		ticks += n
	}
	return ticks / ticksPerSecond, nil
}

// Resident returns a process's resident memory in bytes.
func Resident(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	return parseResident(status)
}

func parseResident(status []byte) (int64, error) {
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmRSS:" {
			kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read resident memory: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("read resident memory: no VmRSS in %.80q", status)
}

// Peak watches a process's resident memory until stop is called, which returns the largest value seen.
func Peak(pid int, every time.Duration) (stop func() int64) {
	var largest int64
	done := make(chan struct{})
	var watching sync.WaitGroup
	look := func() {
		if now, err := Resident(pid); err == nil { // a process that has ended has no memory
			largest = max(largest, now)
		}
	}
	watching.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			look()
			select {
			case <-ticker.C:
			case <-done:
				look()
				return
			}
		}
	})
	return func() int64 {
		close(done)
		watching.Wait()
		return largest
	}
}
