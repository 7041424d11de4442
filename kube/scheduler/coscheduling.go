package scheduler

import (
	"cmp"
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
var CoschedulingGroups = schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"}

// coschedulingInformers makes the informer of such groups; nil where there are none.
func coschedulingInformers(s *Scheduler) dynamicinformer.DynamicSharedInformerFactory {
	if s.Coscheduling == nil {
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.Coscheduling, 0)
	if err := factory.ForResource(CoschedulingGroups).Informer().SetTransform(bare); err != nil {
		panic(fmt.Sprintf("scheduler: an informer that was not started takes no transform: %v", err))
	}
	return factory
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

// coschedulingInformer is the informer of such groups.
func (in *intake) coschedulingInformer() cache.SharedIndexInformer {
	return in.coscheduling.ForResource(CoschedulingGroups).Informer()
}

// surveyCoscheduling takes in all such groups that the informer holds.
func (in *intake) surveyCoscheduling() {
	if in.coscheduling == nil {
		return
	}
	all := in.coschedulingInformer().GetStore().List()
	slices.SortFunc(all, func(a, b any) int {
		x, y := a.(*unstructured.Unstructured), b.(*unstructured.Unstructured)
		return cmp.Or(cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
	})
	for _, g := range all {
		in.seeCoscheduling(g.(*unstructured.Unstructured))
	}
}

// seeCoscheduling takes in such a group, and has its pods reported as they wait by now.
func (in *intake) seeCoscheduling(object *unstructured.Unstructured) {
	in.s.subject.handling(nil)
	// What is no number the definition of the resource does not let in; one without it is a group whose pods are placed each by itself.
	least, _, _ := unstructured.NestedInt64(object.Object, "spec", "minMember")
	in.s.explainer.wantNow(in.s.world.PodGroups().SeeCoscheduling(object.GetNamespace(), object.GetName(), int32(min(least, math.MaxInt32))))
}

// loseCoscheduling takes in that such a group is gone.
func (in *intake) loseCoscheduling(object *unstructured.Unstructured) {
	in.s.subject.handling(nil)
	in.s.explainer.wantNow(in.s.world.PodGroups().LoseCoscheduling(object.GetNamespace(), object.GetName()))
}
