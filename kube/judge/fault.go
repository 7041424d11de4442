package judge

// A plugin may panic on one of the goroutines that share a query. Nobody could recover it there, and the process would end: it is raised again where
// the query was made.

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// fault is the first panic of several goroutines.
type fault struct {
	mu    sync.Mutex
	first error
}

// keep recovers a panic; it is deferred.
func (f *fault) keep() {
	cause := recover()
	if cause == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = fmt.Errorf("%v, on a goroutine of a query over all nodes:\n%s", cause, debug.Stack())
	}
}

// raise panics if one of the goroutines did.
func (f *fault) raise() {
	if f.first != nil {
		panic(f.first)
	}
}
