package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/setup"
)

// stoppable is a context that the first Ctrl-C ends. The second one kills, as if nobody listened.
func stoppable(c *cobra.Command) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// interruptible opens a source, or returns errInterrupted as soon as the context ends:
// some readers read all they have when they are opened, and do not look at the context
// meanwhile.
func interruptible(ctx context.Context, open func() (setup.Opened, error)) (setup.Opened, error) {
	source, err := until(ctx, 0, open)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%w; the source has to be a folder", err)
	}
	return source, err
}

// grace is how long a run is waited for that was told to stop, so that what is known of it can be kept: a round that is
// under way ends first, which takes long on a large cluster. Whoever presses Ctrl-C is answered within a second.
const grace = 500 * time.Millisecond

// until does something, or returns errInterrupted so long after the context has ended. What is still going on then ends
// with the process.
func until[T any](ctx context.Context, grace time.Duration, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(grace):
		var none T
		return none, errInterrupted
	}
}
