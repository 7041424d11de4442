package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
)

// The command explain: a moment of a simulation or of a recording in, and why what
// waits does, what a task could have, and what one more node would be worth out. The
// prices are package flow's.

func newExplain() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain",
		Short: "Say why tasks wait, what they could have, and what one more node is worth",
		Long: `Explain simulates up to a moment, or replays a recording up to it, and says what
the policy was faced with then. With --task it lists the nodes that the task could
go to with the parts of their prices, what waiting costs, and why the other nodes do
not take it; a task that has a node is treated as if it had just left it. Without
--task it says why tasks wait, and what one more node of each kind would be worth.

Only policies of the flow family that have a model give prices; for others it
says which nodes would take the task. A policy's prices have no unit; they can be
compared with each other, and with what waiting costs.

` + sourceHelp(),
		Example: `  fairlead explain --at 10m --cluster 'synthetic:google?nodes=20' --policy cpu-mem
  fairlead explain --at 10m --cluster 'synthetic:google?nodes=20' --policy cpu-mem --task 1/0
  fairlead explain --at 13m --workload recording:DIR --task web#17 -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := f.check()
			if err != nil {
				return usage(c, err)
			}
			var m *moment
			if strings.HasPrefix(f.world.workload, "recording:") || strings.HasPrefix(f.world.cluster, "recording:") {
				m, err = f.replay(c, at)
			} else {
				m, err = f.simulate(c, at)
			}
			if err != nil {
				return err
			}
			return f.answer(m, c.OutOrStdout())
		},
	}
	f.register(c)
	return c
}

// explainFlags are the flags of explain as they were typed.
type explainFlags struct {
	world  simulateFlags
	seed   uint64
	at     string
	task   string
	most   int
	format string
}

func (f *explainFlags) register(c *cobra.Command) {
	f.world.registerWorld(c)
	s := c.Flags()
	s.StringVar(&f.world.policies, "policy", "load-spreading", "the policy that decides; see 'fairlead policies'")
	s.Uint64Var(&f.seed, "seed", 1, "the seed to run with")
	s.StringVar(&f.at, "at", "", "`time` that is explained, such as 90m (required)")
	s.StringVar(&f.task, "task", "", "the `TASK` to explain, as the source names it, or by its job and index such as 17/3, or beside:17/3 if it is of --beside (default: all that wait)")
	s.IntVar(&f.most, "lines", 10, "lines to list at most: nodes, the cheapest first; reasons; kinds of nodes. JSON has all reasons and kinds")
	s.StringVarP(&f.format, "output", "o", "text", "text or json")
	complete(c, "policy", policies.Names()...)
	complete(c, "output", "text", "json")
}

// check says what is wrong with the flags that are explain's own.
func (f *explainFlags) check() (at cluster.Time, err error) {
	var errs []error
	if f.at == "" {
		errs = append(errs, errors.New("--at: want the time that is to be explained, such as --at 90m"))
	} else if at, err = parseUntil(f.at); err != nil {
		errs = append(errs, fmt.Errorf("--at: %w", err))
	}
	if f.most < 1 {
		errs = append(errs, fmt.Errorf("--lines: %d, want a number from 1", f.most))
	}
	if f.format != "text" && f.format != "json" {
		errs = append(errs, fmt.Errorf("--output: %w", unknown("format", f.format, []string{"text", "json"})))
	}
	if strings.Contains(f.world.policies, ",") {
		errs = append(errs, fmt.Errorf("--policy: %s, want one policy", f.world.policies))
	}
	return at, errors.Join(errs...)
}

// simulate runs up to the moment.
func (f *explainFlags) simulate(c *cobra.Command, at cluster.Time) (*moment, error) {
	world := f.world
	world.seeds, world.until, world.format = strconv.FormatUint(f.seed, 10), f.at, "table"
	plan, err := world.plan()
	if err != nil {
		return nil, usage(c, err)
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return simulatedMoment(ctx, plan, at, c.ErrOrStderr())
}

// replay replays a recording up to the moment.
func (f *explainFlags) replay(c *cobra.Command, at cluster.Time) (*moment, error) {
	if f.world.cluster != "" && f.world.cluster != f.world.workload {
		return nil, usage(c, errors.New("--cluster: a recording holds both nodes and tasks; name it as --workload alone"))
	}
	if err := checkRecordingFlags(c, "workload", "policy", "at", "task", "lines", "output"); err != nil {
		return nil, usage(c, err)
	}
	files, _, err := recordingFiles(f.world.workload)
	if err != nil {
		return nil, err
	}
	wanted := ""
	if c.Flags().Changed("policy") {
		wanted = f.world.policies
	}
	return replayedMoment(files, at, wanted)
}

// answer explains the moment.
func (f *explainFlags) answer(m *moment, out io.Writer) error {
	answer, err := m.explain(f.task, f.most)
	if err != nil {
		return err
	}
	if f.format == "text" {
		return answer.write(out, f.most)
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(answer)
}
