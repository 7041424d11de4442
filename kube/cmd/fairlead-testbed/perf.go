package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/perf"
)

// perfRun runs workloads of upstream's scheduler_perf against one scheduler, or several in turns.
type perfRun struct {
	configs           []string
	workloads, labels []string
	with              []string
	policy            string
	rounds            int
	dir               string
	options           perf.Options
}

func newPerf() *cobra.Command {
	var p perfRun
	c := &cobra.Command{
		Use:   "perf",
		Short: "Run workloads of Kubernetes' scheduler_perf against kube-scheduler or a fairlead-scheduler",
		Long: `Perf runs workloads of Kubernetes' own benchmark of the scheduler, scheduler_perf, each on a fresh
cluster with the feature gates that it asks for, whose default-scheduler is what --with names: and
prints a table of what was measured, and of what was skipped, with the reason. It fails if a workload
does. The files are those of the Kubernetes that go.mod requires; nothing of them is changed.

Of several schedulers each runs each workload in turn, as many rounds as --rounds says; the table has
the medians of a scheduler's rounds, and from which to which they went. floor binds each pod to a random
node, whether it fits or not: what any scheduler costs at least; floor-with-events says so of each pod
in an event as well, as kube-scheduler and fairlead-scheduler do.`,
		Example: `  fairlead-testbed perf --config affinity --workload SchedulingPodAntiAffinity/5Nodes --with fairlead
  fairlead-testbed perf --label short --with kube-scheduler
  fairlead-testbed perf --workload SchedulingBasic/500Nodes --with floor,kube-scheduler,fairlead --rounds 5`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.StringSliceVar(&p.configs, "config", nil, "the path of a performance-config.yaml, or a folder of scheduler_perf, such as affinity or dra/partitionabledevices; may be repeated (default all folders)")
	f.StringSliceVar(&p.workloads, "workload", nil, "a test case, or one workload as CASE/NAME; may be repeated (default all)")
	f.StringSliceVar(&p.labels, "label", nil, "only workloads with all of these labels, such as short, integration-test or performance")
	f.StringSliceVar(&p.with, "with", []string{upstreamScheduler}, "kube-scheduler, floor, floor-with-events, fairlead, which is the fairlead-scheduler beside this program, or the path of one; several in turns")
	f.IntVar(&p.rounds, "rounds", 1, "how often each workload is run with each scheduler")
	f.StringVar(&p.policy, "policy", config.DefaultPolicy, "of a fairlead-scheduler's profile")
	f.StringVar(&p.dir, "dir", "", "a folder for the logs of each workload, which stay there (default a temporary one)")
	f.DurationVar(&p.options.Patience, "patience", 2*time.Minute, "how long nothing may happen for which an operation waits, until the workload has failed")
	return c
}

// choose returns the workloads that the flags name, and an error where one of these names none.
func (p *perfRun) choose(ctx context.Context) ([]perf.Workload, error) {
	root, folders, err := perf.Configs(ctx)
	if err != nil {
		return nil, err
	}
	if len(p.configs) == 0 {
		p.configs = folders
	}
	var chosen []perf.Workload
	met := map[string]bool{}
	for _, of := range p.configs {
		name, file := of, filepath.Join(root, of, "performance-config.yaml")
		switch {
		case strings.HasSuffix(of, ".yaml"):
			name, file = filepath.Base(filepath.Dir(of)), of
		case !slices.Contains(folders, of):
			return nil, fmt.Errorf("--config %q: give the path of a performance-config.yaml, or one of %s", of, strings.Join(folders, ", "))
		}
		list, err := perf.Load(file, name)
		if err != nil {
			return nil, err
		}
		for i := range list {
			met[list[i].Case], met[list[i].FullName()] = true, true
			if p.chooses(&list[i]) {
				chosen = append(chosen, list[i])
			}
		}
	}
	for _, name := range p.workloads {
		if !met[name] {
			return nil, fmt.Errorf("--workload %q: no test case or workload of that name is in %s", name, strings.Join(p.configs, ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no workload with the labels %q", p.labels)
	}
	return chosen, nil
}

func (p *perfRun) chooses(w *perf.Workload) bool {
	named := len(p.workloads) == 0 || slices.Contains(p.workloads, w.Case) || slices.Contains(p.workloads, w.FullName())
	return named && !slices.ContainsFunc(p.labels, func(label string) bool { return !slices.Contains(w.Labels, label) })
}

func (p *perfRun) run(ctx context.Context, out, log io.Writer) error {
	if p.rounds < 1 {
		return fmt.Errorf("--rounds %d: want at least 1", p.rounds)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, beside which fairlead-scheduler is: %w", err)
	}
	contenders := make([]contender, 0, len(p.with))
	for _, with := range p.with {
		contenders = append(contenders, newContender(with, p.policy, self))
	}
	chosen, err := p.choose(ctx)
	if err != nil {
		return err
	}
	if _, err := testbed.Build(ctx, log); err != nil {
		return err
	}
	fmt.Fprintln(out, "| workload | with | | pods | pods/s | p50 | p99 | CPU ms a pod: scheduler |\n|---|---|---|---|---|---|---|---|")
	ran, skipped, failed := 0, 0, 0
	for i := range chosen {
		w := &chosen[i]
		name := w.Config + " " + w.FullName()
		for _, row := range p.inTurns(ctx, log, w, contenders) {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case row.err != nil:
				failed++
				fmt.Fprintf(out, "| %s | %s | failed | | | | | |\n", name, row.with)
			case row.skip != nil:
				skipped++
				fmt.Fprintf(out, "| %s | %s | skipped: %s | | | | | |\n", name, row.with, row.skip)
			default:
				ran++
				row.print(out, name)
			}
		}
	}
	fmt.Fprintf(out, "\n%d workloads, %d schedulers: %d ran, %d skipped, %d failed.\n", len(chosen), len(contenders), ran, skipped, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d failed, each for the reason that stands above", failed, len(chosen)*len(contenders))
	}
	return nil
}

// inTurns runs a workload with each scheduler, one after the other, and all of them again.
func (p *perfRun) inTurns(ctx context.Context, log io.Writer, w *perf.Workload, contenders []contender) []perfRow {
	rows := make([]perfRow, len(contenders))
	for i := range contenders {
		rows[i].contender = &contenders[i]
		rows[i].skip, rows[i].err = contenders[i].skipped(w)
	}
	for round := range p.rounds {
		for i := range rows {
			row := &rows[i]
			if row.skip != nil || row.err != nil || ctx.Err() != nil {
				continue
			}
			var measured []perf.Measured
			measured, row.err = p.measure(ctx, w, row.contender, round)
			if row.err != nil {
				fmt.Fprintf(log, "%s %s with %s failed: %v\n", time.Now().Format(time.TimeOnly), w.FullName(), row.with, row.err)
				continue
			}
			row.add(measured)
			for _, m := range measured {
				fmt.Fprintf(log, "%s %s with %s: %.1f pods/s, p50 %s, p99 %s, %s ms\n", time.Now().Format(time.TimeOnly), w.FullName(), row.with, m.PerSecond(), short(m.P50), short(m.P99), row.cpuPerPod([]perf.Measured{m}))
			}
		}
	}
	return rows
}

// measure runs a workload on a fresh cluster.
func (p *perfRun) measure(ctx context.Context, w *perf.Workload, c *contender, round int) (measured []perf.Measured, err error) {
	options := w.BedOptions()
	if p.dir != "" {
		name := fmt.Sprintf("%s-%s-%s-%d", w.Config, w.FullName(), c.with, round+1)
		options.Dir = filepath.Join(p.dir, strings.NewReplacer("/", "_").Replace(name))
	}
	bed, err := testbed.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := w.Prepare(ctx, bed); err != nil {
		return nil, err
	}
	if err := c.start(ctx, bed, w); err != nil {
		return nil, err
	}
	return perf.Run(ctx, bed, w, p.options)
}
