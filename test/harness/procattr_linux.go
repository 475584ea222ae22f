package harness

import "syscall"

// endWithParent makes the kernel kill the child when the test process dies, so that a panicking test leaves nothing behind.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
