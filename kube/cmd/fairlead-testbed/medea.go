package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/medea"
)

// medeaPairs measures short pods beside long-running applications that constraints bind, and without these, in turns.
type medeaPairs struct {
	with, policy, dir string
	rounds            int
	applications      medea.Options
	pace              medea.Pace
	short             testbed.Load
	log               io.Writer
	table             medeaTable
}

func newMedea() *cobra.Command {
	var m medeaPairs
	c := &cobra.Command{
		Use:   "medea",
		Short: "Measure short pods beside long-running applications that constraints bind, and judge these",
		Long: `Medea creates short pods at a rate, as bench does, twice a round, each time on a fresh cluster: once while
long-running applications of the shapes of Medea (HBase, TensorFlow, Storm, memcached and web servers in racks, tied
to one another) come and are placed by their PlacementConstraints, and once without them. It prints what the short pods
waited, and how the constraints stand in the end. These are judged by what the API server says of pods and nodes, and
what the scheduler says of them is held against that.

A violation is avoidable if its constraint is hard, or if moving one pod to a node that has room would leave fewer.
With --owned, ReplicaSets make the pods, so that pods are moved, and are judged once nobody was for 100 s. With
--unbound the other side of a pair has the same applications, without their constraints: what is left of the difference
is what constraints cost.
Each round draws other applications, of which a placement that violates nothing is known. Leave the machine alone meanwhile.`,
		Example: `  fairlead-testbed medea
  fairlead-testbed medea --nodes 60 --applications 4 --pods 500 --rounds 1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			m.log = c.ErrOrStderr()
			return m.run(c.Context(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&m.with, "with", "", "the path of a fairlead-scheduler (default the one beside this program)")
	f.StringVar(&m.policy, "policy", config.DefaultPolicy, "of its profile")
	f.StringVar(&m.dir, "dir", "", "a folder for the logs of each cluster, which stay there (default a temporary one)")
	f.IntVar(&m.rounds, "rounds", 5, "pairs of runs")
	f.IntVar(&m.applications.Nodes, "nodes", 500, "fake nodes")
	f.IntVar(&m.applications.Applications, "applications", 20, "applications, of 10 to 30 pods each")
	f.IntVar(&m.applications.Tied, "tied", 10, "applications that are tied to one another by constraints, and share a namespace")
	f.Int64Var(&m.applications.Utilisation, "utilisation", 500, "thousandths of the nodes that applications and other work take")
	f.Uint64Var(&m.applications.Seed, "seed", 1, "of the first round's applications")
	f.DurationVar(&m.pace.Every, "every", 1250*time.Millisecond, "how long after an application the next one comes")
	f.BoolVar(&m.table.unbound, "unbound", false, "have the same applications come without their constraints, where none would")
	f.BoolVar(&m.applications.Owned, "owned", false, "have ReplicaSets make the pods of applications, so that pods may be moved")
	f.Float64Var(&m.pace.Rate, "application-rate", 40, "pods of an application per second, unless ReplicaSets make them; 0 is flat out")
	f.IntVar(&m.short.Pods, "pods", 2500, "short pods to create")
	f.Float64Var(&m.short.Rate, "rate", 100, "of them per second; 0 is flat out")
	return c
}

// run measures all pairs.
func (m *medeaPairs) run(ctx context.Context, out io.Writer) error {
	if m.rounds < 1 {
		return fmt.Errorf("--rounds %d: want at least 1", m.rounds)
	}
	m.short.Scheduler, m.applications.Scheduler = testbed.FairleadProfile, testbed.FairleadProfile
	if err := m.short.Validate(); err != nil {
		return err
	}
	if m.with == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program, beside which fairlead-scheduler is: %w", err)
		}
		m.with = filepath.Join(filepath.Dir(self), testbed.FairleadName)
	}
	if _, err := testbed.Build(ctx, m.log); err != nil {
		return err
	}
	for round := range m.rounds {
		pair := medeaPair{round: round + 1}
		// The machine may change while the rounds go on, so that they begin with the one and the other in turn.
		beside := []bool{false, true}
		if round%2 == 1 {
			slices.Reverse(beside)
		}
		for _, applications := range beside {
			if err := m.measure(ctx, &pair, applications); err != nil {
				return fmt.Errorf("round %d: %w", pair.round, err)
			}
		}
		m.table.pairs = append(m.table.pairs, pair)
	}
	m.table.print(out)
	return nil
}

// measure is one of a pair, on a cluster of its own.
func (m *medeaPairs) measure(ctx context.Context, pair *medeaPair, beside bool) (err error) {
	o := m.applications
	o.Seed += uint64(pair.round - 1)
	workload, err := medea.Draw(o)
	if err != nil {
		return err
	}
	options := testbed.Options{Tmpfs: true}
	if m.dir != "" {
		options.Dir = filepath.Join(m.dir, fmt.Sprintf("%d-%t", pair.round, beside))
	}
	bed, err := testbed.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	prepared, err := m.prepare(ctx, bed, workload)
	if err != nil {
		return err
	}
	began := time.Now()
	if !beside && !m.table.unbound {
		pair.without, err = bed.Measure(ctx, m.short)
		m.note(pair.round, began, &pair.without, "without applications")
		return err
	}
	result, outcome, what := &pair.beside, &pair.outcome, "beside applications"
	if !beside {
		result, outcome, what = &pair.without, new(medea.Outcome), "beside applications without constraints"
		workload.Unbind()
	}
	both, running := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		*result, err = bed.Measure(running, m.short)
		m.note(pair.round, began, result, what)
		return err
	})
	both.Go(func() (err error) {
		*outcome, err = prepared.Submit(running, m.pace)
		fmt.Fprintf(m.log, "%s round %d: applications came for %s, and %d pods were moved\n", time.Now().Format(time.TimeOnly), pair.round, short(outcome.Took), outcome.Moved)
		return err
	})
	if err := both.Wait(); err != nil || !beside {
		return err
	}
	pair.applications, pair.pods = workload.Applications(), workload.Pods()
	pair.verdict, err = prepared.Judge(ctx)
	for _, note := range pair.verdict.Notes {
		fmt.Fprintf(m.log, "round %d: %s\n", pair.round, note)
	}
	return err
}

// prepare starts the scheduler on the nodes of the workload.
func (m *medeaPairs) prepare(ctx context.Context, bed *testbed.Bed, workload *medea.Workload) (*medea.Run, error) {
	if err := testbed.GrantRoles(ctx, bed); err != nil {
		return nil, err
	}
	if err := testbed.Define(ctx, bed); err != nil {
		return nil, err
	}
	if m.applications.Owned {
		if err := testbed.StartControllers(ctx, bed, "replicaset-controller"); err != nil {
			return nil, err
		}
	}
	prepared, err := medea.Prepare(ctx, bed, workload)
	if err != nil {
		return nil, err
	}
	if err := bed.StartFairlead(ctx, m.with, testbed.ProfileOf(m.policy), flatOut); err != nil {
		return nil, err
	}
	first := testbed.Load{Name: "warm-up", Scheduler: m.short.Scheduler, Pods: warmUp}
	if _, err := bed.Measure(ctx, first); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	return prepared, nil
}

// note says how a run went.
func (m *medeaPairs) note(round int, began time.Time, r *testbed.Result, what string) {
	if r.Pods == 0 {
		return // it failed, and the error says why
	}
	fmt.Fprintf(m.log, "%s round %d, %s: %d short pods in %s, p50 %s, p99 %s, max %s; CPU of the scheduler %s, of the API server %s\n", time.Now().Format(time.TimeOnly), round, what,
		r.Pods, short(time.Since(began)), short(r.P50), short(r.P99), short(r.Max), short(r.CPU[testbed.FairleadName]), short(r.CPU["kube-apiserver"]))
}
