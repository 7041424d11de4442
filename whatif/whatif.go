// Package whatif says what would be different: where each pod of a cluster stands before and after, which come
// and go, move, lose their place or find one, and what that means for nodes and budgets of disruption. It compares
// and prints; who decides is a simulation of the cluster as it would be.
package whatif

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/report"
)

// Standing is where a pod stands.
type Standing struct {
	Pod, Owner string
	Node       string // empty: it waits
	// Pinned says that it belongs to its node, as one of a DaemonSet does.
	Pinned bool
	// Unowned says that nobody makes it again once it has left its node.
	Unowned bool
}

// Diff is what is different afterwards. Lists are in the order of names.
type Diff struct {
	Policy string `json:"policy"`
	// Placed are pods that run now and did not: they are new, or waited.
	Placed []Placed `json:"placed"`
	// Moved are pods that run on another node.
	Moved []Moved `json:"moved"`
	// Evicted are pods that ran, are still wanted, and wait now.
	Evicted []Evicted `json:"evicted"`
	// Gone are pods that ended with what was changed.
	Gone []Gone `json:"gone"`
	// Pending is who waits afterwards, by owner and reason.
	Pending []report.Pending `json:"pending"`
	// Wholes are the workloads that came with the changes or grew, and how many of their pods run.
	Wholes []Whole `json:"workloads"`
	// Stay is how many pods belong to the nodes that are drained, and stay there.
	Stay int `json:"stay"`
	// Budgets are those of pods that leave their nodes.
	Budgets []BudgetUse `json:"budgets"`
	// Violations are those of each constraint, Promises the pods that wait of each class that promises something.
	Violations []Number `json:"violations"`
	Promises   []Number `json:"promises"`
	Before     Totals   `json:"before"`
	After      Totals   `json:"after"`

	newly map[string]bool // owners of pods that wait and did not before
}

// waited reports whether all pods of the owner that wait did before, too.
func (d *Diff) waited(p *report.Pending) bool { return !d.newly[p.Owner] }

// Placed is a pod that found a node.
type Placed struct {
	Pod   string `json:"pod"`
	Owner string `json:"owner"`
	Node  string `json:"node"`
	New   bool   `json:"new"`
}

