package scheduler

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/classes"
)

// This file takes in ServiceClasses: all are read anew whenever one changes, as each says something of the others, and whether each counts is written into its condition.

// ServiceClasses is the type of these objects.
func ServiceClasses() schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource("serviceclasses")
}

// serviceClasses brings them to the loop.
type serviceClasses struct {
	s         *Scheduler
	informers dynamicinformer.DynamicSharedInformerFactory
	changed   bool         // since they were read
	overruled bool         // by the configuration, when they were
	counts    cluster.Time // when it is next counted to whom they are kept
}

// newServiceClasses makes their informer; nil where they are not served.
func newServiceClasses(s *Scheduler) *serviceClasses {
	if s.ServiceClasses == nil {
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.ServiceClasses, 0)
	factory.ForResource(ServiceClasses())
	return &serviceClasses{s: s, informers: factory, changed: true}
}

// start starts the informer, and returns at once.
func (c *serviceClasses) start(ctx context.Context) {
	if c != nil {
		c.informers.Start(ctx.Done())
	}
}

// informer is that of ServiceClasses.
func (c *serviceClasses) informer() cache.SharedIndexInformer {
	return c.informers.ForResource(ServiceClasses()).Informer()
}

// see takes in one.
func (c *serviceClasses) see(*unstructured.Unstructured) { c.changed = true }

// lose takes in that one is gone.
func (c *serviceClasses) lose(object *unstructured.Unstructured) {
	c.changed = true
	c.s.aside.forgetThing(object)
	delete(c.s.explainer.told, object.GetUID())
}

// read returns what they promise, and has written of each whether it counts; configured says that the configuration has a table of classes, so that none does.
func (c *serviceClasses) read(ctx context.Context, configured bool) *classes.Promises {
	c.changed, c.overruled = false, configured
	all := dealable(c.s, typed[v1alpha1.ServiceClass](ctx, c.informer()), func() { c.changed = true })
	promises, verdicts := classes.ReadEach(all, func(class *v1alpha1.ServiceClass) { c.s.subject.handling(class) })
	c.s.subject.handling(nil)
	for i := range verdicts {
		v := &verdicts[i]
		if configured {
			v.Reason, v.Message = v1alpha1.ReasonConfiguration, "The configuration of fairlead-scheduler has a table of classes, which holds instead; remove its field classes to have this one count."
		}
		c.s.explainer.judgeClass(v)
	}
	return promises
}

// judgeClass writes whether a class counts, unless its condition says so already.
func (e *explainer) judgeClass(v *classes.Verdict) {
	o := v.Object
	now := stand{holds: v.Accepted(), reason: v.Reason, message: v.Message, generation: o.Generation}
	if e.told[o.UID] == now {
		return
	}
	if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.Accepted); c != nil && now == (stand{c.Status == "True", c.Reason, c.Message, c.ObservedGeneration}) {
		e.told[o.UID] = now
		return
	}
	e.state(&conditioned{o, ServiceClasses().Resource, v1alpha1.Accepted, o.Status.Conditions}, now)
}
