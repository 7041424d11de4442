package scheduler

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/world"
)

// This file takes in PodDisruptionBudgets, where some profile's pods may be evicted.

// evicts reports whether pods of some profile may be evicted.
func (o *Options) evicts() bool {
	return slices.ContainsFunc(o.Config.Profiles, func(p config.Profile) bool { return p.Evictions.Enabled })
}

// surveyBudgets takes in all budgets that the informers hold.
func (in *intake) surveyBudgets() {
	if !in.s.evicts() {
		return
	}
	all := listed(in.informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything()))
	for _, b := range all {
		in.seeBudget(b)
	}
}

// seeBudget takes in a budget.
func (in *intake) seeBudget(object *policyv1.PodDisruptionBudget) {
	dealWith(in.s, object, func(o *policyv1.PodDisruptionBudget) { world.SeeBudget(in.s.world.Exits(), o) })
}

// loseBudget takes in that a budget is gone.
func (in *intake) loseBudget(object *policyv1.PodDisruptionBudget) {
	dealWithLoss(in.s, object, func(o *policyv1.PodDisruptionBudget) { world.LoseBudget(in.s.world.Exits(), o) })
}
