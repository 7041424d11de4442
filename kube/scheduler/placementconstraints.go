package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/constraints"
	"fairlead.dev/fairlead/kube/world"
)

// This file takes in PlacementConstraints, those of the cluster, and NodeGroups: all are read anew whenever one changes, as each says something of the others, and how each stands is written into its status.

// PlacementConstraints are the types of these objects: constraints of namespaces and of the cluster, and the groups of nodes that they name.
func PlacementConstraints() []schema.GroupVersionResource {
	of := v1alpha1.GroupVersion.WithResource
	return []schema.GroupVersionResource{of("placementconstraints"), of("clusterplacementconstraints"), of("nodegroups")}
}

// standEvery is how often it is looked at how constraints stand.
const standEvery = 5 * cluster.Second

// placementConstraints brings them to the loop.
type placementConstraints struct {
	s         *Scheduler
	informers dynamicinformer.DynamicSharedInformerFactory
	changed   bool // since they were read
	verdicts  []constraints.Verdict
	seen      map[types.UID]int64 // the generation of each
	told      map[types.UID]constraintStand
	next      cluster.Time // when to look again how they stand
}

// constraintStand is what is said of an object.
type constraintStand struct {
	reason, message, contradicts string
	generation                   int64
	counted                      bool // bound and violating are known
	bound, violating             int64
	since                        metav1.Time // when it began to be violated; zero if it is not
}

// newPlacementConstraints makes their informers; nil where they are not served.
func newPlacementConstraints(s *Scheduler) *placementConstraints {
	if s.PlacementConstraints == nil {
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.PlacementConstraints, 0)
	for _, of := range PlacementConstraints() {
		factory.ForResource(of)
	}
	return &placementConstraints{s: s, informers: factory, changed: true, seen: map[types.UID]int64{}, told: map[types.UID]constraintStand{}}
}

// start starts the informers, and returns at once.
func (c *placementConstraints) start(ctx context.Context) {
	if c != nil {
		c.informers.Start(ctx.Done())
	}
}

// watched are the informers, which tell the loop that something changed; none where there are none.
func (c *placementConstraints) watched() (list []watched) {
	if c == nil {
		return nil
	}
	for _, of := range PlacementConstraints() {
		list = append(list, watched{c.informers.ForResource(of).Informer(), handle(c.s, c.see, c.lose)})
	}
	return list
}

// see takes in one, unless what is new of it is its status, which is our own.
func (c *placementConstraints) see(object *unstructured.Unstructured) {
	if seen, known := c.seen[object.GetUID()]; !known || seen != object.GetGeneration() {
		c.seen[object.GetUID()], c.changed = object.GetGeneration(), true
	}
}

// lose takes in that one is gone.
func (c *placementConstraints) lose(object *unstructured.Unstructured) {
	delete(c.seen, object.GetUID())
	c.s.aside.forgetThing(object)
	c.changed = true
}

// constrain takes what is said now to the world, if that is new.
func (c *placementConstraints) constrain(ctx context.Context) {
	if c == nil || !c.changed {
		return
	}
	c.changed = false
	objects := &constraints.Objects{RackLabel: c.s.Config.RackLabel, Handling: c.s.subject.handling}
	of := PlacementConstraints()
	again := func() { c.changed = true }
	objects.Namespaced = dealable(c.s, typed[v1alpha1.PlacementConstraint](ctx, c.informers.ForResource(of[0]).Informer()), again)
	objects.Cluster = dealable(c.s, typed[v1alpha1.ClusterPlacementConstraint](ctx, c.informers.ForResource(of[1]).Informer()), again)
	objects.Groups = dealable(c.s, typed[v1alpha1.NodeGroup](ctx, c.informers.ForResource(of[2]).Informer()), again)
	set, verdicts := constraints.Read(objects)
	c.verdicts, c.next = verdicts, c.s.now()
	c.forgetGone()
	c.s.subject.handling(nil)
	world.Constrain(c.s.world, set)
	c.s.subject.handling(nil)
	if len(set.Constraints) > 0 {
		c.s.epochs.programs.begin(ctx, c.s)
	}
}

