package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
)

// bench is one measurement on a fresh cluster.
type bench struct {
	nodes         int
	with, policy  string
	schedulerArgs []string
	backlog       bool
	format        string
	options       testbed.Options
	load          testbed.Load
	feature, via  string
	unschedulable int
}

// warmUp is how many pods a scheduler binds before the clock starts, so that its
// caches are filled and its connections open.
const warmUp = 20

func newBench() *cobra.Command {
	var b bench
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure a scheduler on a fresh cluster",
		Long: `Bench creates pods for a scheduler and measures the time from created to bound
and the CPU time of each process. Leave the machine alone meanwhile.

--with floor binds each pod to a random node: what any scheduler costs at least.
A path starts that fairlead-scheduler.`,
		Example: `  fairlead-testbed bench --with kube-scheduler
  fairlead-testbed bench --with floor --nodes 5000 --rate 100
  fairlead-testbed bench --with ../bin/fairlead-scheduler --feature spread -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := b.complete(); err != nil {
				return err
			}
			result, err := b.run(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			if b.format == "json" {
				return b.printJSON(c.OutOrStdout(), result)
			}
			return b.printText(c.OutOrStdout(), result)
		},
	}
	f := c.Flags()
	f.IntVar(&b.nodes, "nodes", 1000, "fake nodes")
	f.IntVar(&b.load.Pods, "pods", 2000, "pods to create")
	f.Float64Var(&b.load.Rate, "rate", 0, "pods per second; 0 is flat out")
	f.StringVar(&b.feature, "feature", "plain", "what the pods ask for: plain, anti or spread; or prefer: soft-spread, near or apart")
	f.IntVar(&b.unschedulable, "unschedulable", 0, "pods that fit on no node and wait beside those that are measured; their scheduler has said so of each before")
	f.StringVar(&b.via, "via", "pods", "who creates them: pods (the load), deployments or jobs")
	f.StringVar(&b.with, "with", "kube-scheduler", "kube-scheduler, floor, or the path of a fairlead-scheduler")
	f.StringVar(&b.policy, "policy", config.DefaultPolicy, "of a fairlead-scheduler's profile")
	f.StringArrayVar(&b.schedulerArgs, "scheduler-args", nil, "one more argument for a fairlead-scheduler; may be repeated")
	f.BoolVar(&b.backlog, "backlog", false, "create the pods before the scheduler starts and measure only how it binds them")
	f.BoolVar(&b.options.Tmpfs, "tmpfs", true, "keep etcd's data in memory, or a disk is measured as well")
	f.StringVarP(&b.format, "output", "o", "text", "text or json (one line)")
	return c
}

// complete checks the flags together and derives what follows from them.
func (b *bench) complete() error {
	if b.format != "text" && b.format != "json" {
		return fmt.Errorf("-o %q: there are text and json", b.format)
	}
	b.load.Feature, b.load.Via = testbed.Feature(b.feature), testbed.Via(b.via)
	// Somebody has to create the pods of Deployments and Jobs.
	b.options.ControllerManager = b.load.Via != testbed.Pods
	b.options.Kwok = b.options.ControllerManager
	if b.load.Feature == testbed.Anti && b.load.Pods > b.nodes {
		return fmt.Errorf("--feature anti needs a node for each pod: --pods %d are more than --nodes %d", b.load.Pods, b.nodes)
	}
	if b.unschedulable < 0 || b.unschedulable > 0 && (b.backlog || b.with == "floor") {
		return fmt.Errorf("--unschedulable %d: want 0, or more where a scheduler runs that says so of pods: without --backlog, and not floor", b.unschedulable)
	}
	return b.load.Validate()
}

// run brings up the cluster, measures, and takes it down.
func (b *bench) run(ctx context.Context, log io.Writer) (result testbed.Result, err error) {
	if _, err := testbed.Build(ctx, log); err != nil {
		return result, err
	}
	bed, err := testbed.Start(ctx, b.options)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return result, err
	}
	if err := testbed.AddNodes(ctx, client, testbed.NodeOptions{Count: b.nodes}); err != nil {
		return result, err
	}
	start, err := b.scheduler(ctx, bed)
	if err != nil {
		return result, err
	}
	if b.backlog {
		return bed.MeasureBacklog(ctx, b.load, start)
	}
	if err := start(ctx); err != nil {
		return result, err
	}
	first := testbed.Load{Name: "warm-up", Scheduler: b.load.Scheduler, Pods: warmUp}
	if _, err := bed.Measure(ctx, first); err != nil {
		return result, fmt.Errorf("warm up: %w", err)
	}
	if b.unschedulable > 0 {
		if err := testbed.Burden(ctx, bed, testbed.Load{Name: "too-large", Scheduler: b.load.Scheduler, Pods: b.unschedulable}); err != nil {
			return result, fmt.Errorf("pods that fit nowhere: %w", err)
		}
	}
	return bed.Measure(ctx, b.load)
}

// scheduler returns how to start what --with names, and points the load to it.
// All but upstream's are the user Fairlead, so that the API server's fair
// queueing treats them alike.
func (b *bench) scheduler(ctx context.Context, bed *testbed.Bed) (start func(context.Context) error, err error) {
	if b.with == "kube-scheduler" {
		return func(ctx context.Context) error { return bed.StartKubeScheduler(ctx, flatOut) }, nil
	}
	if err := bed.Grant(ctx, testbed.Fairlead, "cluster-admin"); err != nil {
		return nil, err
	}
	if b.with == "floor" {
		b.load.Scheduler = "floor"
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program, to start it as the floor scheduler: %w", err)
		}
		return func(context.Context) error {
			return bed.Run("floor", self, "floor", "--kubeconfig", bed.Kubeconfig(testbed.Fairlead), "--name", "floor")
		}, nil
	}
	b.load.Scheduler = testbed.FairleadProfile
	return func(ctx context.Context) error {
		return bed.StartFairlead(ctx, b.with, testbed.ProfileOf(b.policy), flatOut, b.schedulerArgs...)
	}, nil
}

// record is the line of JSON.
type record struct {
	With        string             `json:"with"`
	Policy      string             `json:"policy,omitempty"` // of a fairlead-scheduler
	Nodes       int                `json:"nodes"`
	Pods        int                `json:"pods"`
	Rate        float64            `json:"rate"`
	Feature     string             `json:"feature"`
	Via         string             `json:"via"`
	Beside      int                `json:"unschedulable"`
	Backlog     bool               `json:"backlog"`
	Tmpfs       bool               `json:"tmpfs"`
	Seconds     float64            `json:"seconds"`
	PodsPerSec  float64            `json:"pods_per_second"`
	P50Millis   float64            `json:"p50_ms"`
	P99Millis   float64            `json:"p99_ms"`
	MaxMillis   float64            `json:"max_ms"`
	CPUMsPerPod map[string]float64 `json:"cpu_ms_per_pod"`
}

func (b *bench) printJSON(w io.Writer, r testbed.Result) error {
	cpu := map[string]float64{}
	for name := range r.CPU {
		cpu[name] = millis(r.CPUPerPod(name))
	}
	policy := ""
	if b.load.Scheduler == testbed.FairleadProfile {
		policy = b.policy
	}
	return json.NewEncoder(w).Encode(record{
		With: b.with, Policy: policy, Nodes: b.nodes, Pods: r.Pods, Rate: b.load.Rate, Feature: b.feature, Via: b.via, Beside: b.unschedulable,
		Backlog: b.backlog, Tmpfs: b.options.Tmpfs, Seconds: r.Elapsed.Seconds(), PodsPerSec: r.PerSecond(),
		P50Millis: millis(r.P50), P99Millis: millis(r.P99), MaxMillis: millis(r.Max), CPUMsPerPod: cpu,
	})
}

func (b *bench) printText(w io.Writer, r testbed.Result) error {
	pace := "flat out"
	if b.load.Rate > 0 {
		pace = fmt.Sprintf("at %g pods/s", b.load.Rate)
	}
	if b.backlog {
		pace = "as a backlog"
	}
	of := ""
	if b.load.Via != testbed.Pods {
		of = " of " + b.via
	}
	beside := ""
	if b.unschedulable > 0 {
		beside = fmt.Sprintf(", beside %d that fit nowhere", b.unschedulable)
	}
	fmt.Fprintf(w, "%s: %d %s pods%s on %d nodes, %s%s\n\n", b.with, r.Pods, b.feature, of, b.nodes, pace, beside)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "pods/s\telapsed\tp50\tp99\tmax\t")
	fmt.Fprintf(t, "%.0f\t%s\t%s\t%s\t%s\t\n\n", r.PerSecond(), short(r.Elapsed), short(r.P50), short(r.P99), short(r.Max))
	fmt.Fprintln(t, "CPU ms per pod\t\t")
	var sum time.Duration
	for _, name := range slices.Sorted(maps.Keys(r.CPU)) {
		fmt.Fprintf(t, "%s\t%.2f\t\n", name, millis(r.CPUPerPod(name)))
		sum += r.CPUPerPod(name)
	}
	fmt.Fprintf(t, "all\t%.2f\t\n", millis(sum))
	return t.Flush()
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// short rounds to what one reads.
func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Millisecond)
}
