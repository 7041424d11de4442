//go:build unix

// Package cputime asks for the processor time of this process.
package cputime

import (
	"syscall"
	"time"
)

// Used is the processor time that all threads of this process have used.
func Used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
