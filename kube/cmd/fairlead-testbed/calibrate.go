package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/calibration"
)

// calibrate is what the command of that name is told.
type calibrate struct {
	of    calibration.Options
	draws int
	out   string
}

func newCalibrate() *cobra.Command {
	var o calibrate
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "Hold the simulator's latencies against those of a control plane",
		Long: `Calibrate has pods come by chance, ask for room, work for a while and end, on fake
nodes of a real control plane that fairlead-scheduler serves. It first measures what
the control plane takes for a pod that has the cluster to itself. Then it simulates
what came when it came, with that as the overhead of each start, and compares how
long pods waited for their nodes: quantiles, and the distance of Kolmogorov and
Smirnov. Leave the machine alone meanwhile.

The folder of --out has the trace and the overheads; simulate it again by

  fairlead simulate --cluster DIR/came.jsonl --classes none --overheads DIR/overheads.txt`,
		Example: `  fairlead-testbed calibrate --out calibration
  fairlead-testbed calibrate --out calibration --nodes 100 --load 0.8 --policy kube`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.of.Scheduler == "" {
				self, err := os.Executable()
				if err != nil {
					return fmt.Errorf("find this program, and fairlead-scheduler beside it: %w", err)
				}
				o.of.Scheduler = filepath.Join(filepath.Dir(self), testbed.FairleadName)
			}
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "the folder into which trace and overheads are written")
	f.IntVar(&o.of.Nodes, "nodes", 50, "nodes of 8 cores and 32 GiB")
	f.IntVar(&o.of.Pods, "pods", 3000, "pods that come")
	f.Float64Var(&o.of.Load, "load", 0.95, "the part of the cores that they would have on average, if each had its node at once")
	f.DurationVar(&o.of.Work, "work", 20*time.Second, "how long pods work on average")
	f.Uint64Var(&o.of.Seed, "seed", 1, "of what is drawn")
	f.StringVar(&o.of.Policy, "policy", "fairlead", "of the scheduler's profile, and of the simulator")
	f.StringVar(&o.of.Scheduler, "with", "", "the path of a fairlead-scheduler (default the one beside this program)")
	f.IntVar(&o.draws, "draws", 5, "simulations that draw other overheads for the pods")
	_ = c.MarkFlagRequired("out") // The flag exists.
	return c
}

func (o *calibrate) run(ctx context.Context, w, log io.Writer) error {
	if err := o.of.Validate(); err != nil {
		return err
	}
	if _, err := testbed.Build(ctx, log); err != nil {
		return err
	}
	out, err := calibration.Run(ctx, &o.of)
	if err != nil {
		return err
	}
	if err := calibration.Write(o.out, o.of.Nodes, &out); err != nil {
		return err
	}
	c, err := calibration.Compare(o.out, &o.of, &out, o.draws)
	if err != nil {
		return err
	}
	middle, most := out.Overheads[len(out.Overheads)/2], out.Overheads[len(out.Overheads)-1]
	fmt.Fprintf(w, "`%s`, %d nodes, %d pods that work for %v on average, load %v, seed %d, in %v. A pod alone takes %v in the median, %v at most.\n\n",
		o.of.Policy, o.of.Nodes, o.of.Pods, o.of.Work, o.of.Load, o.of.Seed, out.Took.Round(time.Second), middle.Round(100*time.Microsecond), most.Round(100*time.Microsecond))
	return c.Write(w)
}
