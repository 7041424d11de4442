package evict

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// inTheWay is who keeps a shape off a node by constraints that bind who comes, as long as too many of them stay there:
// the tasks beside which it must not stand. Companies are those beside which it has to.
type inTheWay struct {
	view      *cluster.View
	obstacles []cluster.Obstacle
	hopeless  bool // no departure from the node would help
	companies []cluster.Company
	left      []int32     // scratch: how many leave of each company
	beside    []Candidate // scratch
}

// begin finds out who is in the way while nobody is let go, and who has to stay.
func (x *inTheWay) begin(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) {
	x.view, x.companies = s, cluster.Companies(s, id, n, x.companies[:0])
	list, ok := cluster.Obstacles(s, id, n, x.obstacles[:0])
	x.obstacles, x.hopeless = list, !ok
}

// deserts reports whether by those victims the shape would lose the company that it needs.
func (x *inTheWay) deserts(victims []Candidate) bool {
	for i := range x.companies {
		c, left := &x.companies[i], int32(0)
		for v := range victims {
			if c.Of(x.view, victims[v].Shape) {
				left++
			}
		}
		if left > c.Spare && (c.All == 0 || left != c.All) {
			return true
		}
	}
	return false
}

// isCompany reports whether the shape may need the candidate beside it.
func (x *inTheWay) isCompany(of *Candidate) bool {
	return slices.ContainsFunc(x.companies, func(c cluster.Company) bool { return c.Of(x.view, of.Shape) })
}

// others are the candidates without those who have to stay as company: of each the last in order. It is valid until the next call.
func (x *inTheWay) others(list []Candidate) []Candidate {
	x.left = append(x.left[:0], make([]int32, len(x.companies))...)
	x.beside = x.beside[:0]
	for i := range list {
		stays := false
		for c := range x.companies {
			stays = stays || x.left[c] >= x.companies[c].Spare && x.companies[c].Of(x.view, list[i].Shape)
		}
		if stays {
			continue
		}
		for c := range x.companies {
			if x.companies[c].Of(x.view, list[i].Shape) {
				x.left[c]++
			}
		}
		x.beside = append(x.beside, list[i])
	}
	return x.beside
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
