// Fairlead-scheduler places the pods of a Kubernetes cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/logs"
)

// Exit codes, as the help says.
const (
	exitFailure = 1 // something went wrong while running, or the lease was lost
	exitUsage   = 2 // the command line or the configuration is wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	// The first signal stops gracefully; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:]))
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string) int {
	defer logs.FlushLogs()
	command := newCommand(newScheduler)
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "fairlead-scheduler:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintln(os.Stderr, "Run 'fairlead-scheduler --help' for usage.")
		return exitUsage
	}
	return exitFailure
}

// usageError is a command line or configuration that is wrong, so that trying
// again does not help.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }
