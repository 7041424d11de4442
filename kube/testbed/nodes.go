package testbed

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// fakeNode is the annotation by which kwok knows its nodes, and the key of the
// taint that keeps other pods off them.
const fakeNode = "kwok.x-k8s.io/node"

// writers is how many requests are under way at once. More do not make an API
// server on two cores faster.
const writers = 64

// NodeOptions say which fake nodes to add. What is zero gets the value in
// parentheses.
type NodeOptions struct {
	Count  int
	Prefix string // of their names (node-)
	CPU    string // of each, as Kubernetes writes quantities (32)
	Memory string // of each (256Gi)
	Pods   int    // that each may run (110)
	Zones  int    // named z0, z1, ..., filled in turn (3)
	Labels map[string]string
	Taint  bool // with kwok.x-k8s.io/node=fake:NoSchedule, which the pods of a Load tolerate
	// Vary changes each before it is created, where they are not all alike; they are numbered from 0.
	Vary func(i int, node *corev1.Node)
}

// AddNodes creates fake nodes that are ready at once and stay so: while no
// controller manager runs because nobody judges them, with one because kwok
// renews their leases.
func AddNodes(ctx context.Context, client kubernetes.Interface, o NodeOptions) error {
	o.Prefix = cmp.Or(o.Prefix, "node-")
	o.Zones = cmp.Or(o.Zones, 3)
	capacity, err := o.capacity()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range o.Count {
		group.Go(func() error {
			node := o.node(i, capacity.DeepCopy())
			if o.Vary != nil {
				o.Vary(i, node)
			}
			if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("test bed: create node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (o NodeOptions) capacity() (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{
		corev1.ResourceCPU:              cmp.Or(o.CPU, "32"),
		corev1.ResourceMemory:           cmp.Or(o.Memory, "256Gi"),
		corev1.ResourcePods:             fmt.Sprint(cmp.Or(o.Pods, 110)),
		corev1.ResourceEphemeralStorage: "1Ti",
	} {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("test bed: add nodes with %s %q: %w", name, text, err)
		}
		list[name] = quantity
	}
	return list, nil
}

func (o NodeOptions) node(i int, capacity corev1.ResourceList) *corev1.Node {
	name := fmt.Sprintf("%s%05d", o.Prefix, i)
	labels := map[string]string{
		corev1.LabelHostname:     name,
		corev1.LabelTopologyZone: fmt.Sprintf("z%d", i%o.Zones),
		corev1.LabelOSStable:     "linux",
		corev1.LabelArchStable:   "amd64",
	}
	maps.Copy(labels, o.Labels)
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{fakeNode: "fake"}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Phase:       corev1.NodeRunning,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.%d", 128+i>>16&127, i>>8&255, i&255)},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "fake"},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
	if o.Taint {
		node.Spec.Taints = []corev1.Taint{{Key: fakeNode, Value: "fake", Effect: corev1.TaintEffectNoSchedule}}
	}
	return node
}
