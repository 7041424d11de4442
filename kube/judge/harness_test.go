package judge

// What the tests share: a judge over a fake API server, its rival, and short ways to write nodes and pods.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// bench is a judge, and the rival that says what it must answer.
type bench struct {
	judge  *Judge
	rival  *rival
	client *fake.Clientset
}

func newBench(tb testing.TB, objects ...runtime.Object) *bench {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	judge, err := New(ctx, Options{Client: client, Informers: factory, Parallelism: 2})
	if err != nil {
		tb.Fatal(err)
	}
	rival := newRival(ctx, tb, judge, client, factory)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := judge.WaitForSync(ctx); err != nil {
		tb.Fatal(err)
	}
	return &bench{judge: judge, rival: rival, client: client}
}

// rival is upstream's framework with its own plugins, all of them unchanged, over upstream's own snapshot, made anew for every query.
type rival struct {
	ctx       context.Context
	framework framework.Framework
	snapshot  *swapped
}

// swapped lets one framework look at one snapshot after the other.
type swapped struct{ fwk.SharedLister }

func newRival(ctx context.Context, tb testing.TB, judge *Judge, client *fake.Clientset, factory informers.SharedInformerFactory) *rival {
	tb.Helper()
	profile, err := fullProfile()
	if err != nil {
		tb.Fatal(err)
	}
	// Some plugins put an index on an informer under the name of their profile.
	profile.SchedulerName = "rival"
	snapshot := &swapped{cache.NewEmptySnapshot()}
	built, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(judge.devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithParallelism(2),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return &rival{ctx: ctx, framework: built, snapshot: snapshot}
}

// show makes a snapshot of the cluster. Upstream's reads the node from the pod.
func (r *rival) show(nodes []*v1.Node, pods []*v1.Pod) {
	r.snapshot.SharedLister = cache.NewSnapshot(pods, nodes)
}

// verdicts are the answers for the pod and every node, in words.
func (r *rival) verdicts(pod *v1.Pod) map[string]string {
	infos, _ := r.snapshot.NodeInfos().List()
	state := framework.NewCycleState()
	result, status, limiters := r.framework.RunPreFilterPlugins(r.ctx, state, pod)
	answers := make(map[string]string)
	for _, info := range infos {
		name := info.Node().Name
		switch {
		case !status.IsSuccess():
			answers[name] = words(status)
		case !result.AllNodes() && !result.NodeNames.Has(name):
			answers[name] = words(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(limiters))))
		default:
			answers[name] = words(r.framework.RunFilterPlugins(r.ctx, state, pod, info))
		}
	}
	return answers
}

// words spells a status out.
func words(status *fwk.Status) string {
	if status.IsSuccess() {
		return "yes"
	}
	return fmt.Sprintf("%v by %s: %s", status.Code(), status.Plugin(), strings.Join(status.Reasons(), ", "))
}

// makeNode is a node of 4 cores, 8 GiB and 10 pods with labels and taints; a label or taint is written key=value, taints end in :Effect.
func makeNode(name string, marks ...string) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("10"),
		}},
	}
	for _, mark := range marks {
		key, value, _ := strings.Cut(mark, "=")
		if value, effect, taint := strings.Cut(value, ":"); taint {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)})
			continue
		}
		node.Labels[key] = value
	}
	return node
}

// makePod is a pod of 100 millicores with labels written key=value.
func makePod(name string, labels ...string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "main", Image: "x", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")},
		}}}},
	}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		pod.Labels[key] = value
	}
	return pod
}

// selecting is a selector of pods by one label.
func selecting(label string) *metav1.LabelSelector {
	key, value, _ := strings.Cut(label, "=")
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// away makes the pod require to be away from pods with the label, within the topology.
func away(pod *v1.Pod, topology, label string) *v1.Pod {
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: topology, LabelSelector: selecting(label)},
	}}}
	return pod
}

// spreading gives the pod a hard spread constraint of skew 1.
func spreading(pod *v1.Pod, topology, label string) *v1.Pod {
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selecting(label),
	})
	return pod
}

// mustCase opens a case that PreFilter does not refuse.
func mustCase(tb testing.TB, judge *Judge, pod *v1.Pod) *Case {
	tb.Helper()
	c, status := judge.Case(pod, nil)
	if !status.IsSuccess() {
		tb.Fatalf("PreFilter refuses pod %s: %s", pod.Name, words(status))
	}
	return c
}

// eventually waits until the binder's own caches have followed the informers, for which upstream offers no other sign.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for range 500 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatalf("not within five seconds: %s", what)
}

// put adds the pod to the node, and returns how to take it away.
func put(tb testing.TB, judge *Judge, pod *v1.Pod, node string) (remove func()) {
	tb.Helper()
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	info, err := NewPod(pod)
	if err != nil {
		tb.Fatal(err)
	}
	judge.AddPod(info, node)
	return func() { judge.RemovePod(info, node) }
}
