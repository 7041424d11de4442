package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file is a test's view of its cluster: a namespace of its own on a shared
// bed, with an administrator's client.

type cluster struct {
	t         *testing.T
	bed       *testbed.Bed
	client    kubernetes.Interface
	namespace string
	logs      []fmt.Stringer // of our schedulers, shown when the test fails
}

var namespaces atomic.Int32

// bare is a cluster of nothing but an API server. The test adds nodes, and they
// go with it.
func bare(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, bareBed.get(t))
	t.Cleanup(c.empty)
	return c
}

const livingNodes = 30

// living is a cluster with controllers, and with 30 nodes that kwok keeps alive.
func living(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, livingBed.get(t))
	if err := testbed.AddNodes(t.Context(), c.client, testbed.NodeOptions{Count: livingNodes, CPU: "8", Memory: "32Gi"}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	c.await(time.Minute, func() string {
		if _, err := c.client.CoreV1().ServiceAccounts(c.namespace).Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			return fmt.Sprintf("the service account: %v", err)
		}
		for _, n := range c.nodes() {
			if len(n.Spec.Taints) > 0 {
				return fmt.Sprintf("node %s without the taints %v", n.Name, n.Spec.Taints)
			}
		}
		return ""
	})
	t.Cleanup(func() {
		c.deletePods()
		c.must(c.client.CoreV1().Namespaces().Delete(context.Background(), c.namespace, metav1.DeleteOptions{}))
	})
	return c
}

