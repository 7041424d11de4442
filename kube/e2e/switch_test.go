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
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file takes kube-scheduler's place, and gives it back: by its own configuration, under its own lease, so that the two never schedule
// at once, and as its own user, with the roles of kube/deploy/replace.

// replacement is a bed on which either of the two schedules.
type replacement struct {
	*cluster
	theirs, ours *replica
}

func newReplacement(t *testing.T, bed *testbed.Bed) *replacement {
	t.Helper()
	c := newCluster(t, bed)
	if err := testbed.GrantRolesInPlaceOfKubeScheduler(t.Context(), bed); !apierrors.IsAlreadyExists(err) {
		c.must(err)
	}
	r := &replacement{cluster: c, theirs: c.process("theirs"), ours: c.process("ours")}
	c.logs = append(c.logs, r.theirs, r.ours)
	t.Cleanup(func() { r.theirs.signal(syscall.SIGKILL); r.ours.signal(syscall.SIGKILL) })
	c.forgetLeader("kube-scheduler")
	return r
}

// process is a replica by the name, which the bed has but one of.
func (c *cluster) process(name string) *replica {
	name = c.namespace + "-" + name
	return &replica{cluster: c, name: name, log: filepath.Join(c.bed.Dir(), name+".log")}
}

// start starts one of the two, which waits for the lease as long as the other one has it. Its times are the usual ones: who is slow for a moment on a busy machine is to keep
// its lease.
func (r *replacement) start(who *replica) {
	r.t.Helper()
	program := build(r.t)
	if who == r.theirs {
		program = r.bed.Program("kube-scheduler")
	}
	file := filepath.Join(r.t.TempDir(), who.name+".yaml")
	r.must(os.WriteFile(file, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 10000, burst: 10000}
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
`, r.bed.Kubeconfig(testbed.KubeScheduler)), 0o600))
	r.must(r.bed.Run(who.name, program, "--config", file, "--secure-port=0"))
}

// checkRights fails if ours was not allowed what it asked for.
func (r *replacement) checkRights() {
	r.t.Helper()
	text, err := os.ReadFile(r.ours.log)
	r.must(err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "forbidden") {
			r.t.Errorf("the user of kube-scheduler lacks a right: %s", line)
		}
	}
}

// TestSwitchAndBack has 1,000 pods wait while kube-scheduler is stopped and ours takes its place, and as many on the way back. Each is bound once.
func TestSwitchAndBack(t *testing.T) {
	skipIfShort(t)
	c := newReplacement(t, ownBed(t))
	theirs, ours := c.theirs, c.ours
	pods := 1000
	c.addNodes(100, "n", "32")

	c.start(theirs)
	c.create(several(100, "first", scheduledBy(v1.DefaultSchedulerName))...)
	c.awaitBound(time.Minute, 100)
	refusedBeside(c.cluster, "lease kube-system/kube-scheduler, so that kube-scheduler places the same pods")

	c.start(ours) // which waits for the lease
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

	c.start(theirs)
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
	c.checkRights()
}

// A pod waits for its victim, and another one that is as important, and came before, waits beside it, for whom nobody leaves. Whoever takes over keeps the room for the former, as
// the one before did, and has nobody else leave; also where the victim goes while nobody leads.
func TestSwitchWhileVictimLeaves(t *testing.T) {
	skipIfShort(t)
	bed := ownBed(t)
	for _, test := range []struct {
		name       string
		oursBegins bool
		gone       bool // the victim, by the time that the other one begins
	}{
		{"ours takes over", false, false},
		{"ours takes over, the victim is gone", false, true},
		{"kube-scheduler takes over", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newReplacement(t, bed)
			t.Cleanup(c.empty)
			before, after := c.theirs, c.ours
			if test.oursBegins {
				before, after = after, before
			}
			usual := scheduledBy(v1.DefaultSchedulerName)
			c.addNodes(3, "n", "4")
			low := priority(c.cluster, -10)
			for i, n := range c.nodes() {
				name := fmt.Sprintf("low-%d", i)
				c.create(newPod(name, usual, cpu("4"), low, takesItsTime))
				c.bind(name, n.Name)
			}
			t.Cleanup(func() { c.letGo(c.lasting()...) })
			c.addNodes(1, "small", "2")

			c.start(before)
			c.create(newPod("equal", usual, cpu("4"), never(c.cluster, 1000)))
			c.awaitRefused("equal")
			c.create(newPod("high", usual, cpu("4"), priority(c.cluster, 1000)))
			c.awaitNominated("high")
			c.awaitLeaving(1) // kube-scheduler tells the victim after that
			node := c.pod("high").Status.NominatedNodeName
			before.signal(syscall.SIGTERM)
			before.awaitEnd()

			victims := c.leaving()
			if len(victims) != 1 || c.pod(victims[0]).Spec.NodeName != node {
				t.Fatalf("the pods %v were told to leave for one on node %s", victims, node)
			}
			if test.gone {
				c.letGo(victims...)
			}
			c.start(after)
			c.create(newPod("small", usual)) // which is bound when the others have been looked at
			c.awaitBound(time.Minute, 1, named("small"))
			if !test.gone {
				c.awaitNominated("high")
				if on, leave := c.pod("high").Status.NominatedNodeName, c.leaving(); on != node || len(leave) != 1 {
					t.Errorf("node %s is nominated and %v are told to leave, want %s and %v", on, leave, node, victims)
				}
				c.letGo(victims...)
			}
			c.awaitBound(time.Minute, 1, named("high"))
			c.create(newPod("after", usual))
			c.awaitBound(time.Minute, 1, named("after"))
			if on := c.pod("high").Spec.NodeName; on != node {
				t.Errorf("the pod is on node %s, which was kept for it on %s", on, node)
			}
			if equal, leave, stay := c.pod("equal").Spec.NodeName, c.leaving(), len(c.bound(prefixed("low"))); equal != "" || len(leave) > 0 || stay != 2 {
				t.Errorf("the other pod is on node %q, %v are told to leave, and %d stay; want none, and 2", equal, leave, stay)
			}
			c.checkRoom()
			c.checkNotTwice()
			c.checkRights()
		})
	}
}

// awaitNominated waits until a node is nominated for the pod.
func (c *cluster) awaitNominated(pod string) {
	c.t.Helper()
	c.await(20*time.Second, func() string {
		if p := c.pod(pod); p.Status.NominatedNodeName == "" {
			return fmt.Sprintf("a nominated node for %s, whose status is %+v", pod, p.Status)
		}
		return ""
	})
}

// never gives the pod a priority for which nobody is evicted.
func never(c *cluster, value int32) option {
	name, policy := fmt.Sprintf("never-%d", value), v1.PreemptNever
	_, err := c.client.SchedulingV1().PriorityClasses().Create(c.t.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, PreemptionPolicy: &policy,
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		c.must(err)
	}
	return c.admitted(func(p *v1.Pod) { p.Spec.PriorityClassName = name })
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
