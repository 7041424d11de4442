package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"fairlead.dev/fairlead/kube/world"
)

// This file takes in VerticalPodAutoscalers. Of each all that is read is whose pods it sizes, so that no client of theirs is linked in.

// Autoscalers is the type of VerticalPodAutoscalers.
func Autoscalers() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}
}

// autoscalers brings them to the loop.
type autoscalers struct {
	s         *Scheduler
	informers dynamicinformer.DynamicSharedInformerFactory
}

// newAutoscalers makes their informer; nil where there are none, or no classes by whose sizes pods could grow.
func newAutoscalers(s *Scheduler) *autoscalers {
	if _, lacks := s.Lacks[Autoscalers()]; lacks || s.ServiceClasses == nil {
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.ServiceClasses, 0)
	if err := factory.ForResource(Autoscalers()).Informer().SetTransform(bare); err != nil {
		panic(fmt.Sprintf("scheduler: an informer that was not started takes no transform: %v", err))
	}
	return &autoscalers{s, factory}
}

// start starts the informer, and returns at once.
func (a *autoscalers) start(ctx context.Context) {
	if a != nil {
		a.informers.Start(ctx.Done())
	}
}

// informer is that of VerticalPodAutoscalers.
func (a *autoscalers) informer() cache.SharedIndexInformer {
	return a.informers.ForResource(Autoscalers()).Informer()
}

// survey takes in all that the informer holds.
func (a *autoscalers) survey() {
	if a == nil {
		return
	}
	all := a.informer().GetStore().List()
	slices.SortFunc(all, func(x, y any) int {
		one, other := x.(*unstructured.Unstructured), y.(*unstructured.Unstructured)
		return cmp.Or(cmp.Compare(one.GetNamespace(), other.GetNamespace()), cmp.Compare(one.GetName(), other.GetName()))
	})
	for _, o := range all {
		a.see(o.(*unstructured.Unstructured))
	}
}

// see takes in one as it is now.
func (a *autoscalers) see(object *unstructured.Unstructured) {
	dealWith(a.s, object, func(o *unstructured.Unstructured) { a.aim(o, targetOf(o)) })
}

// lose takes in that one is gone.
func (a *autoscalers) lose(object *unstructured.Unstructured) {
	dealWithLoss(a.s, object, func(o *unstructured.Unstructured) { a.aim(o, world.Workload{}) })
}

func (a *autoscalers) aim(object *unstructured.Unstructured, at world.Workload) {
	world.SeeAutoscaler(a.s.world, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, at)
}

// targetOf is whose pods it sizes; nobody's if it only recommends. Left out, the mode is one in which it sizes.
func targetOf(object *unstructured.Unstructured) world.Workload {
	spec := func(path ...string) string {
		text, _, _ := unstructured.NestedString(object.Object, append([]string{"spec"}, path...)...)
		return text
	}
	if spec("updatePolicy", "updateMode") == "Off" {
		return world.Workload{}
	}
	at := world.Workload{Namespace: object.GetNamespace(), Kind: strings.ToLower(spec("targetRef", "kind")), Name: spec("targetRef", "name")}
	if at.Kind == "" || at.Name == "" {
		return world.Workload{}
	}
	return at
}
