package planted

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file ties applications of a group to one another, in a ring: each wishes to be
// near the one that was planted before it, or away from it.

// ties are what an application wishes of those planted before it.
type ties struct {
	near, away []int32 // rows of racks; near is all of them where there is no wish
	// nodes are those on which tied containers stand beside whom they wish for; nil is all.
	nodes []int32
}

// tie draws the wishes of the last application of those given about the one before it and,
// where it closes a ring of so many, about the first.
func (d *drawing) tie(planted []*draft, ring int) ties {
	a := planted[len(planted)-1]
	t := ties{}
	if len(planted) > 1 {
		d.tieTo(&t, a, planted[len(planted)-2])
	}
	if len(planted) == ring && ring > 2 {
		d.tieTo(&t, a, planted[0])
	}
	return t
}

func (d *drawing) tieTo(t *ties, a, to *draft) {
	racks := d.racksOf(to)
	bound := cluster.Bound{Subject: a.tied, Target: []string{cluster.AppTag(to.name)}, Max: cluster.Unbounded, Group: Rack}
	what := "near-"
	const chances = 10
	common := racks
	if t.near != nil {
		common = slices.DeleteFunc(slices.Clone(racks), func(rack int32) bool { return !slices.Contains(t.near, rack) })
	}
	switch chance := d.rand.IntN(chances); {
	case chance < 3: // away from its nodes
		what, bound.Group, bound.Max = "off-the-nodes-of-", cluster.EachNode, 0
		bound.Subject = []string{cluster.AppTag(a.name)}
	case chance < 4 || len(common) == 0: // away from its racks
		what, bound.Max = "out-of-the-racks-of-", 0
		bound.Subject = []string{cluster.AppTag(a.name)}
		t.away = append(t.away, racks...)
	case chance < 7 && a.perches: // on its nodes
		what, bound.Group, bound.Min = "beside-", cluster.EachNode, 1
		t.near, t.nodes = common, to.nodes
	default: // in its racks
		bound.Min = 1
		t.near = common
	}
	a.wish(what+to.name, bound)
}

// racksOf are the racks in which the application stands, each once, in order.
func (d *drawing) racksOf(a *draft) []int32 {
	var racks []int32
	for _, node := range a.nodes {
		racks = append(racks, d.Problem.Groups[1].SetOf[node])
	}
	slices.Sort(racks)
	return slices.Compact(racks)
}
