//go:build !linux

package mcmf_test

import "time"

// threadCPU is the time on the wall where there is no CPU time of a thread.
func threadCPU() time.Duration { return time.Duration(time.Now().UnixNano()) }
