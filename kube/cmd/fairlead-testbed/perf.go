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
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/perf"
)

// perfRun runs workloads of upstream's scheduler_perf against one scheduler.
type perfRun struct {
	config, workload string
	labels           []string
	with, policy     string
	dir              string
	options          perf.Options
}

func newPerf() *cobra.Command {
	var p perfRun
	c := &cobra.Command{
		Use:   "perf",
		Short: "Run workloads of Kubernetes' scheduler_perf against kube-scheduler or a fairlead-scheduler",
		Long: `Perf runs workloads of Kubernetes' own benchmark of the scheduler, scheduler_perf, each on a fresh
cluster with the feature gates that it asks for, whose default-scheduler is what --with names: and
prints a table of what was measured, and of what was skipped, with the reason. It fails if a workload
does. The files are those of the Kubernetes that go.mod requires; nothing of them is changed.`,
		Example: `  fairlead-testbed perf --config affinity --workload SchedulingPodAntiAffinity/5Nodes --with fairlead
  fairlead-testbed perf --label short --with kube-scheduler`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.StringVar(&p.config, "config", "", "a performance-config.yaml, or a folder of scheduler_perf, such as affinity or dra/partitionabledevices (default all)")
	f.StringVar(&p.workload, "workload", "", "a test case, or one workload as CASE/NAME (default all)")
	f.StringSliceVar(&p.labels, "label", nil, "only workloads with all of these labels, such as short, integration-test or performance")
	f.StringVar(&p.with, "with", "kube-scheduler", "kube-scheduler, fairlead, which is the fairlead-scheduler beside this program, or the path of one")
	f.StringVar(&p.policy, "policy", config.DefaultPolicy, "of a fairlead-scheduler's profile")
	f.StringVar(&p.dir, "dir", "", "a folder for the logs of each workload, which stay there (default a temporary one)")
	f.DurationVar(&p.options.Patience, "patience", 2*time.Minute, "how long nothing may happen for which an operation waits, until the workload has failed")
	return c
}

// workloads are those that the flags choose.
func (p *perfRun) workloads(ctx context.Context) ([]perf.Workload, error) {
	files := map[string]string{} // by the name of the configuration
	var configs []string
	if strings.HasSuffix(p.config, ".yaml") {
		configs = []string{filepath.Base(filepath.Dir(p.config))}
		files[configs[0]] = p.config
	} else {
		root, all, err := perf.Configs(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range all {
			if p.config == "" || p.config == name {
				configs = append(configs, name)
				files[name] = filepath.Join(root, name, "performance-config.yaml")
			}
		}
		if len(configs) == 0 {
			return nil, fmt.Errorf("--config %q: there are %s", p.config, strings.Join(all, ", "))
		}
	}
	var chosen []perf.Workload
	for _, name := range configs {
		list, err := perf.Load(files[name], name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, slices.DeleteFunc(list, func(w perf.Workload) bool { return !p.chooses(&w) })...)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no workload %q with the labels %v in %s", p.workload, p.labels, strings.Join(configs, ", "))
	}
	return chosen, nil
}

func (p *perfRun) chooses(w *perf.Workload) bool {
	return (p.workload == "" || p.workload == w.Case || p.workload == w.FullName()) &&
		!slices.ContainsFunc(p.labels, func(label string) bool { return !slices.Contains(w.Labels, label) })
}

func (p *perfRun) run(ctx context.Context, out, log io.Writer) error {
	if p.with == "fairlead" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program, beside which fairlead-scheduler is: %w", err)
		}
		p.with = filepath.Join(filepath.Dir(self), testbed.FairleadName)
	}
	chosen, err := p.workloads(ctx)
	if err != nil {
		return err
	}
	if _, err := testbed.Build(ctx, log); err != nil {
		return err
	}
	fmt.Fprintln(out, "| workload | | pods | pods/s | p50 | p99 | CPU ms a pod: scheduler |\n|---|---|---|---|---|---|---|")
	ran, skipped, failed := 0, 0, 0
	for i := range chosen {
		w := &chosen[i]
		name := w.Config + " " + w.FullName()
		fmt.Fprintf(log, "%s %d/%d %s\n", time.Now().Format(time.TimeOnly), i+1, len(chosen), name)
		skip, err := p.skipped(w)
		if skip != nil {
			skipped++
			fmt.Fprintf(out, "| %s | skipped: %s | | | | | |\n", name, skip)
			continue
		}
		var measured []perf.Measured
		if err == nil {
			measured, err = p.measure(ctx, w)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			failed++
			fmt.Fprintf(out, "| %s | failed | | | | | |\n", name)
			fmt.Fprintf(log, "%s failed: %v\n", name, err)
			continue
		}
		ran++
		for _, m := range measured {
			fmt.Fprintf(out, "| %s | ran | %d | %.0f | %s | %s | %s |\n", name, m.Pods, m.PerSecond(), short(m.P50), short(m.P99), cpuPerPod(m, p.process()))
		}
	}
	fmt.Fprintf(out, "\n%d workloads: %d ran, %d skipped, %d failed.\n", len(chosen), ran, skipped, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d workloads failed with %s", failed, len(chosen), p.process())
	}
	return nil
}

