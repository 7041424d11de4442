package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file draws a cluster with workloads, and changes of it: as flags of plan, and as what people and controllers would
// do to the cluster.

// workloads are a cluster of nodes of several sorts, and of pods that belong to owners in two namespaces.
type workloads struct {
	c      *cluster
	random *rand.Rand
	beside beside
	owners int // so far
}

const (
	whatIfNodes = 12
	urgent      = "urgent" // a class of pods that come first
)

func newWorkloads(c *cluster, seed uint64, with beside) *workloads {
	c.t.Helper()
	w := &workloads{c, rand.New(rand.NewPCG(seed, 4)), with, 0} //nolint:gosec // chance, not secrets
	for _, o := range []testbed.NodeOptions{
		{Count: whatIfNodes / 2, Prefix: "n-", CPU: "8", Memory: "32Gi"},
		{Count: whatIfNodes / 4, Prefix: "large-", CPU: "16", Memory: "32Gi", Labels: map[string]string{"disk": "ssd"}},
		{Count: whatIfNodes / 4, Prefix: "own-", CPU: "8", Memory: "64Gi", Taint: true},
	} {
		c.must(testbed.AddNodes(c.t.Context(), c.client, o))
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: urgent}, Value: 1000}
	if _, err := c.client.SchedulingV1().PriorityClasses().Create(c.t.Context(), class, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		c.must(err)
	}
	_, err := c.client.CoreV1().Namespaces().Create(c.t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.other()}}, metav1.CreateOptions{})
	c.must(err)
	c.t.Cleanup(func() {
		for _, p := range c.now() {
			c.end(&p)
		}
	})
	var pods []*v1.Pod
	for range 16 {
		_, own := w.owner()
		pods = append(pods, own...)
	}
	for _, n := range c.nodes() {
		pods = append(pods, w.daemons(n.Name)...)
	}
	c.together(pods...)
	return w
}

// owner draws pods of a new owner, of some size and with some wishes.
func (w *workloads) owner() (name string, pods []*v1.Pod) {
	name = fmt.Sprintf("w%d", w.owners)
	w.owners++
	namespace := []string{w.c.namespace, w.c.other()}[w.random.IntN(2)]
	options := []option{func(p *v1.Pod) { p.Namespace = namespace }, cpu(fmt.Sprintf("%dm", 250*(1+w.random.IntN(8)))), label("app", name), ownedBy(name)}
	if w.random.IntN(2) == 0 {
		options = append(options, request(v1.ResourceMemory, fmt.Sprintf("%dMi", 512*(1+w.random.IntN(8)))))
	}
	switch w.random.IntN(5) {
	case 0:
		options = append(options, selecting("disk", "ssd"))
	case 1:
		options = append(options, selecting(v1.LabelTopologyZone, fmt.Sprintf("z%d", w.random.IntN(3))))
	case 2:
		options = append(options, func(p *v1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "kwok.x-k8s.io/node", Operator: v1.TolerationOpExists})
		})
	}
	if w.random.IntN(4) == 0 {
		options = append(options, hostPort(int32(8000+w.random.IntN(2))))
	}
	if w.random.IntN(4) == 0 {
		options = append(options, func(p *v1.Pod) { p.Spec.PriorityClassName = urgent })
	}
	options = append(options, w.company(name)...)
	pods = several(2+w.random.IntN(6), name, options...)
	w.standing(pods)
	return name, pods
}

func ownedBy(name string) option {
	return func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: types.UID("uid-" + name), Controller: new(true)}}
	}
}

func ownerOf(p *v1.Pod) string { return p.OwnerReferences[0].Name }

// change is flags of plan, and what does the same to the cluster.
type change struct {
	flags []string
	make  func()
}

// draw draws nodes to be drained, removed or added, a workload to be scaled, or a new one.
func (w *workloads) draw() change {
	nodes := w.c.nodes()
	slices.SortFunc(nodes, func(a, b v1.Node) int { return strings.Compare(a.Name, b.Name) })
	open := slices.DeleteFunc(slices.Clone(nodes), func(n v1.Node) bool { return n.Spec.Unschedulable })
	kind := w.random.IntN(5)
	switch {
	case len(w.pods()) < 4: // pruned to few
		kind = 3
	case len(open) <= whatIfNodes/2 && kind < 2:
		kind = 2
	}
	switch kind {
	case 0:
		name := open[w.random.IntN(len(open))].Name
		return change{[]string{"--drain", name}, func() { w.c.takeAway(name, false) }}
	case 1:
		name := nodes[w.random.IntN(len(nodes))].Name
		return change{[]string{"--remove", name}, func() { w.c.takeAway(name, true) }}
	case 2:
		if like := slices.IndexFunc(nodes, func(n v1.Node) bool { return !hasTwin(nodes, &n) }); like >= 0 {
			return w.add(&nodes[like])
		}
	case 3:
		return w.apply()
	}
	return w.scale()
}

// twin is what plan calls a node that is added like that one.
func twin(n *v1.Node) string { return n.Name + "-new-1" }

func hasTwin(nodes []v1.Node, of *v1.Node) bool {
	return strings.HasSuffix(of.Name, "-new-1") || slices.ContainsFunc(nodes, func(n v1.Node) bool { return n.Name == twin(of) })
}

func (w *workloads) add(like *v1.Node) change {
	return change{[]string{"--add-nodes", "1:like=" + like.Name}, func() {
		n := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: twin(like), Labels: maps.Clone(like.Labels), Annotations: like.Annotations},
			Spec:       v1.NodeSpec{Taints: like.Spec.Taints}, Status: like.Status,
		}
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnschedulable })
		n.Labels[v1.LabelHostname] = n.Name
		_, err := w.c.client.CoreV1().Nodes().Create(w.c.t.Context(), n, metav1.CreateOptions{})
		w.c.must(err)
		if own := w.daemons(n.Name); own != nil {
			w.c.together(own...)
		}
	}}
}

