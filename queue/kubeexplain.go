package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file says which nodes kube-scheduler would choose from for a task, and by how many points each is below the best of them; or whom it
// would evict. Whoever asks changes nothing: all that the policy keeps is made anew here, but for where its next search begins.

// ExplainTask says which nodes the next search finds for the task, the best first.
func (p *kubeScheduler) ExplainTask(s *cluster.View, t cluster.TaskID, most int) (sched.Explanation, error) {
	x := sched.NewExplanation(s, t)
	if x.Phase == cluster.Gated {
		x.Others = sched.Explain(s, t)
		return x, nil
	}
	own, err := sched.Without(s, t)
	if err != nil {
		return x, err
	}
	view := &own.View
	x.Others = sched.Explain(view, t)
	then := kubeScheduler{start: p.start, scores: newKubeScores(view)}
	then.victims = &victims{}
	all := sched.Changed{All: true}
	for n := range cluster.NodeID(view.NodeRows()) {
		all.Nodes = append(all.Nodes, n)
	}
	then.nodes.learn(view, all.Nodes)
	then.scores.learn(view, all.Nodes, &then.nodes.of)
	then.victims.learn(view, &all)
	order := then.nodes.inOrder()
	if then.start >= len(order) {
		then.start = 0
	}
	looked, _ := then.look(view, t, order)
	best, scores := int64(0), then.scores.of(view, t, then.found)
	for _, score := range scores {
		best = max(best, score)
	}
	for i, score := range scores {
		below := best - score
		x.Candidates = append(x.Candidates, sched.Candidate{Node: then.found[i], Cost: below, Terms: []sched.Term{{Name: "lower scores", Cost: below}}})
	}
	slices.SortStableFunc(x.Candidates, func(a, b sched.Candidate) int { return cmp.Compare(a.Cost, b.Cost) })
	if looked < len(order) {
		x.Standing = append(x.Standing, fmt.Sprintf("Of %d nodes %d are looked at, from where the last search stopped: %d that take it are enough to choose from.", len(order), looked, len(then.found)))
	}
	if len(then.found) == 0 && x.Phase == cluster.Waiting && !x.Others.Unplaceable() {
		x.Standing = append(x.Standing, then.wouldEvict(view, t, order))
	}
	x.Shorten(most)
	return x, nil
}

// wouldEvict says where it costs least to evict for the task, and whom.
func (p *kubeScheduler) wouldEvict(s *cluster.View, t cluster.TaskID, order []cluster.NodeID) string {
	n := p.victims.cheapest(s, t, order, nil)
	if n == cluster.NoNode {
		return "No node would have room for it even if all who have a lower priority left."
	}
	p.victims.choose(s, s.Task(t).Shape, s.Task(t).Priority, n)
	const most = 3
	var names []string
	for i := range p.victims.search.Victims {
		if len(names) == most {
			names = append(names, fmt.Sprintf("%d more", len(p.victims.search.Victims)-most))
			break
		}
		names = append(names, s.TaskName(p.victims.search.Victims[i].Task))
	}
	return fmt.Sprintf("It costs least to evict for it on node %s: %s.", s.NodeSpec(n).Name, strings.Join(names, ", "))
}

var _ sched.Explainer = (*kubeScheduler)(nil)
