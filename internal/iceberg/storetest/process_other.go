//go:build !linux

package storetest

import "syscall"

// dieWithParent has no counterpart here: a test process that is killed leaves its server behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
