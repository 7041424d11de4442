package scheduler

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/world"
)

// This file takes in PodDisruptionBudgets, where some profile's pods are evicted by best effort. Where none is nobody looks at them: the API server does.

// overrules reports whether pods of some profile are evicted though a budget would not let them go.
func (o *Options) overrules() bool {
	for _, p := range o.Config.Profiles {
		if p.Evictions.Enabled && p.Evictions.Budgets == config.BestEffort {
			return true
		}
	}
	return false
}

// surveyBudgets takes in all budgets that the informers hold.
func (in *intake) surveyBudgets() {
	if !in.s.overrules() {
		return
	}
	all, err := in.informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		panic(fmt.Sprintf("scheduler: listing a cache failed: %v", err))
	}
	for _, b := range all {
		in.seeBudget(b)
	}
}

// seeBudget takes in a budget.
func (in *intake) seeBudget(object *policyv1.PodDisruptionBudget) {
	in.s.subject.handling(nil)
	world.SeeBudget(in.s.world.Exits(), object)
}

// loseBudget takes in that a budget is gone.
func (in *intake) loseBudget(object *policyv1.PodDisruptionBudget) {
	in.s.subject.handling(nil)
	world.LoseBudget(in.s.world.Exits(), object)
}
