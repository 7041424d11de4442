package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file says in a sentence which policy did best: under which fewest tasks wait at the end, and of those that are as
// good in that, which evicted and moved fewest, and then which leaves most nodes unused.

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
func compareGroups(a, b Group) int {
	mean := func(g *Group, of func(*Run) int) float64 { return meanCount(g.Runs, of) }
	for _, of := range []func(*Run) int{
		func(r *Run) int { return r.Tasks.Pending }, func(r *Run) int { return r.Tasks.Preempted + r.Tasks.Migrated }, func(r *Run) int { return r.NodesActive },
	} {
		if by := cmp.Compare(mean(&a, of), mean(&b, of)); by != 0 {
			return by
		}
	}
	return 0
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
	if n := meanCount(g.Runs, func(r *Run) int { return r.Tasks.Preempted }); n > 0 {
		text += fmt.Sprintf(", %s evictions", humanCount(n))
	}
	if n := meanCount(g.Runs, func(r *Run) int { return r.Tasks.Migrated }); n > 0 {
		text += fmt.Sprintf(", %s moves", humanCount(n))
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