// leastCPU is what a process must have used for its share per pod to say anything: the kernel counts in ticks of 10 ms.
const leastCPU = 200 * time.Millisecond

func cpuPerPod(m perf.Measured, process string) string {
	if m.CPU[process] < leastCPU {
		return ""
	}
	return fmt.Sprintf("%.2f", millis(m.CPUPerPod(process)))
}

const upstreamScheduler = "kube-scheduler"

// process is the name of the process whose CPU counts.
func (p *perfRun) process() string {
	if p.with == upstreamScheduler {
		return upstreamScheduler
	}
	return testbed.FairleadName
}

// skipped says why this scheduler cannot run the workload, or nil.
func (p *perfRun) skipped(w *perf.Workload) (*perf.Skip, error) {
	skip, err := w.Skipped()
	if skip != nil || err != nil || w.SchedulerConfig == "" || p.with == upstreamScheduler {
		return skip, err
	}
	if _, err := config.Load(w.SchedulerConfig); err != nil {
		why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), filepath.Dir(w.SchedulerConfig)+"/"), ";")
		return &perf.Skip{Reason: perf.Configuration, Detail: why}, nil
	}
	return nil, errors.New("its configuration of the scheduler is understood; say here how to start with it")
}

// measure runs a workload on a fresh cluster.
func (p *perfRun) measure(ctx context.Context, w *perf.Workload) (measured []perf.Measured, err error) {
	options := w.BedOptions()
	if p.dir != "" {
		options.Dir = filepath.Join(p.dir, strings.NewReplacer("/", "_").Replace(w.Config+"-"+w.FullName()))
	}
	bed, err := testbed.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	if err := w.Prepare(ctx, bed); err != nil {
		return nil, err
	}
	if err := p.start(ctx, bed, w); err != nil {
		return nil, err
	}
	return perf.Run(ctx, bed, w, p.options)
}

// start starts the scheduler.
func (p *perfRun) start(ctx context.Context, bed *testbed.Bed, w *perf.Workload) error {
	if p.with != upstreamScheduler {
		if err := testbed.GrantRoles(ctx, bed); err != nil {
			return err
		}
		profile := fmt.Sprintf("{schedulerName: %s, policy: %s}", corev1.DefaultSchedulerName, p.policy)
		return bed.StartFairlead(ctx, p.with, profile, flatOut, "--feature-gates="+w.FeatureGates())
	}
	if w.SchedulerConfig == "" {
		return bed.StartKubeScheduler(ctx, flatOut)
	}
	text, err := os.ReadFile(w.SchedulerConfig)
	if err != nil {
		return fmt.Errorf("read the configuration of the scheduler: %w", err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("%s: %w", w.SchedulerConfig, err)
	}
	delete(fields, "apiVersion") // The bed says them,
	delete(fields, "kind")       // and how to reach the API server.
	if text, err = yaml.Marshal(fields); err != nil {
		return fmt.Errorf("%s: %w", w.SchedulerConfig, err)
	}
	return bed.StartKubeScheduler(ctx, flatOut, string(text))
}
