package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"fairlead.dev/fairlead/setup"
)

// interruptible opens a source, or returns errInterrupted as soon as the context ends:
// some readers read all they have when they are opened, and do not look at the context
// meanwhile. What is then still being opened ends with the process.
func interruptible(ctx context.Context, open func() (setup.Opened, error)) (setup.Opened, error) {
	type result struct {
		source setup.Opened
		err    error
	}
	done := make(chan result, 1)
	go func() {
		source, err := open()
		done <- result{source, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, syscall.ENOTDIR) {
			r.err = fmt.Errorf("%w; the source has to be a folder", r.err)
		}
		return r.source, r.err
	case <-ctx.Done():
		return setup.Opened{}, errInterrupted
	}
}
