// Package advise says on one screen what would serve a cluster better: under which policy more of what waits would run,
// what keeps the rest from running and what would change that, how much of what is free is of no use, and what is held
// back by which filter. It looks at a cluster at a moment and at what each policy made of it; who simulates is elsewhere.
package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// Outcome is what a policy makes of the cluster as it stands.
type Outcome struct {
	Policy  string `json:"policy"`
	Placed  int    `json:"placed"` // of the pods that wait
	Pending int    `json:"pending"`
	Evicted int    `json:"evicted"`
	Moved   int    `json:"moved"`
	InUse   int    `json:"nodes_in_use"`
	// Violated is the share of bound pods that violate a constraint at the end.
	Violated report.Number `json:"constraints_violated"`
}

// Compare puts the better outcome first.
func (o *Outcome) Compare(p *Outcome) int { return o.merit().Compare(p.merit()) }

func (o *Outcome) merit() report.Merit {
	return report.Merit{Pending: float64(o.Pending), Violated: float64(o.Violated), Disturbed: float64(o.Evicted + o.Moved), InUse: float64(o.InUse)}
}

// Advice is all that is said of a cluster.
type Advice struct {
	Nodes   int `json:"nodes"`
	InUse   int `json:"nodes_in_use"`
	Running int `json:"running"`
	Pending int `json:"pending"`
	// Policies are what each makes of it, the best first; of those that are as good the one that was asked for first.
	Policies []Outcome `json:"policies"`
	Verdict  string    `json:"verdict"`
	// Free are the nodes that could be switched off, after so many moves.
	Free *Free `json:"free,omitempty"`
	// Waiting is who would wait even under the best of them.
	Waiting []report.Pending `json:"waiting"`
	Changes []Change         `json:"changes"`
	Unused  []Unused         `json:"unused"`
	Out     []Out            `json:"out_of_use"`
}

// Free are nodes that could be switched off.
type Free struct {
	Nodes []string `json:"nodes"`
	Moves int      `json:"moves"`
	Bound int      `json:"at_most"` // how many could be at most, by any moves
}

// Change is something to change first, and how many of the pods that wait it would let come to a node, one by one.
type Change struct {
	What string   `json:"what"`
	Pods int      `json:"pods"`
	Of   []string `json:"owners"`
}

// Unused is how much of what is free of a kind lies on nodes that the pods at hand cannot use.
type Unused struct {
	Kind     string        `json:"kind"`
	Unit     string        `json:"unit"`
	Free     report.Number `json:"free"`
	Stranded report.Number `json:"stranded"`
	By       string        `json:"by"` // the kind that is used up there
}

// Out is nodes that take no pods for the time being.
type Out struct {
	Why   string   `json:"why"` // cordoned, or not ready
	Nodes []string `json:"nodes"`
	CPU   string   `json:"cpu"`
}

// Moment is a cluster after the best policy has decided.
type Moment struct {
	Core   *sched.Core
	Names  []string // of tasks, by row
	Owners []string
	Pinned []bool // they belong to their nodes
}

// Rank orders the outcomes and says which is best and why, against the cluster as it stands.
func (a *Advice) Rank(outcomes []Outcome) {
	a.Policies = slices.Clone(outcomes)
	slices.SortStableFunc(a.Policies, func(x, y Outcome) int { return x.Compare(&y) })
	best := &a.Policies[0]
	var same []string
	for i := range a.Policies[1:] {
		if o := &a.Policies[i+1]; o.Compare(best) == 0 {
			same = append(same, o.Policy)
		}
	}
	did := fmt.Sprintf("%s of the %s run", report.Grouped(best.Placed), report.Count(a.Pending, "pod that waits"))
	switch {
	case a.Pending == 1 && best.Placed == 1:
		did = "the pod that waits runs"
	case best.Placed == 1:
		did += "s"
	case a.Pending == 0:
		did = "no pod waits"
	case best.Placed == 0:
		did = fmt.Sprintf("none of the %s finds a place", report.Count(a.Pending, "pod that waits"))
	}
	a.Verdict = fmt.Sprintf("%s serves this cluster best: %s, %s, %s, %s in use", best.Policy, did, report.Count(best.Evicted, "eviction"), report.Count(best.Moved, "move"), report.Count(best.InUse, "node"))
	switch {
	case len(same) == len(a.Policies)-1 && len(same) > 0:
		a.Verdict = fmt.Sprintf("no policy serves this cluster better than another: %s, %s in use under each of %s", did, report.Count(best.InUse, "node"), list(append([]string{best.Policy}, same...)))
	case len(same) > 0:
		a.Verdict += "; so does " + list(same)
	}
}

