package main

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file asks the scheduler what the command explains. The answer is values, which
// print as JSON as they are, and as text in explaintext.go.

// explained is an answer.
type explained struct {
	At report.Number `json:"at_s"`
	// Task is the task that was asked about; otherwise Waiting are those that wait, by
	// reason, and Worth what one more node is worth to the policies that have prices.
	Task    *explainedTask   `json:"task,omitempty"`
	Waiting []explainedGroup `json:"waiting,omitempty"`
	Worth   []explainedWorth `json:"one_more_node,omitempty"`
	// Unpriced are policies without prices.
	Unpriced []string `json:"without_prices,omitempty"`
}

// explainedTask is what a task could have.
type explainedTask struct {
	Name   string         `json:"name"`
	Policy string         `json:"policy"`
	Phase  string         `json:"phase"`
	Node   string         `json:"node,omitempty"`
	Needs  []explainedAmt `json:"needs"`
	// Price is nil where the policy has none.
	Price *explainedPrice `json:"price,omitempty"`
	// Takers are nodes that would take the task, where they have no price: some of
	// so many.
	Takers []string      `json:"takers,omitempty"`
	Nodes  int           `json:"candidates"`
	Others explainedWhys `json:"others"`
}

// explainedAmt is a quantity of a kind, in its unit.
type explainedAmt struct {
	Kind   string `json:"kind"`
	Amount string `json:"amount"`
}

// explainedPrice is what a task pays for what.
type explainedPrice struct {
	Wait        flow.Cost      `json:"wait"`
	WaitChanges *report.Number `json:"wait_changes_s,omitempty"`
	// WaitParts are the parts of Wait; HoldParts those of what it costs to evict the task,
	// where it runs. Both are left out where the policy does not name them.
	WaitParts  []explainedPart      `json:"wait_parts,omitempty"`
	HoldParts  []explainedPart      `json:"hold_parts,omitempty"`
	Candidates []explainedCandidate `json:"nodes"`
}

// explainedCandidate is a node that would take the task. More is by how much its parts
// exceed those of the node that others are compared with, which has none.
type explainedCandidate struct {
	Node  string          `json:"node"`
	Here  bool            `json:"here"`
	Full  bool            `json:"full"`
	Cost  flow.Cost       `json:"cost"`
	Parts []explainedPart `json:"parts"`
	More  []explainedPart `json:"more,omitempty"`
	first bool
}

type explainedPart struct {
	Name string    `json:"name"`
	Cost flow.Cost `json:"cost"`
}

// explainedWhys says how many nodes do not take a task, and why.
type explainedWhys struct {
	Nodes       int      `json:"nodes"`
	Unplaceable bool     `json:"unplaceable"`
	Gated       bool     `json:"gated"`
	Whys        []string `json:"whys"`
	// Copies says how many nodes could hold one of the task's copies, if too few could.
	Copies string `json:"copies,omitempty"`
	// Application says why that of the task has no place, if it is placed whole.
	Application string `json:"application,omitempty"`
}

// explainedGroup is tasks that wait for the same reason.
type explainedGroup struct {
	Tasks   int            `json:"tasks"`
	Example string         `json:"example"`
	Policy  string         `json:"policy"`
	Needs   []explainedAmt `json:"needs"`
	Why     string         `json:"why"`
}

// explainedWorth is what one more node of a kind is worth to a policy.
type explainedWorth struct {
	Policy   string         `json:"policy"`
	Like     string         `json:"like"`
	Nodes    int            `json:"nodes"`
	Capacity []explainedAmt `json:"capacity"`
	Tasks    int            `json:"tasks"`
	Least    flow.Cost      `json:"saves_at_least"`
	Most     flow.Cost      `json:"saves_at_most"`
}

// explain answers about a task, or about all that wait.
func (m *moment) explain(name string, most int) (*explained, error) {
	answer := &explained{At: report.Seconds(m.at)}
	if name != "" {
		t, err := m.find(name)
		if err != nil {
			return nil, err
		}
		answer.Task, err = m.task(t, most)
		return answer, err
	}
	answer.Waiting = m.waiting()
	for i, lane := range m.lanes {
		p, priced := lane.fresh.(*flow.Policy)
		if !priced {
			answer.Unpriced = append(answer.Unpriced, lane.policy)
			continue
		}
		worth, err := p.Worth(m.core.View(), m.core.Everything(i))
		if err != nil {
			return nil, err
		}
		for _, w := range worth {
			answer.Worth = append(answer.Worth, explainedWorth{
				Policy: lane.policy, Like: m.node(w.Like), Nodes: w.Nodes, Capacity: m.amounts(m.core.View().Limit(w.Like)),
				Tasks: w.Tasks, Least: w.Least, Most: w.Most,
			})
		}
	}
	return answer, nil
}

