//go:build !linux

package harness

import "syscall"

// endWithParent does nothing where the kernel cannot end a child with its parent.
func endWithParent() *syscall.SysProcAttr { return nil }
