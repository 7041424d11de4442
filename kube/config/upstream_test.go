package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/config"
)

// upstream begins a configuration of kube-scheduler.
const upstream = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// TestUpstream reads kube-scheduler's configuration: it takes kube-scheduler's place, under its lease, and what it gives is used. Written, it is one of
// ours that means the same.
func TestUpstream(t *testing.T) {
	bare := config.Default()
	bare.LeaderElection.ResourceName = "kube-scheduler"
	bare.Profiles[0].SchedulerName, bare.Profiles[0].Evictions = "default-scheduler", config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 4096, PerMinute: 60_000}, Moves: config.Pace{AtOnce: 16, PerMinute: 60}, Budgets: config.BestEffort}
	full, err := config.Parse("f.yaml", []byte(upstream))
	if err != nil {
		t.Fatal(err)
	}
	given := *bare
	given.ClientConnection = config.ClientConnection{Kubeconfig: "/etc/kubernetes/scheduler.conf", QPS: 50, Burst: 100, ContentType: "application/json"}
	given.LeaderElection.LeaseDuration = metav1.Duration{Duration: 30 * time.Second}
	given.LeaderElection.ResourceName = "mine"
	given.PodMaxBackoffSeconds, given.EnableProfiling = 20, false
	given.Profiles = []config.Profile{bare.Profiles[0], bare.Profiles[0]}
	given.Profiles[1].SchedulerName, given.Profiles[1].Evictions = "batch", config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 4096, PerMinute: 60_000}, Moves: config.Pace{AtOnce: 16, PerMinute: 60}, Budgets: config.Hard}
	for _, c := range []struct {
		text string
		want *config.SchedulerConfiguration
	}{
		{upstream, bare},
		{upstream + `
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf, qps: 50, burst: 100, contentType: application/json}
leaderElection: {leaseDuration: 30s, resourceName: mine}
podMaxBackoffSeconds: 20
enableProfiling: false
profiles: [{}, {schedulerName: batch}]
`, &given},
	} {
		got, err := config.Parse("f.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", c.text, diff)
		}
		if errs := got.Validate(); len(errs) > 0 {
			t.Errorf("%s: %v", c.text, errs.ToAggregate())
		}
		checkReadAgain(t, c.text, got)
	}
	for _, c := range []struct {
		change     func(*config.SchedulerConfiguration)
		is, shares bool
	}{
		{func(*config.SchedulerConfiguration) {}, true, true},
		{func(c *config.SchedulerConfiguration) { c.LeaderElection.LeaderElect = false }, true, false},
		{func(c *config.SchedulerConfiguration) { c.LeaderElection.ResourceNamespace = "other" }, true, false},
		{func(c *config.SchedulerConfiguration) { c.LeaderElection.ResourceName = "mine" }, true, false},
		{func(c *config.SchedulerConfiguration) { c.Profiles[0].SchedulerName = "fairlead" }, false, true},
	} {
		changed := *full
		changed.Profiles = append([]config.Profile(nil), full.Profiles...)
		c.change(&changed)
		if is, shares := changed.TakesOver(); is != c.is || shares != c.shares {
			t.Errorf("takes over: %t, under one lease: %t, of %+v", is, shares, changed.LeaderElection)
		}
	}
}
