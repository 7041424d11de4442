package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// This file takes in the pod groups of the coscheduling plugin. Of each all that is read and kept is a number, so that no client of theirs is linked in. Their
// status is written by the plugin's own controller, as with the plugin.

// CoschedulingGroups are the pod groups of the coscheduling plugin.
func CoschedulingGroups() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"}
}

// coscheduling brings such groups to the loop.
type coscheduling struct {
	s         *Scheduler
	informers dynamicinformer.DynamicSharedInformerFactory
}

// newCoscheduling makes the informer of such groups; nil where there are none.
func newCoscheduling(s *Scheduler) *coscheduling {
	if s.Coscheduling == nil {
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.Coscheduling, 0)
	if err := factory.ForResource(CoschedulingGroups()).Informer().SetTransform(bare); err != nil {
		panic(fmt.Sprintf("scheduler: an informer that was not started takes no transform: %v", err))
	}
	return &coscheduling{s, factory}
}

// bare drops, in place, all of a group but its number and what it is known by.
func bare(object any) (any, error) {
	if g, ok := object.(*unstructured.Unstructured); ok {
		g.SetManagedFields(nil)
		g.SetAnnotations(nil)
		delete(g.Object, "status")
	}
	return object, nil
}

// start starts the informer, and returns at once.
func (c *coscheduling) start(ctx context.Context) {
	if c != nil {
		c.informers.Start(ctx.Done())
	}
}

// informer is that of such groups.
func (c *coscheduling) informer() cache.SharedIndexInformer {
	return c.informers.ForResource(CoschedulingGroups()).Informer()
}

// survey takes in all such groups that the informer holds.
func (c *coscheduling) survey() {
	if c == nil {
		return
	}
	all := c.informer().GetStore().List()
	slices.SortFunc(all, func(a, b any) int {
		x, y := a.(*unstructured.Unstructured), b.(*unstructured.Unstructured)
		return cmp.Or(cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
	})
	for _, g := range all {
		c.see(g.(*unstructured.Unstructured))
	}
}

// see takes in such a group, and has its pods reported as they wait by now.
func (c *coscheduling) see(object *unstructured.Unstructured) { dealWith(c.s, object, c.deal) }

func (c *coscheduling) deal(object *unstructured.Unstructured) {
	// What is no number the definition of the resource does not let in; one without it is a group whose pods are placed each by itself.
	least, _, _ := unstructured.NestedInt64(object.Object, "spec", "minMember")
	c.s.explainer.wantNow(c.s.world.PodGroups().SeeCoscheduling(object.GetNamespace(), object.GetName(), int32(min(least, math.MaxInt32))))
}

// lose takes in that such a group is gone.
func (c *coscheduling) lose(object *unstructured.Unstructured) {
	dealWithLoss(c.s, object, func(g *unstructured.Unstructured) {
		c.s.explainer.wantNow(c.s.world.PodGroups().LoseCoscheduling(g.GetNamespace(), g.GetName()))
	})
}
