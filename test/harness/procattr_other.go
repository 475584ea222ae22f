//go:build !linux

package harness

import "syscall"

// EndWithParent does nothing where the kernel cannot end a child with its parent.
func EndWithParent() *syscall.SysProcAttr { return nil }
