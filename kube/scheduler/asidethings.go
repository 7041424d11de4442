package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// This file sets aside what is no pod: a node, and whatever else the loop takes in, be it a pod group, a budget, a
// claim or a constraint. While it is set aside the world does as if it were not there. That may well matter:
// who is of the group, or has the claim, waits, a constraint does not hold, and a budget is
// honoured by the API server alone. It says so itself, as an event.

// apiObject is an object of any type.
type apiObject interface {
	metav1.Object
	runtime.Object
}

// thing is what such an object is known by, also where nobody has it at hand.
type thing struct {
	kind            schema.GroupKind
	namespace, name string
}

// nodeNamed is the node of that name.
func nodeNamed(name string) thing {
	return thing{kind: v1.SchemeGroupVersion.WithKind("Node").GroupKind(), name: name}
}

// thingOf is what the object is known by.
func thingOf(object apiObject) thing {
	kind := object.GetObjectKind().GroupVersionKind() // which objects of types that are linked in do not have
	if kind.Empty() {
		if kinds, _, err := scheme.Scheme.ObjectKinds(object); err == nil {
			kind = kinds[0]
		} else {
			kind.Kind = fmt.Sprintf("%T", object)
		}
	}
	return thing{kind.GroupKind(), object.GetNamespace(), object.GetName()}
}

// isNode reports whether it is a node.
func (t thing) isNode() bool { return t == nodeNamed(t.name) }

// with is its kind, as it is counted and said.
func (t thing) with() string { return strings.ToLower(t.kind.Kind) }

// String names it.
func (t thing) String() string {
	if t.namespace == "" {
		return t.with() + " " + t.name
	}
	return t.with() + " " + t.namespace + "/" + t.name
}

func compareThings(a, b thing) int {
	return cmp.Or(cmp.Compare(a.kind.Kind, b.kind.Kind), cmp.Compare(a.kind.Group, b.kind.Group), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// sight is how a thing that is set aside was last seen.
type sight struct {
	object apiObject // nil if it was not since
	again  func()    // takes it in
	life   int       // in which that was
}

// dealWith takes in an object that is no pod, unless it is set aside.
func dealWith[T apiObject](s *Scheduler, object T, see func(T)) {
	if s.aside.keepsThing(object, func() { dealWith(s, object, see) }) {
		return
	}
	s.subject.handling(object)
	see(object)
	s.subject.handling(nil)
}

// dealWithLoss takes in that such an object is gone.
func dealWithLoss[T apiObject](s *Scheduler, object T, lose func(T)) {
	s.aside.forgetThing(object)
	s.subject.handling(object)
	lose(object)
	s.subject.handling(nil)
}

// dealable are of the objects, which are read together, those that are not set aside; again has all of them read again.
func dealable[T apiObject](s *Scheduler, objects []T, again func()) []T {
	return slices.DeleteFunc(objects, func(o T) bool { return s.aside.keepsThing(o, again) })
}

// putThing sets it aside.
func (a *aside) putThing(t thing, why string) {
	e := a.things[t]
	if e == nil {
		e = a.add(&quarantine{thing: t})
		a.things[t] = e
	}
	a.shutOut(e, nil, why)
}

// keepsThing reports whether the object is not to be dealt with now. If so, again takes it in later.
func (a *aside) keepsThing(object apiObject, again func()) bool {
	if len(a.things) == 0 {
		return false
	}
	e := a.things[thingOf(object)]
	if e == nil {
		return false
	}
	if e.stage == shut && e.sight.object != nil && !sameThing(e.sight.object, object) {
		a.try(e, "")
	}
	e.sight = sight{object, again, a.lives}
	return e.stage == shut
}

// forgetThing forgets an object that is gone.
func (a *aside) forgetThing(object apiObject) {
	if e := a.things[thingOf(object)]; e != nil {
		a.drop(e)
	}
}

// forgetUnseen forgets what a new life, which has seen all that there is, has not seen.
func (a *aside) forgetUnseen() {
	for _, t := range slices.SortedFunc(maps.Keys(a.things), compareThings) {
		if e := a.things[t]; e.sight.life != a.lives {
			a.drop(e)
		}
	}
}

// sameThing reports whether the two sights of an object say the same. Its status says how it fares, which is nobody's wish, but for what a
// node has to offer.
func sameThing(a, b apiObject) bool {
	one, isNode := a.(*v1.Node)
	other, areNodes := b.(*v1.Node)
	if isNode && areNodes {
		return sameNode(one, other)
	}
	return apiequality.Semantic.DeepEqual(said(a), said(b))
}

// sameNode reports whether the two sights of a node have the same to offer.
func sameNode(a, b *v1.Node) bool {
	return apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		apiequality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}

// said is what an object says but for its status and what changes with that.
func said(object apiObject) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("scheduler: %s is no object: %v", thingOf(object), err))
	}
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(fields, "metadata", "managedFields")
	return fields
}
