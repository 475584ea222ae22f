package storetest

import "syscall"

// dieWithParent makes the kernel kill the server when the test's process dies, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
