package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// This file bounds the memory of commands that answer a question about a cluster and end.

// freely is how many bytes may be used before garbage is looked for more often: with a bit beside the heap it is less than 1.5 GB.
const freely = 1350 << 20

// rarely is how much garbage there may be beside what is used, in hundredths, while there is less than that in all: who ends soon need
// not clean up often.
const rarely = 400

// beQuick lets garbage lie while there is memory for it.
func beQuick() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(rarely)
		debug.SetMemoryLimit(freely)
	}
}

// beThrifty bounds what is used and garbage together, once a dump is read, to so many times what that takes, or to what may
// be used freely: the bound grows with the cluster, as a run can do with no less.
func beThrifty(times int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(max(freely, times*int64(m.HeapAlloc))) //nolint:gosec // memory is far from 2^63 bytes
}