// forgetGone forgets what was said of objects that are gone.
func (c *placementConstraints) forgetGone() {
	there := map[types.UID]bool{}
	for i := range c.verdicts {
		there[c.verdicts[i].Object.GetUID()] = true
	}
	for uid := range c.told {
		if !there[uid] {
			delete(c.told, uid)
		}
	}
}

// wake is when to look next how they stand.
func (c *placementConstraints) wake() cluster.Time {
	if c == nil || len(c.verdicts) == 0 {
		return cluster.Never
	}
	return c.next
}

// report has written how they stand, where that is new.
func (c *placementConstraints) report() {
	if c == nil || c.s.now() < c.wake() || c.s.epochs.core == nil {
		return
	}
	c.next = c.s.now() + standEvery
	standing := map[constraints.Key]cluster.Standing{}
	view := c.s.epochs.core.View()
	world.Constraints(c.s.world, func(key constraints.Key, row cluster.ConstraintID) {
		if view.Constraint(row) != nil { // else the core has not heard of it yet
			standing[key] = view.Standing(row, 1, 1)
		}
	})
	for i := range c.verdicts {
		v := &c.verdicts[i]
		o := &constrained{Object: v.Object, has: statusOf(v.Object)}
		now := constraintStand{reason: v.Reason, message: v.Message, contradicts: v.Contradicts, generation: v.Object.GetGeneration()}
		before, known := c.told[v.Object.GetUID()]
		if !known {
			before = o.stood()
		}
		if o.has != nil {
			stands, counted := standing[constraints.Key{Namespace: v.Object.GetNamespace(), Name: v.Object.GetName()}]
			now.counted = counted && v.Accepted()
			if now.counted {
				now.bound, now.violating = stands.Subjects, stands.Violating
			}
			if now.violating > 0 {
				now.since = before.since
				if now.since.IsZero() {
					now.since = metav1.NewTime(c.s.Clock.Now().Truncate(1e9))
				}
			}
		}
		c.told[v.Object.GetUID()] = now
		if before != now {
			o.now, o.last = now, c.last(v.Object)
			c.s.explainer.writer.put(condition{written: o})
		}
	}
}

// constrained is one of these objects, and what is to be written of it.
type constrained struct {
	metav1.Object
	has *v1alpha1.PlacementConstraintStatus // as it was last seen; nil of a NodeGroup
	now constraintStand
	// last are the conditions that it has by now.
	last []metav1.Condition
}

// last are the conditions of an object as it was seen last.
func (c *placementConstraints) last(object metav1.Object) []metav1.Condition {
	o := &constrained{Object: object}
	key := object.GetName()
	if object.GetNamespace() != "" {
		key = object.GetNamespace() + "/" + key
	}
	found, there, err := c.informers.ForResource(o.resource()).Informer().GetStore().GetByKey(key)
	u, is := found.(*unstructured.Unstructured)
	if err != nil || !there || !is {
		return nil
	}
	now := &v1alpha1.NodeGroup{} // the conditions of all kinds stand in the same place
	if runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": map[string]any{"conditions": nestedConditions(u)}}, now) != nil {
		return nil
	}
	return now.Status.Conditions
}

func nestedConditions(u *unstructured.Unstructured) []any {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return conditions
}

// statusOf is the status of a constraint; nil of a NodeGroup.
func statusOf(object metav1.Object) *v1alpha1.PlacementConstraintStatus {
	switch of := object.(type) {
	case *v1alpha1.PlacementConstraint:
		return &of.Status
	case *v1alpha1.ClusterPlacementConstraint:
		return &of.Status
	}
	return nil
}

// conditions are those that it has.
func (o *constrained) conditions() []metav1.Condition {
	if g, is := o.Object.(*v1alpha1.NodeGroup); is {
		return g.Status.Conditions
	}
	return o.has.Conditions
}

