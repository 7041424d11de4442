package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// ofDeployment is a pod of the Deployment web, of its ReplicaSet with that hash. No controller makes these: the test does.
func ofDeployment(hash string) option {
	return func(p *v1.Pod) {
		yes := true
		p.Labels = map[string]string{"app": "web", "pod-template-hash": hash}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-" + hash, UID: types.UID("5eba1b5c-0000-4000-8000-00000000000" + hash), Controller: &yes}}
	}
}

// spans is the test's own count of how long pods waited and ran, all in all, by the API server's clock.
type spans struct{ waiting, running time.Duration }

// count counts a pod up to a moment.
func (s *spans) count(p *v1.Pod, until time.Time) {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			s.waiting += c.LastTransitionTime.Sub(p.CreationTimestamp.Time)
			s.running += until.Sub(c.LastTransitionTime.Time)
			return
		}
	}
	s.waiting += until.Sub(p.CreationTimestamp.Time)
}

// Accounts survive a killed leader, a killed API server, pods that are made again, and a workload that is deleted and made again: what is written in the end differs from the test's own count by no more than the interval of writes, for each replica and each death of a leader.
func TestAccountsSurvive(t *testing.T) {
	skipIfShort(t)
	const replicas, interval = 4, 5 * time.Second
	c, of := defined(t)
	_, err := of.Create(t.Context(), serviceClass(t, "gold", `{importance: 1, availability: 90%, default: true}`), strictly())
	c.must(err)
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	accounts := client.Resource(scheduler.WorkloadAccounts()).Namespace(c.namespace)

	first := c.run("first", shortLease)
	leader := c.awaitLeader(30*time.Second, "")
	c.create(several(replicas, "web", ofDeployment("a"), cpu("1"))...)
	time.Sleep(8 * time.Second) // they wait, as there is no node
	c.addNodes(1, "n", "8")
	c.awaitBound(20*time.Second, replicas)
	time.Sleep(8 * time.Second)

	first.signal(syscall.SIGKILL)
	c.run("second", calmLease)
	c.awaitLeader(30*time.Second, leader)
	time.Sleep(8 * time.Second)
	c.must(c.bed.KillAPIServer())
	c.must(c.bed.StartAPIServer(t.Context()))
	time.Sleep(5 * time.Second)

	var counted spans
	gone := func(names ...string) {
		for _, name := range names {
			counted.count(c.pod(name), time.Now())
			c.delete(name)
		}
	}
	gone("web-0")
	c.create(newPod("web-again", ofDeployment("a"), cpu("1")))
	c.awaitBound(20*time.Second, replicas)
	time.Sleep(5 * time.Second)
	gone("web-1", "web-2", "web-3", "web-again")
	c.await(20*time.Second, func() string {
		if left := len(c.pods()); left > 0 {
			return fmt.Sprintf("%d pods to be gone", left)
		}
		return ""
	})
	time.Sleep(3 * time.Second)
	c.create(several(replicas, "anew", ofDeployment("b"), cpu("1"))...)
	c.awaitBound(20*time.Second, replicas)
	time.Sleep(interval + 2*time.Second)

	object, err := accounts.Get(t.Context(), "deployment.web", metav1.GetOptions{})
	c.must(err)
	account := &v1alpha1.WorkloadAccount{}
	c.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, account))
	s := &account.Status
	if len(s.Replicas) != replicas {
		t.Fatalf("the account has %d replicas, want %d: %+v", len(s.Replicas), replicas, s)
	}
	for _, p := range c.pods() {
		counted.count(&p, s.ObservedAt.Time)
	}
	var written spans
	for _, r := range s.Replicas {
		written.waiting += time.Duration(r.WaitingMicroseconds) * time.Microsecond
		written.running += time.Duration(r.RunningMicroseconds+r.OverheadMicroseconds) * time.Microsecond
	}
	t.Logf("%swritten: %v waited, %v ran; counted: %v and %v; %s available", says, written.waiting, written.running, counted.waiting, counted.running, s.Available)
	for what, off := range map[string]time.Duration{"waited": written.waiting - counted.waiting, "ran": written.running - counted.running} {
		if off.Abs() > replicas*interval {
			t.Errorf("how long they %s differs by %v, want at most %v", what, off, replicas*interval)
		}
	}
	if s.Class != "gold" || s.Target != "0.9" || s.Kind != "deployment" || s.Name != "web" {
		t.Errorf("the account is of %s %s, of class %s that promises %s", s.Kind, s.Name, s.Class, s.Target)
	}
}