// list joins names as people do.
func list(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// Look says what the moment shows.
func (a *Advice) Look(m *Moment) {
	a.changes(m)
	a.unused(m)
	a.out(m)
}

// changes gathers what would help, over all pods that wait: the changes that help most pods first.
func (a *Advice) changes(m *Moment) {
	s := m.Core.View()
	kinds := s.Kinds()
	at := map[string]int{}
	type likeness struct {
		shape cluster.ShapeID
		job   cluster.JobID
	}
	known := map[likeness][]string{}
	for row := range s.TaskRows() {
		t := cluster.TaskID(row)
		task := s.Task(t)
		if task.Phase != cluster.Waiting {
			continue
		}
		key := likeness{shape: task.Shape}
		if s.Shape(task.Shape).PerNode > 0 {
			key.job = task.Job + 1
		}
		ways, asked := known[key]
		if !asked {
			r := m.Core.Why(t)
			for i := range r.Remedies {
				ways = append(ways, r.Remedies[i].Sort(kinds))
			}
			known[key] = ways
		}
		if len(ways) == 0 {
			continue
		}
		i, there := at[ways[0]]
		if !there {
			i = len(a.Changes)
			at[ways[0]] = i
			a.Changes = append(a.Changes, Change{What: ways[0]})
		}
		c := &a.Changes[i]
		c.Pods++
		if owner := m.owner(row); !slices.Contains(c.Of, owner) {
			c.Of = append(c.Of, owner)
		}
	}
	slices.SortStableFunc(a.Changes, func(x, y Change) int { return cmp.Or(cmp.Compare(y.Pods, x.Pods), cmp.Compare(x.What, y.What)) })
}

// owner is whose the task is, or its name.
func (m *Moment) owner(row int) string {
	if m.Owners[row] != "" {
		return m.Owners[row]
	}
	return m.Names[row]
}

// unused measures what is free on nodes that take pods, and how much of that lies where not even the pod in the middle
// would fit: half of the pods that run, by what they ask for of each kind, ask for more.
func (a *Advice) unused(m *Moment) {
	s := m.Core.View()
	typical := middle(s, m.Pinned)
	kinds := s.Kinds()
	free, stranded := make([]int64, len(kinds)), make([]int64, len(kinds))
	lack := make([][]int, len(kinds)) // by kind that is stranded, by kind that is used up: nodes
	for k := range lack {
		lack[k] = make([]int, len(kinds))
	}
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) || outOfUse(s, n) != "" {
			continue
		}
		limit, used := s.Limit(n), s.Used(n)
		short := usedUp(typical, limit, used)
		for k := range free {
			left := max(limit[k]-used[k], 0)
			free[k] += left
			if short >= 0 && short != k {
				stranded[k] += left
				lack[k][short]++
			}
		}
	}
	for k, kind := range kinds {
		if stranded[k]*20 < free[k] || typical[k] == 0 || kind.Name == "pods" {
			continue // a twentieth is no matter
		}
		by := 0
		for other := range lack[k] {
			if lack[k][other] > lack[k][by] {
				by = other
			}
		}
		a.Unused = append(a.Unused, Unused{kind.Name, kind.Unit, units(kind, free[k]), units(kind, stranded[k]), kinds[by].Name})
	}
}

// usedUp is the first kind of which a node has too little left for such a pod, though it is large enough; -1 if there is none.
func usedUp(typical, limit, used cluster.Vector) int {
	for k, q := range typical {
		if q > limit[k]-used[k] && limit[k] >= q {
			return k
		}
	}
	return -1
}

func units(k cluster.Kind, q int64) report.Number {
	return report.Number(float64(q) / float64(max(k.PerUnit, 1)))
}

// middle is the median of what running pods ask for, kind by kind.
func middle(s *cluster.View, pinned []bool) cluster.Vector {
	v := make(cluster.Vector, len(s.Kinds()))
	var all []int64
	for k := range v {
		all = all[:0]
		for row := range s.TaskRows() {
			if t := cluster.TaskID(row); s.Task(t).Placed() && !pinned[row] {
				all = append(all, s.Demand(t)[k])
			}
		}
		if len(all) > 0 {
			slices.Sort(all)
			v[k] = all[len(all)/2]
		}
	}
	return v
}

// outOfUse says why a node takes no pods; empty if it does.
func outOfUse(s *cluster.View, n cluster.NodeID) string {
	for _, l := range s.NodeSpec(n).Labels {
		if l.Key != trace.Taints {
			continue
		}
		for taint := range strings.SplitSeq(l.Value, ",") {
			if out := trace.OutOfUse(taint); out != "" {
				return out
			}
		}
	}
	return ""
}

// out lists the nodes that take no pods, and the cores that lie there.
func (a *Advice) out(m *Moment) {
	s := m.Core.View()
	for why, words := range map[string]string{"cordon": "cordoned", "not ready": "not ready"} {
		o := Out{Why: words}
		cores := int64(0)
		for n := range cluster.NodeID(s.NodeRows()) {
			if s.NodeLive(n) && outOfUse(s, n) == why {
				o.Nodes = append(o.Nodes, s.NodeSpec(n).Name)
				cores += s.Limit(n)[0]
			}
		}
		if len(o.Nodes) > 0 {
			o.CPU = s.Kinds()[0].Rounded(cores)
			a.Out = append(a.Out, o)
		}
	}
	slices.SortFunc(a.Out, func(x, y Out) int { return cmp.Compare(x.Why, y.Why) })
}
