package harness

import "syscall"

// EndWithParent makes the kernel kill the child when the test process dies, so that a panicking test leaves nothing behind.
func EndWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
