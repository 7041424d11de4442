package world

import (
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
)

// This file makes PodDisruptionBudgets, and holds to them what the core knows of budgets.

// makeBudget makes a budget of the pods of an app, or of all.
func makeBudget(name, app string, spare int32) *policyv1.PodDisruptionBudget {
	selector := &metav1.LabelSelector{}
	if app != "" {
		selector.MatchLabels = map[string]string{"app": app}
	}
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: spare},
	}
}

// seeBudget reports a budget.
func (r *rig) seeBudget(b *policyv1.PodDisruptionBudget) {
	r.budgets[b.Name] = b
	SeeBudget(r.world.Exits(), b)
}

func (r *rig) loseBudget(name string) {
	if b := r.budgets[name]; b != nil {
		delete(r.budgets, name)
		LoseBudget(r.world.Exits(), b)
	}
}

// checkGuards compares what guards each run in the core with the budgets that select its pod, and what each budget can spare beside those that leave
// with what the API server last said of it, and who leaves and was not seen to be deleted.
func (r *rig) checkGuards() error {
	v := r.core.View()
	undone := map[string]int32{} // decided, and not seen to be deleted
	for _, p := range inOrder(r.world.pods.byUID) {
		if p.slot == nil || p.slot.pod != p {
			continue
		}
		var want []string
		for _, name := range sortedKeys(r.budgets) {
			b := r.budgets[name]
			selects := b.Namespace == p.object.Namespace && len(p.object.Labels) > 0 && (len(b.Spec.Selector.MatchLabels) == 0 || b.Spec.Selector.MatchLabels["app"] == p.object.Labels["app"])
			if e := r.world.exits.of(p); selects && e != nil && p.Stage == Bound {
				want = append(want, name)
			}
		}
		var got []string
		for _, row := range cluster.GuardsOf(v, p.slot.task) {
			got = append(got, r.guardOf(row))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) && p.Stage != Assumed {
			return fmt.Errorf("pod %s is guarded by %v, want %v", p.object.Name, got, want)
		}
		if v.Task(p.slot.task).Phase == cluster.Leaving && p.object.DeletionTimestamp == nil {
			for _, name := range got {
				undone[name]++
			}
		}
	}
	for name, b := range r.budgets {
		list := r.world.exits.guards.budgets[b.Namespace]
		at, known := slices.BinarySearchFunc(list, name, byBudgetName)
		if !known {
			return fmt.Errorf("budget %s is not known", name)
		}
		if got, want := cluster.Left(v, list[at].row), max(b.Status.DisruptionsAllowed-undone[name], 0); got != int(want) {
			return fmt.Errorf("budget %s can spare %d in the core, want %d", name, got, want)
		}
	}
	return nil
}

// guardOf names the budget in a row.
func (r *rig) guardOf(row cluster.BudgetID) string {
	for _, list := range r.world.exits.guards.budgets {
		for _, g := range list {
			if g.row == row {
				return g.object.Name
			}
		}
	}
	return fmt.Sprint("nobody's row ", row)
}
