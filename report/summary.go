package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// This file says in a sentence which policy did best.

// Merit is what policies are ranked by, each number the better the smaller.
type Merit struct {
	Pending   float64 // tasks that wait at the end
	Violated  float64 // the share of those that run then which violate a constraint
	Disturbed float64 // evictions and moves
	InUse     float64 // nodes
}

// Compare puts the better one first: the one with less of the first in which they differ.
func (m Merit) Compare(n Merit) int {
	return cmp.Or(
		cmp.Compare(m.Pending, n.Pending), cmp.Compare(m.Violated, n.Violated), cmp.Compare(m.Disturbed, n.Disturbed), cmp.Compare(m.InUse, n.InUse),
	)
}

// Summary says which of the groups did best, and what the others did. It is empty where there is nothing to say.
func Summary(groups []Group) string {
	if len(groups) == 0 {
		return ""
	}
	order := slices.Clone(groups)
	slices.SortStableFunc(order, compareGroups)
	best := &order[0]
	if len(order) == 1 {
		return fmt.Sprintf("Under %s %s.", best.Name, best.did())
	}
	same := 1
	for same < len(order) && compareGroups(order[0], order[same]) == 0 {
		same++
	}
	var rest []string
	for i := same; i < len(order); i++ {
		rest = append(rest, fmt.Sprintf("under %s %s", order[i].Name, order[i].did()))
	}
	text := fmt.Sprintf("%s did best: %s", best.Name, best.did())
	if same > 1 {
		names := make([]string, same)
		for i := range names {
			names[i] = order[i].Name
		}
		text = fmt.Sprintf("%s did alike: %s", strings.Join(names[:same-1], ", ")+" and "+names[same-1], best.did())
	}
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, "; ")
	}
	return text + "." + best.doubt()
}

// compareGroups puts the better one first.
func compareGroups(a, b Group) int { return a.merit().Compare(b.merit()) }

func (g *Group) merit() Merit {
	return Merit{
		Pending:   meanCount(g.Runs, func(r *Run) int { return r.Tasks.Pending }),
		Violated:  g.violated(),
		Disturbed: meanCount(g.Runs, func(r *Run) int { return r.Tasks.Preempted + r.Tasks.Migrated }),
		InUse:     meanCount(g.Runs, func(r *Run) int { return r.NodesActive }),
	}
}

// violated is the mean share of tasks that violate a constraint at the end.
func (g *Group) violated() (mean float64) {
	for i := range g.Runs {
		if c := g.Runs[i].Constraints; c != nil {
			mean += float64(c.Violated.Final) / float64(len(g.Runs))
		}
	}
	return mean
}

func meanCount(runs []Run, of func(*Run) int) (mean float64) {
	for i := range runs {
		mean += float64(of(&runs[i])) / float64(len(runs))
	}
	return mean
}

// did says what came of the group.
func (g *Group) did() string {
	show := func(of func(*Run) int) string { return humanCount(meanCount(g.Runs, of)) }
	text := fmt.Sprintf("%s of %s tasks wait at the end", show(func(r *Run) int { return r.Tasks.Pending }), show(func(r *Run) int { return r.Tasks.Submitted }))
	if share := g.violated(); share > 0 {
		text += fmt.Sprintf(", %s violate a constraint", InShares.show(share))
	}
	if n := meanCount(g.Runs, func(r *Run) int { return r.Tasks.Preempted }); n > 0 {
		text += ", " + Count(int(math.Round(n)), "eviction")
	}
	if n := meanCount(g.Runs, func(r *Run) int { return r.Tasks.Migrated }); n > 0 {
		text += ", " + Count(int(math.Round(n)), "move")
	}
	return text + fmt.Sprintf(", %s of %s nodes in use", show(func(r *Run) int { return r.NodesActive }), show(func(r *Run) int { return r.Nodes }))
}

// doubt says that one seed proves nothing, where chance has a part.
func (g *Group) doubt() string {
	if len(g.Runs) == 1 && !g.Runs[0].Certain {
		return " With one seed that may be chance."
	}
	return ""
}
