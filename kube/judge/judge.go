// Package judge is upstream's scheduling framework as the judge of what is allowed: for every query whether a pod may run on a node it runs
// upstream's own PreFilter and Filter plugins, so that Fairlead can be wrong about Kubernetes but never violate it.
//
// The judge keeps nodes and pods in upstream's NodeInfo values and changes them in place: a decision costs no copy, where upstream's cache clones the
// nodes that changed since its last snapshot. That is sound because a judge has one owner goroutine, the scheduling loop. Only the
// methods of a Reservation may run on another goroutine, and the plugins that act there (VolumeBinding, DynamicResources) read informers and their own
// locked caches, never the NodeInfo values. What reservations share is locked here (company.go, usage.go), and nothing else.
//
// Three kinds of query. A LocalCase runs only the filters that look at a pod's own spec and one node. A Case runs all filters, with the PreFilter
// state computed once and kept current while pods come and go. Diagnose words a refusal as kube-scheduler would.
package judge

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// Options are what a judge needs from outside.
type Options struct {
	// Client is what PreBind writes volume and resource claims with, and what the binder plugin is constructed from.
	Client kubernetes.Interface
	// Informers is the factory that New registers the plugins' informers on. The caller starts it after New and waits for its caches.
	Informers informers.SharedInformerFactory
	// Parallelism is the number of goroutines that one query over many nodes may use.
	Parallelism int
}

// Judge says what upstream's plugins allow, over the nodes and pods that were reported to it. It belongs to one goroutine.
type Judge struct {
	// ctx carries the logger of upstream's plugins into queries, which have no deadline of their own.
	ctx        context.Context //nolint:containedctx // upstream's plugins want one with every query; these have no deadline
	full       framework.Framework
	local      framework.Framework
	view       *view
	claims     *assumecache.AssumeCache
	devices    fwk.SharedDRAManager
	steered    *steered   // the same
	selectors  *cel.Cache // compiled
	namespaces corelisters.NamespaceLister
	// synced tell whether what follows the informers has caught up with them.
	synced []func() bool
	// open are the cases to keep current, each at its own index.
	open []*Case
	// next is where the next search for some of the nodes begins.
	next int
	// reservations counts what was set aside.
	reservations int
	usage        usage
	// evaluations counts how often filters were run on a pod and a node.
	evaluations int64
}

// New builds the judge and registers on the factory every informer that a plugin reads: pods, nodes, namespaces, volumes, storage classes, CSI objects,
// and what dynamic resource allocation needs. The context ends the background work of upstream's metrics and slice tracker.
func New(ctx context.Context, o Options) (*Judge, error) {
	if o.Parallelism < 1 {
		return nil, fmt.Errorf("judge: parallelism is %d: give at least 1", o.Parallelism)
	}
	// Upstream's plugins count into these metrics without asking whether they exist.
	metrics.Register()

	judge := &Judge{ctx: ctx, view: newView(), usage: usage{by: map[types.UID]*users{}}, namespaces: o.Informers.Core().V1().Namespaces().Lister()}
	if err := judge.trackDevices(o); err != nil {
		return nil, err
	}
	var err error
	if judge.full, err = judge.newFramework(o, fullProfile); err != nil {
		return nil, fmt.Errorf("judge: build the framework of all filters: %w", err)
	}
	if judge.local, err = judge.newFramework(o, localProfile); err != nil {
		return nil, fmt.Errorf("judge: build the framework of node-local filters: %w", err)
	}
	return judge, nil
}

// newFramework builds one of the judge's two frameworks; both look at the same nodes.
func (j *Judge) newFramework(o Options, build profileBuilder) (framework.Framework, error) {
	profile, err := build()
	if err != nil {
		return nil, err
	}
	return frameworkruntime.NewFramework(j.ctx, registry(), profile,
		frameworkruntime.WithClientSet(o.Client),
		frameworkruntime.WithInformerFactory(o.Informers),
		frameworkruntime.WithSharedDRAManager(j.devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(o.Informers.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(j.view),
		frameworkruntime.WithPodGroupManager(j.view),
		frameworkruntime.WithParallelism(o.Parallelism),
	)
}

// Evaluations is how often filters were asked about a kind of pod and a node, last words aside.
func (j *Judge) Evaluations() int64 { return j.evaluations }

// Reset forgets all nodes, pods and open cases, so that it can be told of them anew after a panic in one of its methods. The plugins stay: they can be
// registered with the informers only once, and keep nothing of nodes and pods but what informers and reservations tell them. Cases from before must not be
// used any more, not even closed.
func (j *Judge) Reset() {
	groups := j.view.groups
	*j.view = *newView()
	j.view.groups = groups
	j.open, j.next = nil, 0
}
