package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/validation"
)

func newQoS() *cobra.Command {
	var o validation.Options
	var simulations int
	c := &cobra.Command{
		Use:   "qos",
		Short: "Run a validation test of QoS-driven scheduling, and the simulator beside it",
		Long: `Qos runs one of the two validation tests of QoS-driven scheduling (JISA 2020) on a
fresh cluster, as many times as fast as --pace says: 20 nodes with room for ten
requests each, a request a second until there are more than fit, and an hour in
which nobody ends. From a watch it counts for which share of its time each request
ran. Then it simulates the same, with what came when it came and with starts that
took as long, and says whether the two are alike. Leave the machine alone meanwhile.`,
		Example: `  fairlead-testbed qos --test v1
  fairlead-testbed qos --test v2 --data ../data --policy qos --pace 8`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if simulations < 1 {
				return fmt.Errorf("--simulations %d: preemptions are held against one at least", simulations)
			}
			if o.Scheduler == "" {
				self, err := os.Executable()
				if err != nil {
					return fmt.Errorf("find this program, and fairlead-scheduler beside it: %w", err)
				}
				o.Scheduler = filepath.Join(filepath.Dir(self), testbed.FairleadName)
			}
			return runQoS(c.Context(), o, simulations, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.Test, "test", "v1", "v1: gold, silver and bronze; v2: silver alone")
	f.StringVar(&o.Data, "data", "", "the folder that holds the authors' order of requests, in qos; without it they come in a random order")
	f.Uint64Var(&o.Seed, "seed", 1, "where random orders and simulations start")
	f.StringVar(&o.Policy, "policy", "qos", "of the scheduler's profile")
	f.StringVar(&o.Scheduler, "with", "", "the path of a fairlead-scheduler (default the one beside this program)")
	f.Int64Var(&o.Pace, "pace", 10, "how many times as fast as in the paper")
	f.DurationVar(&o.Margin, "margin", 30*time.Second, "safety margin and watchdog, in the paper's time")
	f.DurationVar(&o.Length, "length", time.Hour, "of the test, in the paper's time")
	f.IntVar(&simulations, "simulations", 20, "how many simulations preemptions are held against")
	return c
}

// runQoS runs the test and prints what came of it.
func runQoS(ctx context.Context, o validation.Options, simulations int, w, log io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if _, err := testbed.Build(ctx, log); err != nil {
		return err
	}
	out, err := validation.Run(ctx, o)
	if err != nil {
		return err
	}
	c, err := validation.Compare(o, &out, simulations)
	if err != nil {
		return err
	}
	order := fmt.Sprintf("random order, seed %d", o.Seed)
	if o.Data != "" {
		order = "the authors' order"
	}
	fmt.Fprintf(w, "%s, `%s`, %s, %v of the paper in %v, margin and watchdog %v\n\n", strings.ToUpper(o.Test), o.Policy, order, o.Length, out.Took.Round(time.Second), o.Margin)
	if err := c.Write(w); err != nil {
		return err
	}
	var used []string
	for _, name := range slices.Sorted(maps.Keys(out.CPU)) {
		used = append(used, fmt.Sprintf("%s %.0f", name, out.CPU[name].Seconds()))
	}
	_, err = fmt.Fprintf(w, "Processor seconds: %s.\n", strings.Join(used, ", "))
	return err
}
