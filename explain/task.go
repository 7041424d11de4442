package explain

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file answers what a task could have.

// task answers about a task.
func (m *Moment) task(t cluster.TaskID, most int) (*Task, error) {
	s := m.core.View()
	lane, _ := m.lane(t)
	task := s.Task(t)
	answer := &Task{
		Name: m.name(t), Policy: m.lanes[lane].Policy, Phase: task.Phase.String(), Needs: m.amounts(s.Demand(t)),
	}
	if task.Placed() {
		answer.Node = m.node(task.Node)
	}
	if task.Phase == cluster.Gated && m.who.Gates != nil {
		answer.Gate = m.who.Gates[t]
	}
	x, priced, err := m.explanation(lane, t, most)
	if err != nil {
		return nil, err
	}
	if !priced {
		m.takers(answer, t, most)
		return answer, nil
	}
	answer.Nodes = x.Nodes
	for _, sentence := range x.Standing {
		answer.Standing = append(answer.Standing, m.called(sentence))
	}
	others := m.core.Name(x.Others, t)
	answer.Others = m.whys(&others, x.Nodes)
	if task.Phase == cluster.Gated {
		return answer, nil
	}
	answer.Price = &Price{WaitParts: shownParts(x.WaitTerms), HoldParts: shownParts(x.HoldTerms), Candidates: m.candidates(&x)}
	if x.Waits {
		answer.Price.Wait = &x.Wait
	}
	if x.WaitChanges < cluster.Never {
		at := report.Seconds(x.WaitChanges)
		answer.Price.WaitChanges = &at
	}
	return answer, nil
}

// called puts what people call tasks in the place of what the core calls them.
func (m *Moment) called(sentence string) string {
	words := strings.Split(sentence, " ")
	for i, word := range words {
		name := strings.TrimRight(word, ".,;:")
		if !strings.Contains(name, "#") || m.who.Names == nil {
			continue
		}
		for row := range cluster.TaskID(m.core.View().TaskRows()) {
			if _, ours := m.lane(row); ours && m.core.View().TaskName(row) == name {
				words[i] = m.name(row) + word[len(name):]
			}
		}
	}
	return strings.Join(words, " ")
}

// explanation is that of the policy that decides, if it explains, or else of one like it; false if neither has
// prices.
func (m *Moment) explanation(lane int, t cluster.TaskID, most int) (sched.Explanation, bool, error) {
	s := m.core.View()
	if x, explains, err := sched.ExplainTask(m.core, t, most); explains {
		return x, true, err
	}
	if p, priced := m.lanes[lane].Fresh.(Pricer); priced {
		x, err := p.Explain(s, m.core.Everything(lane), t, most)
		return x, true, err
	}
	return sched.Explanation{}, false, nil
}

// candidates lists those of an explanation; all are compared with where the task is,
// or else with the cheapest.
func (m *Moment) candidates(x *sched.Explanation) []Candidate {
	first := max(0, slices.IndexFunc(x.Candidates, func(c sched.Candidate) bool { return c.Node == x.Node }))
	list := []Candidate{}
	for i := range x.Candidates {
		c := &x.Candidates[i]
		shown := Candidate{
			Node: m.node(c.Node), Here: c.Node == x.Node, Full: c.Full, Cost: c.Cost, Parts: shownParts(c.Terms),
		}
		if i != first {
			shown.More = shownParts(c.Beyond(&x.Candidates[first]))
		}
		list = append(list, shown)
	}
	return list
}

func shownParts(terms []sched.Term) []Part {
	list := []Part{}
	for _, t := range terms {
		list = append(list, Part{t.Name, t.Cost})
	}
	return list
}

// takers lists nodes that would take the task, under a policy that has no prices. The node that it
// is on is neither listed nor counted.
func (m *Moment) takers(answer *Task, t cluster.TaskID, most int) {
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
		why.Causes = elsewhere(s, why.Causes, task)
	}
	answer.Others = m.whys(&why, taken)
	if g, lacks := sched.Find[sched.Gang](&why); lacks {
		answer.Standing = append(answer.Standing, m.called(g.Standing()))
	}
}

// elsewhere are the causes without the node that the task is on, which may refuse the task for what
// the task itself takes up there.
func elsewhere(s *cluster.View, causes []sched.Cause, task *cluster.Task) []sched.Cause {
	here := s.AdmitsShape(task.Shape, task.Node)
	var left []sched.Cause
	for _, cause := range causes {
		refusing := cause.Refusing()
		switch c := cause.(type) {
		case sched.NoRoom:
			if here.Code == cluster.NoRoom && here.Kind == c.Kind {
				c.Nodes, c.Most = c.Nodes-1, mostElsewhere(s, task, here)
			}
			cause = c
		case sched.NoPieces:
			if here.Code == cluster.NoDevice && here.Kind == c.Need.Kind {
				c.Nodes, c.Most = c.Nodes-1, int(mostElsewhere(s, task, here))
			}
			cause = c
		case sched.Violates:
			if here.Code == cluster.Violates && here.Constraint == c.Constraint && here.Kind == c.Bound && here.Kept == c.Kept {
				c.Nodes--
			}
			cause = c
		}
		if cause.Refusing() > 0 || refusing == 0 {
			left = append(left, cause)
		}
	}
	return left
}

// mostElsewhere is the most that another node has of what it refuses the task for as the task's own does.
func mostElsewhere(s *cluster.View, task *cluster.Task, here cluster.Refusal) (most int64) {
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) || n == task.Node {
			continue
		}
		if r := s.AdmitsShape(task.Shape, n); r.Code == here.Code && r.Kind == here.Kind {
			most = max(most, r.Have)
		}
	}
	return most
}

// whys says why the nodes that are no candidates are none.
func (m *Moment) whys(r *sched.Reason, candidates int) Others {
	kinds := m.core.View().Kinds()
	w := Others{Nodes: max(0, r.Nodes-candidates), Unplaceable: r.Unplaceable(), Gated: r.Phase == cluster.Gated, Whys: r.Refusals(kinds), Help: r.Help(kinds)}
	if c, copies := sched.Find[sched.Copies](r); copies {
		w.Copies = c.TooFew(r)
	}
	if whole, is := sched.Find[sched.Whole](r); is && len(whole.Conflict) > 0 {
		w.Application = whole.String()
	}
	if w.Whys == nil {
		w.Whys = []string{}
	}
	return w
}