// stood is what its status says.
func (o *constrained) stood() (s constraintStand) {
	accepted := meta.FindStatusCondition(o.conditions(), v1alpha1.Accepted)
	if accepted == nil {
		return s
	}
	s.reason, s.message, s.generation = accepted.Reason, accepted.Message, accepted.ObservedGeneration
	if o.has == nil {
		return s
	}
	if c := meta.FindStatusCondition(o.has.Conditions, v1alpha1.Contradicts); c != nil && c.Status == metav1.ConditionTrue {
		s.contradicts = c.Message
	}
	if o.has.Bound != nil && o.has.Violating != nil {
		s.counted, s.bound, s.violating = true, *o.has.Bound, *o.has.Violating
	}
	if o.has.ViolatingSince != nil {
		s.since = *o.has.ViolatingSince
	}
	return s
}

// key is by which one write of an object follows the other.
func (o *constrained) key() types.UID { return o.GetUID() }

// unwritten has it said again.
func (o *constrained) unwritten(s *Scheduler) {
	if told, known := s.intake.constraints.told[o.GetUID()]; known {
		told.reason = "" // which is never said; since when it is violated stays known
		s.intake.constraints.told[o.GetUID()] = told
	}
}

// write writes the status, and reports whether that needs no repetition.
func (o *constrained) write(s *Scheduler) bool {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID()}, "status": o.status(metav1.NewTime(s.Clock.Now()))})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	of := o.resource()
	var client dynamic.ResourceInterface = s.PlacementConstraints.Resource(of)
	if o.GetNamespace() != "" {
		client = s.PlacementConstraints.Resource(of).Namespace(o.GetNamespace())
	}
	// Nobody else writes a status of these, so that lists may be replaced as a whole.
	_, err = client.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	s.Metrics.Binds.Wrote(of.Resource+"/status", "patch", outcome(err))
	done := err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) // another one of that name is there by now
	if !done {
		klog.Background().V(1).Info("cannot write how a constraint stands", "resource", of.Resource, "object", klog.KObj(o), "err", err)
	}
	return done
}

func (o *constrained) resource() schema.GroupVersionResource {
	of := PlacementConstraints()
	switch o.Object.(type) {
	case *v1alpha1.PlacementConstraint:
		return of[0]
	case *v1alpha1.ClusterPlacementConstraint:
		return of[1]
	}
	return of[2]
}

// status is what is written at that moment. What is not known is taken away.
func (o *constrained) status(at metav1.Time) map[string]any {
	now := &o.now
	is := func(holds bool) metav1.ConditionStatus {
		if holds {
			return metav1.ConditionTrue
		}
		return metav1.ConditionFalse
	}
	condition := func(of string, holds bool, reason, message string) metav1.Condition {
		c := metav1.Condition{Type: of, Status: is(holds), Reason: reason, Message: message, ObservedGeneration: now.generation, LastTransitionTime: at}
		if last := meta.FindStatusCondition(o.last, of); last != nil && last.Status == c.Status {
			c.LastTransitionTime = last.LastTransitionTime
		}
		return c
	}
	all := []metav1.Condition{condition(v1alpha1.Accepted, now.reason == v1alpha1.ReasonAccepted, now.reason, now.message)}
	status := map[string]any{}
	if o.has != nil {
		if now.contradicts != "" {
			all = append(all, condition(v1alpha1.Contradicts, true, v1alpha1.ReasonContradiction, now.contradicts))
		} else {
			all = append(all, condition(v1alpha1.Contradicts, false, v1alpha1.ReasonNone, "No constraint is known with which it cannot hold together."))
		}
		status["bound"], status["violating"], status["violatingSince"] = nil, nil, nil
		if now.counted {
			status["bound"], status["violating"] = now.bound, now.violating
		}
		if !now.since.IsZero() {
			status["violatingSince"] = now.since
		}
	}
	status["conditions"] = all
	return status
}
