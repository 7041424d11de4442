package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pod is the pod as the API server has it.
func (b *bubble) pod(name string) *v1.Pod {
	b.t.Helper()
	pod, err := b.api.Clientset.CoreV1().Pods("default").Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return pod
}

// expectNominated fails unless the node is nominated for the pod, and its condition has the words.
func (b *bubble) expectNominated(pod, node, words string) {
	b.t.Helper()
	status := b.pod(pod).Status
	if status.NominatedNodeName != node {
		b.t.Errorf("after %s the nominated node of %s is %q, want %q", time.Since(b.began), pod, status.NominatedNodeName, node)
	}
	b.expectCondition(pod, v1.PodReasonUnschedulable, words)
}

// expectCondition fails unless the pod waits for that reason, in these words.
func (b *bubble) expectCondition(pod, reason, words string) {
	b.t.Helper()
	if c := b.pod(pod).Status.Conditions; len(c) != 1 || c[0].Type != v1.PodScheduled || c[0].Status != v1.ConditionFalse || c[0].Reason != reason || !strings.Contains(c[0].Message, words) {
		b.t.Errorf("after %s the conditions of %s are %+v, want %s: %q", time.Since(b.began), pod, c, reason, words)
	}
}

// lingering lets who is evicted be there until the test says otherwise.
func lingering(b *bubble, _ *v1.Pod) { b.api.linger = true }

// While those leave that were evicted for a pod, the pod says so: it has a nominated node, and a condition that names them.
func TestWhoWaitsForVictimsIsNominated(t *testing.T) {
	pressed(t, lingering, func(b *bubble, high *v1.Pod) {
		node := bigNode(0).Name
		b.pass(75 * time.Second)
		b.expectNominated(high.Name, node, "Fairlead: node "+node+" is kept for it until 2 pods have left (pod-1, pod-2).")
		for i := range 2 {
			b.expectNominated(high.Name, node, "is kept for it")
			if err := b.api.remove(b.api.sent[i].evict); err != nil {
				b.t.Fatal(err)
			}
			b.pass(time.Minute)
		}
		b.expectBound(high.Name)
	})
}

// A pod whose room nobody holds any more has no nominated node: here as the other victim is kept.
func TestNominationIsTakenBack(t *testing.T) {
	refusing := func(b *bubble, _ *v1.Pod) {
		b.api.evict = func(context.Context, string, int) error {
			err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
				Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget kept needs 2 healthy pods and has 2 currently",
			})
			return err
		}
	}
	pressed(t, refusing, func(b *bubble, high *v1.Pod) {
		b.pass(70 * time.Second) // one is asked a minute
		b.expectNominated(high.Name, "", "keeps pod")
		b.expectNominated(high.Name, "", "on node "+bigNode(0).Name+": The disruption budget kept needs 2 healthy pods and has 2 currently.")
	})
}

// What a leader before has nominated is taken back, and what an autoscaler did is not.
func TestNominationsOfThePast(t *testing.T) {
	ours, hinted := plainPod(1), plainPod(2)
	for _, p := range []*v1.Pod{ours, hinted} {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		p.Status.NominatedNodeName = "n7"
	}
	ours.Status.Conditions = []v1.PodCondition{{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable,
		Message: "0/3 nodes are available. Fairlead: node n7 is kept for it until 1 pod has left (pod-3).",
	}}
	inBubble(t, []runtime.Object{bigNode(0), ours, hinted}, func(b *bubble) {
		b.run()
		b.pass(10 * time.Second)
		b.expectNominated("pod-1", "", "lack the label disk=ssd")
		b.expectNominated("pod-2", "n7", "lack the label disk=ssd")
	})
}

// A leader before has told others to leave for a pod, and nominated the node. The next one holds the same room, and the node stays nominated.
func TestNominationsAreInherited(t *testing.T) {
	node, low, high := bigNode(0), plainPod(1), plainPod(2)
	node.Status.Allocatable[v1.ResourceCPU] = low.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]
	low.Spec.NodeName, low.DeletionTimestamp, low.Finalizers = node.Name, new(metav1.Now()), []string{"example.com/takes-its-time"}
	high.Spec.Priority = new(int32(100))
	for _, nominated := range []bool{true, false} {
		t.Run(fmt.Sprintf("nominated=%t", nominated), func(t *testing.T) {
			high := high.DeepCopy()
			if nominated {
				high.Status.NominatedNodeName = node.Name
				high.Status.Conditions = []v1.PodCondition{{
					Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable,
					Message: "0/1 nodes are available. Fairlead: node " + node.Name + " is kept for it until 1 pod has left (pod-1).",
				}}
			}
			inBubble(t, []runtime.Object{node, low, high}, func(b *bubble) {
				b.Config.Profiles[0].Evictions.Enabled = true
				b.run()
				b.pass(10 * time.Second)
				b.expectNominated("pod-2", node.Name, "Fairlead: node "+node.Name+" is kept for it until ")
				if err := b.api.remove("pod-1"); err != nil {
					b.t.Fatal(err)
				}
				b.pass(10 * time.Second)
				b.expectBound("pod-2")
			})
		})
	}
}

// A pod for which the leader before has made room, be it kube-scheduler, has it although another one that is as important, and came before, waits as well.
func TestNominatedGoFirst(t *testing.T) {
	node, first, high := bigNode(0), plainPod(1), plainPod(2)
	node.Status.Allocatable[v1.ResourceCPU] = first.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]
	high.Status.NominatedNodeName = node.Name
	inBubble(t, []runtime.Object{node, first, high}, func(b *bubble) {
		b.run()
		b.pass(10 * time.Second)
		b.expectBound(high.Name)
	})
}