func (w *workloads) scale() change {
	of := w.pods()
	names := slices.Sorted(maps.Keys(of))
	name := names[w.random.IntN(len(names))]
	more := 1 + w.random.IntN(6)
	like := slices.MaxFunc(of[name], func(a, b v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return change{
		[]string{"--scale", fmt.Sprintf("%s/statefulset/%s=%d", like.Namespace, name, len(of[name])+more)},
		func() {
			var pods []*v1.Pod
			for range more {
				pods = append(pods, w.again(&like))
			}
			w.c.together(pods...)
		},
	}
}

// pods are those that are there and belong to no node, by owner.
func (w *workloads) pods() map[string][]v1.Pod {
	of := map[string][]v1.Pod{}
	for _, p := range w.c.free() {
		of[ownerOf(&p)] = append(of[ownerOf(&p)], p)
	}
	return of
}

// apply applies a workload that is new.
func (w *workloads) apply() change {
	name, pods := w.owner()
	for _, p := range pods { // as its controller makes them
		p.Spec = *pods[0].Spec.DeepCopy()
	}
	set := appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pods[0].Namespace},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(len(pods))), Selector: apps(name),
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pods[0].Labels}, Spec: pods[0].Spec},
		},
	}
	text, err := yaml.Marshal(set)
	w.c.must(err)
	path := filepath.Join(w.c.t.TempDir(), name+".yaml")
	w.c.must(os.WriteFile(path, text, 0o600))
	return change{[]string{"-f", path}, func() { w.c.together(pods...) }}
}

// again is a pod that is not there yet, like that one; its name is by chance, as controllers have it.
func (w *workloads) again(p *v1.Pod) *v1.Pod { return again(p, w.random.IntN(1<<20)) }

func again(p *v1.Pod, suffix int) *v1.Pod {
	n := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%05x", ownerOf(p), suffix), Namespace: p.Namespace, Labels: p.Labels, OwnerReferences: p.OwnerReferences},
		Spec:       *p.Spec.DeepCopy(),
	}
	n.Spec.NodeName = ""
	return n
}

// takeAway cordons a node, or deletes it, and has its pods made anew.
func (c *cluster) takeAway(name string, whole bool) {
	c.t.Helper()
	api := c.client.CoreV1().Nodes()
	if whole {
		c.must(api.Delete(c.t.Context(), name, metav1.DeleteOptions{}))
	} else {
		n, err := api.Get(c.t.Context(), name, metav1.GetOptions{})
		c.must(err)
		n.Spec.Unschedulable = true
		_, err = api.Update(c.t.Context(), n, metav1.UpdateOptions{})
		c.must(err)
	}
	var pods []*v1.Pod
	for _, p := range c.now() {
		if p.Spec.NodeName == name && isDaemon(&p) {
			if whole {
				c.end(&p)
			}
			continue
		}
		if p.Spec.NodeName == name {
			c.end(&p)
			n := again(&p, 0)
			n.Name = p.Name
			pods = append(pods, n)
		}
	}
	c.together(pods...)
}

// prune deletes workloads while more is asked for than nine tenths of what open nodes have.
func (w *workloads) prune() {
	for {
		var has, wanted resource.Quantity
		for _, n := range w.c.nodes() {
			if !n.Spec.Unschedulable {
				has.Add(n.Status.Allocatable[v1.ResourceCPU])
			}
		}
		pods := w.c.now()
		for i := range pods {
			wanted.Add(pods[i].Spec.Containers[0].Resources.Requests[v1.ResourceCPU])
		}
		if 10*wanted.MilliValue() <= 9*has.MilliValue() {
			return
		}
		pods = w.c.free()
		gone := ownerOf(&pods[w.random.IntN(len(pods))])
		for _, p := range pods {
			if ownerOf(&p) == gone {
				w.c.end(&p)
			}
		}
	}
}

// other is the second namespace.
func (c *cluster) other() string { return c.namespace + "-other" }

// now lists the pods of both namespaces as they are now.
func (c *cluster) now() (pods []v1.Pod) {
	c.t.Helper()
	for _, namespace := range []string{c.namespace, c.other()} {
		list, err := c.client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{})
		c.must(err)
		pods = append(pods, list.Items...)
	}
	return pods
}

// free lists the pods that belong to no node.
func (c *cluster) free() []v1.Pod {
	return slices.DeleteFunc(c.now(), func(p v1.Pod) bool { return isDaemon(&p) })
}

// end deletes a pod.
func (c *cluster) end(p *v1.Pod) {
	c.t.Helper()
	c.must(c.client.CoreV1().Pods(p.Namespace).Delete(context.Background(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

// together creates pods within one second, in which no others were created: creation times have no more than that, and
// people and controllers do not wait in between either.
func (c *cluster) together(pods ...*v1.Pod) {
	c.t.Helper()
	for range 20 {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		made := make([]*v1.Pod, len(pods))
		group, ctx := errgroup.WithContext(c.t.Context())
		for i, p := range pods {
			group.Go(func() (err error) {
				made[i], err = c.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
				return err
			})
		}
		c.must(group.Wait())
		if !slices.ContainsFunc(made, func(p *v1.Pod) bool { return !p.CreationTimestamp.Equal(&made[0].CreationTimestamp) }) {
			return
		}
		for _, p := range made {
			c.end(p)
		}
	}
	c.t.Fatalf("%d pods take longer than a second to be created", len(pods))
}
