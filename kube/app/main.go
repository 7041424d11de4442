// Package app is the process fairlead-scheduler as a value: flags, configuration, serving, leader
// election. With policies from elsewhere it is the same process, whose profiles may name these, too.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/logs"

	"fairlead.dev/fairlead/policies"
)

// Exit codes, as the help says.
const (
	exitFailure = 1 // something went wrong while running, or the lease was lost
	exitUsage   = 2 // the command line or the configuration is wrong
)

// Main executes the command line of the process until a signal ends it, and returns its exit code.
// Profiles may name the policies besides Fairlead's own, and choose their options:
//
//	func main() { os.Exit(app.Main(mine.Policy())) }
func Main(own ...policies.Info) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	// The first signal stops gracefully; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	return execute(ctx, os.Args[1:], own)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, own []policies.Info) int {
	defer logs.FlushLogs()
	if err := append(policies.All(), own...).Check(); err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-scheduler:", err)
		return exitFailure
	}
	command := newCommand(newScheduler, own...)
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
