package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file takes kube-scheduler's place, and gives it back: by its own configuration and under its own lease, so that the two never schedule
// at once.

// upstreamConfig is a configuration of kube-scheduler for a user, with its usual times: who is slow for a moment on a busy machine is to keep its lease.
func upstreamConfig(c *cluster, user testbed.User) string {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), string(user)+".yaml")
	c.must(os.WriteFile(file, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 10000, burst: 10000}
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
`, c.bed.Kubeconfig(user)), 0o600))
	return file
}

// TestSwitchAndBack has 1,000 pods wait while kube-scheduler is stopped and ours takes its place, and as many on the way back. Each is bound once.
func TestSwitchAndBack(t *testing.T) {
	skipIfShort(t)
	bed := ownBed(t)
	c := newCluster(t, bed)
	pods := 1000
	c.addNodes(100, "n", "32")
	theirs := &replica{cluster: c, name: "theirs", log: filepath.Join(bed.Dir(), "theirs.log")}
	ours := &replica{cluster: c, name: "ours", log: filepath.Join(bed.Dir(), "ours.log")}
	c.logs = append(c.logs, theirs, ours)
	start := func(r *replica) {
		t.Helper()
		program, file := build(t), upstreamConfig(c, testbed.Fairlead)
		if r == theirs {
			program, file = bed.Program("kube-scheduler"), upstreamConfig(c, testbed.KubeScheduler)
		}
		c.must(bed.Run(r.name, program, "--config", file, "--secure-port=0"))
	}
	t.Cleanup(func() { theirs.signal(syscall.SIGKILL); ours.signal(syscall.SIGKILL) })

	start(theirs)
	c.create(several(100, "first", scheduledBy(v1.DefaultSchedulerName))...)
	c.awaitBound(time.Minute, 100)
	refusedBeside(c, "lease kube-system/kube-scheduler, so that kube-scheduler places the same pods")

	start(ours) // which waits for the lease
	c.create(several(pods/2, "before", scheduledBy(v1.DefaultSchedulerName))...)
	theirs.signal(syscall.SIGTERM)
	c.create(several(pods/2, "there", scheduledBy(v1.DefaultSchedulerName))...)
	c.awaitBound(2*time.Minute, 100+pods)
	theirs.awaitEnd()
	alone := func(prefix string, count int) { // of the two only one runs
		c.create(several(50, prefix, scheduledBy(v1.DefaultSchedulerName))...)
		c.awaitBound(time.Minute, count+50)
	}
	alone("ours", 100+pods)

	start(theirs)
	c.create(several(pods/2, "after", scheduledBy(v1.DefaultSchedulerName))...)
	ours.signal(syscall.SIGTERM)
	c.create(several(pods/2, "back", scheduledBy(v1.DefaultSchedulerName))...)
	c.awaitBound(2*time.Minute, 150+2*pods)
	ours.awaitEnd()
	alone("theirs", 150+2*pods)

	for name, list := range c.events("Scheduled") {
		if len(list) != 1 || list[0].Series != nil {
			t.Errorf("pod %s was bound %d times: %v", name, len(list), list)
		}
	}
	if text, err := os.ReadFile(ours.log); err != nil || !strings.Contains(string(text), "Gave the lease away") {
		t.Errorf("ours did not give the lease away: %v", err)
	}
}

// refusedBeside starts a scheduler that takes over default-scheduler under a lease of its own, which is to end and say why.
func refusedBeside(c *cluster, why string) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "beside.yaml")
	c.must(os.WriteFile(file, fmt.Appendf(nil, `apiVersion: fairlead.dev/v1alpha1
kind: SchedulerConfiguration
clientConnection: {kubeconfig: %q}
profiles: [{schedulerName: default-scheduler}]
`, c.bed.Kubeconfig(testbed.Fairlead)), 0o600))
	r := &replica{cluster: c, name: "beside", log: filepath.Join(c.bed.Dir(), "beside.log")}
	c.must(c.bed.Run(r.name, build(c.t), "--config", file, "--secure-port=0"))
	r.awaitEnd()
	text, err := os.ReadFile(r.log)
	if c.must(err); !strings.Contains(string(text), why) {
		c.t.Errorf("it ended without saying %q:\n%s", why, text)
	}
}
