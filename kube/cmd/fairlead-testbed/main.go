// Fairlead-testbed runs a real Kubernetes control plane with fake nodes on this
// machine, and measures schedulers on it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run executes the command line and returns the exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first Ctrl-C the second one kills, as if nobody listened.
	context.AfterFunc(ctx, stop)
	root := newRoot()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-testbed:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead-testbed",
		Short: "Run a Kubernetes control plane with fake nodes on this machine",
		Long: `Fairlead-testbed runs etcd, kube-apiserver and what else is asked for on the
loopback interface, and removes every trace when it ends. Run it inside the
folder kube, whose go.mod says which version of Kubernetes to build.

FAIRLEAD_TESTBED_CACHE moves the built programs, which are otherwise kept in the
user's cache. FAIRLEAD_TESTBED_KUBERNETES, such as v1.36.3, has every cluster run another
version, which build --kubernetes has built.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newBuild(), newUp(), newBench(), newCalibrate(), newFloor(), newJudge(), newPerf(), newMedea(), newOverheads(), newQoS(), newVersions())
	return root
}
