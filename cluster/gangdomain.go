package cluster

import (
	"cmp"
	"slices"
)

// A gang may have to stand in one domain: a constraint that binds who comes lets each of its tasks come to a set of a group of nodes
// that holds another of them, and the first one to any. Who places the gang has to choose the set for all of them, as
// the first that is good for one of them may be too small for the others. Once some are placed there is no choice, and the constraint
// keeps the others to it.
//
// Where such a constraint is soft, the gang would rather stand in one domain, and may stand anywhere. Several of them, of groups of which one divides the other, say
// how near its tasks would be to each other: below one switch, or else below switches of one spine.
//
// Such constraints may be of some of a gang only: the groups that it is made of may each have to stand in a domain of their own, which may be within one that
// holds all of them. Then each of these parts has a choice of its own (GangParts).

// GangDomains are the sets of nodes of which one is to hold all of these tasks, by the first node of each; false where they need not stand
// in one, or the constraint itself says in which. Nodes of no set are in none of them.
func GangDomains(v *View, tasks []TaskID) (sets [][]NodeID, bound bool) {
	if len(tasks) == 0 {
		return nil, false
	}
	for _, r := range v.shape[v.task[tasks[0]].Shape].roles {
		if !leads(v, r) || slices.ContainsFunc(tasks, func(t TaskID) bool { return !slices.Contains(v.shape[v.task[t].Shape].roles, r) }) {
			continue
		}
		if of := setsOf(v, &v.constraints.group[v.constraints.row[r.constraint].bound[r.bound].group]); !bound || len(of) > len(sets) {
			sets, bound = of, true // by the smallest ones the larger are chosen, too
		}
	}
	return sets, bound
}

// GangPreferences are sets of nodes in one of which all of these tasks would rather stand, level by level: a soft constraint of the kind by which GangDomains
// chooses is a level, and its sets are those of its group. The level with the most sets comes first, as its sets are the narrowest. There is none
// where some of the tasks have not the constraint, or others with it stand somewhere: beside these it is cheaper than elsewhere.
func GangPreferences(v *View, tasks []TaskID) (levels [][][]NodeID) {
	if len(tasks) == 0 {
		return nil
	}
	for _, r := range v.shape[v.task[tasks[0]].Shape].roles {
		row := &v.constraints.row[r.constraint]
		if row.spec.Hard || !comesFirst(v, r) || slices.ContainsFunc(tasks, func(t TaskID) bool { return !slices.Contains(v.shape[v.task[t].Shape].roles, r) }) {
			continue
		}
		levels = append(levels, setsOf(v, &v.constraints.group[row.bound[r.bound].group]))
	}
	slices.SortStableFunc(levels, func(a, b [][]NodeID) int { return cmp.Compare(len(b), len(a)) })
	return levels
}

// Domain is a set of nodes of a group, and its name.
type Domain struct {
	Name  string
	Nodes []NodeID // ascending
}

// GangDomain is where a task of a gang has to stand as others of its gang stand there, of all such sets the smallest, and the other sets of the group. It is
// false where there is no such set.
func GangDomain(v *View, t TaskID) (here Domain, others []Domain, bound bool) {
	job := &v.job[v.task[t].Job]
	for _, r := range v.shape[v.task[t].Shape].roles {
		row := &v.constraints.row[r.constraint]
		b := &row.bound[r.bound]
		if !row.spec.Hard || !b.OrFirst || !r.subject || !r.target {
			continue
		}
		g, set := &v.constraints.group[b.group], outside
		for _, other := range job.members {
			if task := &v.task[other]; set == outside && task.Placed() {
				set = g.setOf(task.Node)
			}
		}
		if set == outside {
			continue
		}
		var of Domain
		var rest []Domain
		for _, nodes := range setsOf(v, g) {
			d := Domain{g.nameAt(v, nodes[0]), nodes}
			if g.setOf(nodes[0]) == set {
				of = d
			} else {
				rest = append(rest, d)
			}
		}
		if len(of.Nodes) > 0 && (!bound || len(of.Nodes) < len(here.Nodes)) {
			here, others, bound = of, rest, true
		}
	}
	return here, others, bound
}

// nameAt is the name of the set that the node is in.
func (g *nodeGroup) nameAt(v *View, n NodeID) string {
	spec := v.NodeSpec(n)
	if g.key == EachNode {
		return spec.Name
	}
	for _, l := range spec.Groups {
		if l.Key == g.key {
			return l.Value
		}
	}
	return ""
}

// GangParts are the tasks, part by part: those of a part share a constraint by which they choose a domain, which others of them have not. Whoever
// shares several is of the largest part. It is one part where there is nothing to choose for some of them alone. Parts, and tasks within them, are in the order of the tasks.
func GangParts(v *View, tasks []TaskID) (parts [][]TaskID) {
	type choice struct {
		role
		tasks int
	}
	var choices []choice // of some
	leading := func(t TaskID) []role { return v.shape[v.task[t].Shape].roles }
	for _, t := range tasks {
		for _, r := range leading(t) {
			if at := slices.IndexFunc(choices, func(c choice) bool { return c.role == r }); at >= 0 {
				choices[at].tasks++
			} else if leads(v, r) {
				choices = append(choices, choice{r, 1})
			}
		}
	}
	choices = slices.DeleteFunc(choices, func(c choice) bool { return c.tasks == len(tasks) })
	if len(choices) == 0 {
		return [][]TaskID{tasks}
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(b.tasks, a.tasks) })
	at := map[int]int{}
	for _, t := range tasks {
		of := slices.IndexFunc(choices, func(c choice) bool { return slices.Contains(leading(t), c.role) })
		i, known := at[of]
		if !known {
			i = len(parts)
			at[of], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], t)
	}
	return parts
}

// Clings reports whether tasks of the shape have to stand on one node with the first of their like, who goes where he likes: what is free beside him is all that they
// may ever have.
func Clings(v *View, id ShapeID) bool {
	for _, r := range v.shape[id].roles {
		row := &v.constraints.row[r.constraint]
		if b := &row.bound[r.bound]; row.spec.Hard && b.OrFirst && b.Group == EachNode && r.subject && r.target {
			return true
		}
	}
	return false
}

// leads reports whether a task with the role chooses where its like may come.
func leads(v *View, r role) bool {
	return v.constraints.row[r.constraint].spec.Hard && comesFirst(v, r)
}

// comesFirst reports whether a task with the role is to be beside its like, and there is none yet.
func comesFirst(v *View, r role) bool {
	b := &v.constraints.row[r.constraint].bound[r.bound]
	return b.OrFirst && r.subject && r.target && b.arrivals.targets == [tenses]int64{}
}

// setsOf are the live nodes of each set of the group.
func setsOf(v *View, g *nodeGroup) (sets [][]NodeID) {
	at := map[int32]int{}
	for n := range NodeID(len(v.node)) {
		set := g.setOf(n)
		if set == outside || !v.NodeLive(n) {
			continue
		}
		i, known := at[set]
		if !known {
			i = len(sets)
			at[set], sets = i, append(sets, nil)
		}
		sets[i] = append(sets[i], n)
	}
	return sets
}
