package world

import (
	"cmp"
	"math"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file follows the PodDisruptionBudgets of pods that may be evicted: the core is told which runs each guards, and how many it can spare, so that
// those go first who violate none. Whether one who does leaves all the same is said elsewhere: of best effort it does, and else the API server
// is asked, which knows more of budgets than is told here: of pods that are not ready, say.
//
// The API server counts a pod out of a budget somewhat after it was deleted, and the core counts one that leaves from its own
// decision on, until it is gone. So a budget can spare what the API server last said, and who of those that the core counts as leaving has been deleted:
// the former is then without them, and none is counted twice.

// guards keeps the budgets by namespace, in the order of their names, and the runs that they may guard.
type guards struct {
	journal *journal
	leaves  func(*Pod) bool // the pod may be evicted
	budgets map[string][]*guard
	runs    map[string]map[types.UID]*Pod
	rows    cluster.Rows
}

// guard is one budget.
type guard struct {
	object   *policyv1.PodDisruptionBudget
	selector labels.Selector
	row      cluster.BudgetID
	spare    int32 // as reported
	deleted  int32 // of its runs that the core counts as leaving
}

func byBudgetName(g *guard, name string) int { return cmp.Compare(g.object.Name, name) }

// SeeBudget takes in a PodDisruptionBudget as it is now.
func SeeBudget(x *Exits, object *policyv1.PodDisruptionBudget) {
	gs := &x.guards
	list := gs.budgets[object.Namespace]
	at, known := slices.BinarySearchFunc(list, object.Name, byBudgetName)
	if known && apiequality.Semantic.DeepEqual(list[at].object.Spec.Selector, object.Spec.Selector) {
		list[at].object = object
		gs.report(list[at])
		return
	}
	if known {
		LoseBudget(x, object)
		SeeBudget(x, object)
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
	if err != nil {
		return // which no API server admits
	}
	g := &guard{object: object, selector: selector}
	gs.budgets[object.Namespace] = slices.Insert(list, at, g)
	gs.enter(g)
	gs.coverAll(object.Namespace)
}

// LoseBudget takes in that a PodDisruptionBudget is gone.
func LoseBudget(x *Exits, object *policyv1.PodDisruptionBudget) {
	gs := &x.guards
	list := gs.budgets[object.Namespace]
	at, known := slices.BinarySearchFunc(list, object.Name, byBudgetName)
	if !known {
		return
	}
	g := list[at]
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(gs.budgets, object.Namespace)
	} else {
		gs.budgets[object.Namespace] = list
	}
	gs.coverAll(object.Namespace)
	gs.journal.emit(cluster.BudgetChanged{Budget: g.row, Spare: cluster.SparesAll})
	gs.rows.Give(uint32(g.row))
}

// begin reports all budgets to a new core, which has no runs yet.
func (gs *guards) begin() {
	gs.rows, gs.runs = cluster.Rows{}, map[string]map[types.UID]*Pod{}
	for _, namespace := range sortedKeys(gs.budgets) {
		for _, g := range gs.budgets[namespace] {
			gs.enter(g)
		}
	}
}

// enter gives a budget a row of the core.
func (gs *guards) enter(g *guard) {
	g.row, g.spare, g.deleted = cluster.BudgetID(gs.rows.Take()), -1, 0
	gs.report(g)
}

// report says how many runs the budget can spare, if that is new.
func (gs *guards) report(g *guard) {
	spare := int32(min(int64(max(g.object.Status.DisruptionsAllowed, 0))+int64(g.deleted), math.MaxInt32))
	if spare != g.spare {
		g.spare = spare
		gs.journal.emit(cluster.BudgetChanged{Budget: g.row, Spare: spare})
	}
}

// coverAll finds out anew which budgets of the namespace guard which runs.
func (gs *guards) coverAll(namespace string) {
	for _, p := range inOrder(gs.runs[namespace]) {
		gs.cover(p)
	}
}

// cover reports which budgets guard a pod, whose run the core knows, if that is new. As for the API server, none guards a pod without labels.
func (gs *guards) cover(p *Pod) {
	if !gs.leaves(p) {
		return
	}
	namespace := p.object.Namespace
	if gs.runs[namespace] == nil {
		gs.runs[namespace] = map[types.UID]*Pod{}
	}
	gs.runs[namespace][p.object.UID] = p
	var by []*guard
	for _, g := range gs.budgets[namespace] {
		if len(p.object.Labels) > 0 && g.selector.Matches(labels.Set(p.object.Labels)) {
			by = append(by, g)
		}
	}
	if slices.Equal(by, p.exit.guards) {
		return
	}
	gs.settle(p, false)
	p.exit.guards = by
	rows := make([]cluster.BudgetID, 0, len(by))
	for _, g := range by {
		rows = append(rows, g.row)
	}
	slices.Sort(rows)
	gs.journal.emit(cluster.TaskGuarded{Task: p.slot.task, Attempt: p.attempt, Budgets: rows})
	gs.follow(p)
}

// follow takes in that the pod has come to leave, or stays, or was seen to be deleted.
func (gs *guards) follow(p *Pod) {
	gs.settle(p, (p.exit.leaving || p.exit.ending) && p.object.DeletionTimestamp != nil)
}

// settle says whether the pod is one that was deleted, and that the core counts as leaving.
func (gs *guards) settle(p *Pod, deleted bool) {
	if p.exit.deleted == deleted {
		return
	}
	p.exit.deleted = deleted
	for _, g := range p.exit.guards {
		if deleted {
			g.deleted++
		} else {
			g.deleted--
		}
		gs.report(g)
	}
}

// leave forgets a pod, whose run is over.
func (gs *guards) leave(p *Pod) {
	gs.settle(p, false)
	runs := gs.runs[p.object.Namespace]
	if delete(runs, p.object.UID); len(runs) == 0 {
		delete(gs.runs, p.object.Namespace)
	}
}

// Overrules reports whether the pod is evicted though a budget would not let it go, where it makes room for another one.
func (x *Exits) Overrules(p *Pod) bool {
	e := x.of(p)
	return e != nil && e.BestEffort
}