// Moved is a pod that runs on another node.
type Moved struct {
	Pod   string `json:"pod"`
	Owner string `json:"owner"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Evicted is a pod that lost its place.
type Evicted struct {
	Pod   string `json:"pod"`
	Owner string `json:"owner"`
	From  string `json:"from"`
}

// Gone is a pod that is no more.
type Gone struct {
	Pod   string `json:"pod"`
	Owner string `json:"owner"`
	Node  string `json:"node,omitempty"`
	// Lost says that nobody makes it again.
	Lost bool `json:"lost,omitempty"`
}

// Whole is how many pods of a workload run, of those that it wants.
type Whole struct {
	Owner string `json:"owner"`
	Pods  int    `json:"pods"`
	Run   int    `json:"run"`
}

// BudgetUse is how many pods of a disruption budget leave their nodes, and how many of them may at a time: 0 says that an
// API server refuses to evict any.
type BudgetUse struct {
	Name   string `json:"name"`
	Pods   int    `json:"pods"`
	AtOnce int    `json:"at_once"`
	// Refused is how many of them an API server refuses to evict as things stand, each by itself: all of them where AtOnce is 0,
	// but for some that are not ready. Several says that some have several budgets, for which they are never evicted.
	Refused int  `json:"refused"`
	Several bool `json:"several,omitempty"`
}

// Totals are numbers of a cluster.
type Totals struct {
	Nodes   int `json:"nodes"`
	InUse   int `json:"nodes_in_use"` // that hold pods beside their own
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Violations are of constraints, Promised those that wait although their class promises something.
	Violations int `json:"violations"`
	Promised   int `json:"promised_pending"`
	Cost
}

// Cost is what nodes cost an hour, where somebody says that.
type Cost struct {
	Price      float64 `json:"price,omitempty"`               // of all nodes
	InUsePrice float64 `json:"price_in_use,omitempty"`        // of those that hold pods beside their own
	Unpriced   int     `json:"nodes_without_price,omitempty"` // of which nobody says it
}

// Changes reports whether anything would be different.
func (d *Diff) Changes() bool {
	return len(d.Placed)+len(d.Moved)+len(d.Evicted)+len(d.Gone) > 0
}

// Compare compares where pods stand. Gone are those that were taken away; of them those that a workload has in
// their place are not lost.
func Compare(before, after, gone []Standing) *Diff {
	d := &Diff{Placed: []Placed{}, Moved: []Moved{}, Evicted: []Evicted{}, Gone: []Gone{}, Pending: []report.Pending{}, Wholes: []Whole{}, Budgets: []BudgetUse{}, Violations: []Number{}, Promises: []Number{}, newly: map[string]bool{}}
	was := make(map[string]Standing, len(before))
	for _, s := range before {
		was[s.Pod] = s
		d.Before.count(s)
	}
	taken := map[string]bool{}
	for _, s := range gone {
		taken[s.Pod] = true
		if !s.Pinned {
			d.Gone = append(d.Gone, Gone{s.Pod, s.Owner, s.Node, s.Unowned})
		}
	}
	d.Before.InUse, d.After.InUse = inUse(before), inUse(after)
	grown, there := map[string]*Whole{}, map[string]bool{}
	for _, s := range after {
		there[s.Pod] = true
		d.After.count(s)
		old, known := was[s.Pod]
		known = known && !taken[s.Pod]
		d.compare(old, s, known)
		w := grown[s.Owner]
		if w == nil {
			w = &Whole{Owner: s.Owner}
			grown[s.Owner] = w
		}
		w.add(s)
	}
	came := map[string]bool{}
	for _, s := range after {
		if _, known := was[s.Pod]; (!known || taken[s.Pod]) && !s.Pinned && !came[s.Owner] {
			came[s.Owner] = true
			d.Wholes = append(d.Wholes, *grown[s.Owner])
		}
	}
	for i := range d.Gone {
		_, remains := grown[d.Gone[i].Owner]
		d.Gone[i].Lost = d.Gone[i].Lost && !remains
	}
	for _, s := range before {
		if !there[s.Pod] && !taken[s.Pod] { // evicted
			d.Gone = append(d.Gone, Gone{s.Pod, s.Owner, s.Node, true})
		}
	}
	d.sort()
	return d
}

// compare notes what is different about one pod, which was there before or is new.
func (d *Diff) compare(was, is Standing, known bool) {
	if is.Node == "" && (!known || was.Node != "") {
		d.newly[is.Owner] = true
	}
	switch {
	case is.Pinned && !known:
	case is.Node == "" && known && was.Node != "":
		d.Evicted = append(d.Evicted, Evicted{is.Pod, is.Owner, was.Node})
	case is.Node != "" && (!known || was.Node == ""):
		d.Placed = append(d.Placed, Placed{is.Pod, is.Owner, is.Node, !known})
	case known && is.Node != was.Node:
		d.Moved = append(d.Moved, Moved{is.Pod, is.Owner, was.Node, is.Node})
	}
}

// inUse counts the nodes with pods beside their own.
func inUse(list []Standing) int {
	nodes := map[string]bool{}
	for _, s := range list {
		if s.Node != "" && !s.Pinned {
			nodes[s.Node] = true
		}
	}
	return len(nodes)
}

func (w *Whole) add(s Standing) {
	w.Pods++
	if s.Node != "" {
		w.Run++
	}
}

func (t *Totals) count(s Standing) {
	if s.Node == "" {
		t.Pending++
	} else {
		t.Running++
	}
}

// Leave are the pods that have to leave their nodes: those that run elsewhere, wait, or are lost.
func (d *Diff) Leave() map[string]bool {
	leave := map[string]bool{}
	for _, p := range d.Moved {
		leave[p.Pod] = true
	}
	for _, p := range d.Evicted {
		leave[p.Pod] = true
	}
	for _, p := range d.Gone {
		leave[p.Pod] = p.Lost
	}
	return leave
}

func (d *Diff) sort() {
	slices.SortFunc(d.Placed, func(a, b Placed) int { return cmp.Compare(a.Pod, b.Pod) })
	slices.SortFunc(d.Moved, func(a, b Moved) int { return cmp.Compare(a.Pod, b.Pod) })
	slices.SortFunc(d.Evicted, func(a, b Evicted) int { return cmp.Compare(a.Pod, b.Pod) })
	slices.SortFunc(d.Gone, func(a, b Gone) int { return cmp.Compare(a.Pod, b.Pod) })
	slices.SortFunc(d.Wholes, func(a, b Whole) int { return cmp.Compare(a.Owner, b.Owner) })
}
