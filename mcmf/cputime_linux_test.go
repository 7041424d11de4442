package mcmf_test

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// threadCPU is the CPU time of the thread, to which the goroutine is bound from
// now on.
func threadCPU() time.Duration {
	const clockThreadCPUTime = 3
	runtime.LockOSThread()
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime, uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		panic(err)
	}
	return time.Duration(t.Nano())
}
