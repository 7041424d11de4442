//go:build unix

package cli

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that all threads of this process have used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
