package evict

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// inTheWay is who keeps a shape off a node by constraints that bind who comes, as long as too many of them stay there:
// the tasks beside which it must not stand.
type inTheWay struct {
	view      *cluster.View
	obstacles []cluster.Obstacle
	hopeless  bool // no departure from the node would help
}

// begin finds out who is in the way while nobody is let go.
func (x *inTheWay) begin(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) {
	list, ok := cluster.Obstacles(s, id, n, x.obstacles[:0])
	x.view, x.obstacles, x.hopeless = s, list, !ok
}

// part takes a candidate out of those who are too many, or with the sign -1 has it stay after all.
func (x *inTheWay) part(c *Candidate, sign int32) {
	for i := range x.obstacles {
		if o := &x.obstacles[i]; o.Of(x.view, c.Shape) {
			o.TooMany -= sign
		}
	}
}

// cleared reports whether nobody is too many.
func (x *inTheWay) cleared() bool {
	return !slices.ContainsFunc(x.obstacles, func(o cluster.Obstacle) bool { return o.TooMany > 0 })
}

// clear chooses where some candidates are in the way. It lets all go, and then those stay who turn out superfluous: by LeastWorst from
// the last to go on, so that the set is the best, and by LeastSum from the dearest on, which may miss the best.
func (x *Search) clear(best Objective, candidates []Candidate) (price int64, ok bool) {
	x.Victims = append(x.Victims[:0], candidates...)
	for i := range x.Victims {
		x.part(&x.Victims[i], 1)
		x.leave(&x.Victims[i], 1)
	}
	if !x.cleared() || !x.deficit.Met() {
		x.Victims = x.Victims[:0]
		return 0, false
	}
	slices.Reverse(x.Victims)
	order := slices.Clone(x.Victims)
	if best == LeastSum {
		slices.SortStableFunc(order, func(a, b Candidate) int {
			switch {
			case a.violates == b.violates:
				return cmp.Compare(b.Price, a.Price)
			case a.violates: // a budget
				return -1
			}
			return 1
		})
	}
	for i := range order {
		c := &order[i]
		x.part(c, -1)
		if x.leave(c, -1); x.cleared() && x.deficit.Met() {
			x.Victims = slices.DeleteFunc(x.Victims, func(o Candidate) bool { return o.Task == c.Task })
			continue
		}
		x.part(c, 1)
		x.leave(c, 1)
		price += c.Price
	}
	if best == LeastWorst {
		price = x.Victims[0].Price
	}
	return price, true
}
