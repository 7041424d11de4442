package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/perf"
)

const (
	upstreamScheduler = "kube-scheduler"
	floorScheduler    = "floor"
	floorWithEvents   = "floor-with-events"
)

// contender is a scheduler that serves default-scheduler while a workload of scheduler_perf is run.
type contender struct {
	with    string // as it was named
	process string // whose processor time counts
	path    string // of the program, if it is no part of Kubernetes
	policy  string // of a fairlead-scheduler
}

// newContender reads --with; self is the path of this program.
func newContender(with, policy, self string) contender {
	switch with {
	case upstreamScheduler:
		return contender{with: with, process: upstreamScheduler}
	case floorScheduler, floorWithEvents:
		return contender{with: with, process: floorScheduler, path: self}
	case "fairlead":
		return contender{with: with, process: testbed.FairleadName, path: filepath.Join(filepath.Dir(self), testbed.FairleadName), policy: policy}
	}
	return contender{with: with, process: testbed.FairleadName, path: with, policy: policy}
}

// skipped says why this scheduler cannot run the workload, or nil.
func (c *contender) skipped(w *perf.Workload) (*perf.Skip, error) {
	skip, err := w.Skipped()
	if skip != nil || err != nil || w.SchedulerConfig == "" || c.policy == "" {
		return skip, err
	}
	if _, err := config.Load(w.SchedulerConfig); err != nil {
		why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), filepath.Dir(w.SchedulerConfig)+"/"), ";")
		return &perf.Skip{Reason: perf.Configuration, Detail: why}, nil
	}
	return nil, errors.New("its configuration of the scheduler is understood; say here how to start with it")
}

// start starts the scheduler.
func (c *contender) start(ctx context.Context, bed *testbed.Bed, w *perf.Workload) error {
	switch c.with {
	case upstreamScheduler:
		return startUpstream(ctx, bed, w)
	case floorScheduler, floorWithEvents:
		if err := bed.Grant(ctx, testbed.Fairlead, "cluster-admin"); err != nil {
			return err
		}
		return bed.Run(floorScheduler, c.path, floorScheduler, "--kubeconfig", bed.Kubeconfig(testbed.Fairlead), "--name", corev1.DefaultSchedulerName, fmt.Sprintf("--events=%t", c.with == floorWithEvents))
	}
	if err := testbed.GrantRoles(ctx, bed); err != nil {
		return err
	}
	profile := fmt.Sprintf("{schedulerName: %s, policy: %s}", corev1.DefaultSchedulerName, c.policy)
	return bed.StartFairlead(ctx, c.path, profile, flatOut, "--feature-gates="+w.FeatureGates())
}

// startUpstream starts kube-scheduler with the configuration that the workload has for it.
func startUpstream(ctx context.Context, bed *testbed.Bed, w *perf.Workload) error {
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
