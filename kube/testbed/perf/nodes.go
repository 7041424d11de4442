package perf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// This file is what workloads do with nodes and namespaces.

// baseNode is the node of workloads that name no template.
func baseNode(prefix string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourcePods:   resource.MustParse("110"),
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix},
		Status: corev1.NodeStatus{
			Capacity: room, Phase: corev1.NodeRunning,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func (r *runner) createNodes(ctx context.Context, prefix string, op *CreateNodes) error {
	var s *stencil
	if op.Template != "" {
		var err error
		if s, err = newStencil(op.Template, op.TemplateParams, op.Count); err != nil {
			return err
		}
	}
	return parallel(ctx, op.Count, func(ctx context.Context, i int) error {
		node := baseNode(prefix)
		if s != nil {
			node = &corev1.Node{}
			if err := s.fill(i, node); err != nil {
				return err
			}
		}
		if err := op.complete(node, i); err != nil {
			return err
		}
		if _, err := r.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
		if op.Allocatable == nil {
			return nil
		}
		if _, err := r.client.StorageV1().CSINodes().Create(ctx, op.Allocatable.csiNode(node.Name), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create what drivers may attach to node %s: %w", node.Name, err)
		}
		return nil
	})
}

// complete gives a node its name, and what the operation says of nodes besides.
func (op *CreateNodes) complete(node *corev1.Node, i int) error {
	if node.Name == "" {
		node.Name = node.GenerateName + rand.String(8)
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[corev1.LabelHostname] = node.Name
	if l := op.Label; l != nil {
		node.Labels[l.Key] = l.Values[i%len(l.Values)]
	}
	if l := op.UniqueLabel; l != nil {
		node.Labels[l.Key] = string(uuid.NewUUID())
	}
	if op.Allocatable == nil {
		return nil
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	for name, amount := range op.Allocatable.Node {
		quantity, err := resource.ParseQuantity(amount)
		if err != nil {
			return fmt.Errorf("nodeAllocatable: %s: %w", name, err)
		}
		node.Status.Allocatable[corev1.ResourceName(name)] = quantity
	}
	return nil
}

func (a *NodeAllocatable) csiNode(name string) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{corev1.MigratedPluginsAnnotationKey: strings.Join(a.Migrated, ",")},
	}}
	for driver, volumes := range a.CSI {
		node.Spec.Drivers = append(node.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: name, Allocatable: volumes})
	}
	slices.SortFunc(node.Spec.Drivers, func(a, b storagev1.CSINodeDriver) int { return strings.Compare(a.Name, b.Name) })
	return node
}

func (r *runner) createNamespaces(ctx context.Context, op *CreateNamespaces) error {
	for i := range op.Count {
		namespace := &corev1.Namespace{}
		if op.Template != "" {
			s, err := newStencil(op.Template, nil, op.Count)
			if err != nil {
				return err
			}
			if err := s.fill(i, namespace); err != nil {
				return err
			}
		}
		namespace.Name = fmt.Sprintf("%s-%d", op.Prefix, i)
		if err := r.ensure(ctx, namespace); err != nil {
			return err
		}
		if _, used := r.awaited[namespace.Name]; !used {
			r.awaited[namespace.Name] = 0
		}
	}
	return nil
}

// ensureNamed makes sure that there is a namespace, of which barriers need not know.
func (r *runner) ensureNamed(ctx context.Context, name string) error {
	return r.ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}