// task answers about a task.
func (m *moment) task(t cluster.TaskID, most int) (*explainedTask, error) {
	s := m.core.View()
	lane, _ := m.lane(t)
	task := s.Task(t)
	answer := &explainedTask{
		Name: m.names[t], Policy: m.lanes[lane].policy, Phase: task.Phase.String(), Needs: m.amounts(s.Demand(t)),
	}
	if task.Placed() {
		answer.Node = m.node(task.Node)
	}
	p, priced := m.lanes[lane].fresh.(*flow.Policy)
	if !priced {
		m.takers(answer, t, most)
		return answer, nil
	}
	x, err := p.Explain(s, m.core.Everything(lane), t, most)
	if err != nil {
		return nil, err
	}
	answer.Nodes = x.Nodes
	answer.Others = m.whys(&x.Others, x.Nodes)
	if task.Phase == cluster.Gated {
		return answer, nil
	}
	answer.Price = &explainedPrice{
		Wait: x.Wait, WaitParts: shownParts(x.WaitTerms), HoldParts: shownParts(x.HoldTerms), Candidates: m.candidates(&x),
	}
	if x.WaitChanges < cluster.Never {
		at := report.Seconds(x.WaitChanges)
		answer.Price.WaitChanges = &at
	}
	return answer, nil
}

// candidates lists those of an explanation; all are compared with where the task is,
// or else with the cheapest.
func (m *moment) candidates(x *flow.Explanation) []explainedCandidate {
	first := max(0, slices.IndexFunc(x.Candidates, func(c flow.Candidate) bool { return c.Node == x.Node }))
	list := []explainedCandidate{}
	for i := range x.Candidates {
		c := &x.Candidates[i]
		shown := explainedCandidate{
			Node: m.node(c.Node), Here: c.Node == x.Node, Full: c.Full, Cost: c.Cost, Parts: shownParts(c.Terms), first: i == first,
		}
		if i != first {
			shown.More = shownParts(c.Beyond(&x.Candidates[first]))
		}
		list = append(list, shown)
	}
	return list
}

func shownParts(terms []flow.Term) []explainedPart {
	list := []explainedPart{}
	for _, t := range terms {
		list = append(list, explainedPart{t.Name, t.Cost})
	}
	return list
}

// takers lists nodes that would take the task, under a policy that has no prices.
func (m *moment) takers(answer *explainedTask, t cluster.TaskID, most int) {
	s := m.core.View()
	task := s.Task(t)
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) || n == task.Node {
			continue
		}
		refusal := s.AdmitsShape(task.Shape, n)
		if task.Phase == cluster.Waiting {
			refusal = s.Admits(t, n)
		}
		if refusal.Refused() {
			continue
		}
		answer.Nodes++
		if len(answer.Takers) < most {
			answer.Takers = append(answer.Takers, m.node(n))
		}
	}
	why, taken := m.core.Why(t), answer.Nodes
	if task.Placed() {
		taken++
	}
	answer.Others = m.whys(&why, taken)
}

// whys says why the nodes that are no candidates are none.
func (m *moment) whys(r *sched.Reason, candidates int) explainedWhys {
	w := explainedWhys{Nodes: max(0, r.Nodes-candidates), Unplaceable: r.Unplaceable, Gated: r.Phase == cluster.Gated, Whys: r.Refusals(m.core.View().Kinds()), Copies: r.TooFew()}
	if len(r.Whole.Conflict) > 0 {
		w.Application = r.Whole.String()
	}
	if w.Whys == nil {
		w.Whys = []string{}
	}
	return w
}

// waiting lists why tasks wait, what most of them wait for first.
func (m *moment) waiting() []explainedGroup {
	s := m.core.View()
	type likeness struct {
		shape cluster.ShapeID
		job   cluster.JobID // of tasks of which a node may hold only so many
		gated bool
	}
	type reason struct {
		lane  int
		shape cluster.ShapeID
		why   string
	}
	whys, at := map[likeness]string{}, map[reason]int{}
	var list []explainedGroup
	for row := range s.TaskRows() {
		t := cluster.TaskID(row)
		lane, ours := m.lane(t)
		task := s.Task(t)
		if !ours || task.Phase != cluster.Waiting && task.Phase != cluster.Gated {
			continue
		}
		key := likeness{task.Shape, 0, task.Phase == cluster.Gated}
		if s.Shape(task.Shape).PerNode > 0 || s.Job(task.Job).Together {
			key.job = task.Job + 1
		}
		why, asked := whys[key]
		if !asked {
			why = m.core.Why(t).Text(s.Kinds())
			whys[key] = why
		}
		group := reason{lane, task.Shape, why}
		i, known := at[group]
		if !known {
			i = len(list)
			at[group] = i
			list = append(list, explainedGroup{Example: m.names[t], Policy: m.lanes[lane].policy, Needs: m.amounts(s.Demand(t)), Why: why})
		}
		list[i].Tasks++
	}
	slices.SortStableFunc(list, func(a, b explainedGroup) int { return cmp.Compare(b.Tasks, a.Tasks) })
	return list
}

func (m *moment) node(n cluster.NodeID) string { return m.core.View().NodeSpec(n).Name }

// amounts prints a vector, without kinds of which there is nothing.
func (m *moment) amounts(v cluster.Vector) []explainedAmt {
	list := []explainedAmt{}
	for k, q := range v {
		if kind := m.core.View().Kinds()[k]; q != 0 {
			list = append(list, explainedAmt{kind.Name, kind.Format(q)})
		}
	}
	return list
}