func newCluster(t *testing.T, bed *testbed.Bed) *cluster {
	t.Helper()
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, bed: bed, client: client, namespace: fmt.Sprintf("test-%d", namespaces.Add(1))}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, metav1.CreateOptions{})
	c.must(err)
	return c
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// empty takes away all pods and nodes. The context of the test has ended.
func (c *cluster) empty() {
	c.deletePods()
	c.must(c.client.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

func (c *cluster) deletePods() {
	now := int64(0)
	c.must(c.client.CoreV1().Pods(c.namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}))
}

// addNodes adds nodes of so many cores, named prefix00000 and on.
func (c *cluster) addNodes(count int, prefix, cpu string) {
	c.t.Helper()
	c.must(testbed.AddNodes(c.t.Context(), c.client, testbed.NodeOptions{Count: count, Prefix: prefix, CPU: cpu}))
}

// create creates pods, several at a time.
func (c *cluster) create(pods ...*v1.Pod) {
	c.t.Helper()
	group, ctx := errgroup.WithContext(c.t.Context())
	group.SetLimit(32)
	for _, p := range pods {
		group.Go(func() error {
			_, err := c.client.CoreV1().Pods(c.namespace).Create(ctx, p, metav1.CreateOptions{})
			return err
		})
	}
	c.must(group.Wait())
}

// pods lists the pods of the namespace, by name.
func (c *cluster) pods() []v1.Pod {
	c.t.Helper()
	// From the API server's cache: the same as what schedulers see.
	list, err := c.client.CoreV1().Pods(c.namespace).List(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	c.must(err)
	return list.Items
}

func (c *cluster) pod(name string) *v1.Pod {
	c.t.Helper()
	p, err := c.client.CoreV1().Pods(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	c.must(err)
	return p
}

func (c *cluster) nodes() []v1.Node {
	c.t.Helper()
	list, err := c.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	c.must(err)
	return list.Items
}

// leaving names the pods that were deleted and are there still.
func (c *cluster) leaving() []string {
	c.t.Helper()
	return c.namesOf(func(p *v1.Pod) bool { return p.DeletionTimestamp != nil })
}

// awaitLeaving waits until so many pods are to leave.
func (c *cluster) awaitLeaving(count int) {
	c.t.Helper()
	c.await(time.Minute, func() string {
		if told := c.leaving(); len(told) < count {
			return fmt.Sprintf("%d pods told to leave; these were: %v", count, told)
		}
		return ""
	})
}

// lasting names the pods that stay when they are deleted, until letGo lets them go.
func (c *cluster) lasting() []string {
	c.t.Helper()
	return c.namesOf(func(p *v1.Pod) bool { return len(p.Finalizers) > 0 })
}

func (c *cluster) namesOf(match func(*v1.Pod) bool) (names []string) {
	c.t.Helper()
	for _, p := range c.pods() {
		if match(&p) {
			names = append(names, p.Name)
		}
	}
	return names
}

func (c *cluster) letGo(names ...string) {
	c.t.Helper()
	for _, name := range names {
		_, err := c.client.CoreV1().Pods(c.namespace).Patch(context.Background(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		c.must(err)
	}
}

// bind puts a pod on a node as another scheduler would.
func (c *cluster) bind(pod, node string) {
	c.t.Helper()
	c.must(c.client.CoreV1().Pods(c.namespace).Bind(c.t.Context(), &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: pod}, Target: v1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}))
}

// events lists the events of a reason, by the name of their pod.
func (c *cluster) events(reason string) map[string][]eventsv1.Event {
	c.t.Helper()
	list, err := c.client.EventsV1().Events(c.namespace).List(context.Background(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	c.must(err)
	events := map[string][]eventsv1.Event{}
	for _, e := range list.Items {
		events[e.Regarding.Name] = append(events[e.Regarding.Name], e)
	}
	return events
}

// await asks until nothing is missing any more. What is missing when the time is
// up fails the test.
func (c *cluster) await(limit time.Duration, missing func() string) {
	c.t.Helper()
	for deadline := time.Now().Add(limit); ; {
		asked := time.Now()
		what := missing()
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("still missing after %s: %s\n%s", limit, what, c.picture())
		}
		// Asking must not become the load.
		time.Sleep(max(50*time.Millisecond, 5*time.Since(asked)))
	}
}

// awaitBound waits until so many pods of those that match are bound.
func (c *cluster) awaitBound(limit time.Duration, count int, match ...func(*v1.Pod) bool) {
	c.t.Helper()
	c.await(limit, func() string {
		if bound := len(c.bound(match...)); bound < count {
			return fmt.Sprintf("%d of %d pods are bound", bound, count)
		}
		return ""
	})
}

// bound lists the pods that have a node and match.
func (c *cluster) bound(match ...func(*v1.Pod) bool) []v1.Pod {
	c.t.Helper()
	return slices.DeleteFunc(c.pods(), func(p v1.Pod) bool {
		return p.Spec.NodeName == "" || slices.ContainsFunc(match, func(m func(*v1.Pod) bool) bool { return !m(&p) })
	})
}

// condition is the pod's condition PodScheduled; empty if it has none.
func condition(p *v1.Pod) v1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled {
			return c
		}
	}
	return v1.PodCondition{}
}

// awaitRefused waits until a pod's condition says why it has no node, and returns that.
func (c *cluster) awaitRefused(pod string) string {
	c.t.Helper()
	return c.awaitCondition(pod, v1.PodReasonUnschedulable)
}

// held is the reason of the condition of a pod that no node would help.
const held = "Held"

// awaitCondition waits until a pod's condition says with this reason why it waits, and returns its message.
func (c *cluster) awaitCondition(pod, reason string) string {
	c.t.Helper()
	var message string
	c.await(20*time.Second, func() string {
		said := condition(c.pod(pod))
		message = said.Message
		if said.Status != v1.ConditionFalse || said.Reason != reason || message == "" {
			return fmt.Sprintf("why pod %s waits, as %s; its condition: %+v", pod, reason, said)
		}
		return ""
	})
	return message
}

// picture shows a few pods that wait, and the ends of our logs.
func (c *cluster) picture() string {
	var b strings.Builder
	shown := 0
	for _, p := range c.pods() {
		if p.Spec.NodeName == "" && shown < 10 {
			shown++
			said := condition(&p)
			fmt.Fprintf(&b, "pod %s of %s waits: %s %s\n", p.Name, p.Spec.SchedulerName, said.Reason, said.Message)
		}
	}
	for _, log := range c.logs {
		fmt.Fprintf(&b, "end of the scheduler's log:\n%s\n", log)
	}
	return b.String()
}
