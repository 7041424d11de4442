package devices

import "slices"

// Solve searches an assignment for at most as many ticks as the budget has.
func Solve(p *Problem, budget int64) Answer {
	s := newSearch(p, budget)
	c, fails := s.bounds.bound()
	if fails {
		return Answer{Outcome: Impossible, Conflict: conflicts{s}.shrink(c), Ticks: s.ticks}
	}
	s.prepare()
	switch {
	case s.descend():
		return s.answer()
	case s.over():
		return Answer{Outcome: NotProven, Ticks: s.ticks}
	}
	c = Conflict{Over: Combined}
	for u := range s.units {
		c.Claims = append(c.Claims, s.units[u].claims...)
	}
	return Answer{Outcome: Impossible, Conflict: conflicts{s}.reduce(c), Ticks: s.ticks}
}

// answer is the assignment that the search stands at.
func (s *search) answer() Answer {
	a := Answer{Outcome: Assigned, Nodes: make([]int, len(s.p.Pods)), Grants: make([][]Grant, len(s.p.Claims)), Ticks: s.ticks}
	for u := range s.units {
		for _, pod := range s.units[u].pods {
			a.Nodes[pod] = s.units[u].node
		}
	}
	for c := range s.claims {
		a.Grants[c] = slices.Clone(s.claims[c].grants)
		slices.SortStableFunc(a.Grants[c], func(x, y Grant) int { return x.Request - y.Request })
	}
	return a
}

// unit is pods that stand on one node, as they share claims whose devices can be reached from one node each; mostly a single one.
type unit struct {
	pods, claims []int
	follows      []int // claims that belong to a unit before this one, which may have devices that can be reached from other nodes as well
	nodes        []int
	demand       []int64
	kind         int // equal for units that are alike
	node         int // -1 until it is placed
	at           int // of node in nodes
}

// unitsOf joins the pods that share claims, unless these may have devices that can be reached from several nodes: such a claim is that of the first unit.
func unitsOf(p *Problem) []unit {
	users, wide := make([]int, len(p.Claims)), make([]bool, len(p.Claims))
	for _, pod := range p.Pods {
		for _, c := range pod.Claims {
			users[c]++
		}
	}
	for c := range p.Claims {
		wide[c] = users[c] > 1 && isWide(&p.Claims[c])
	}
	of := make([]int, len(p.Claims)) // the unit of a claim, and one
	var units []unit
	for i, pod := range p.Pods {
		joined := unit{pods: []int{i}, nodes: pod.Nodes, demand: slices.Clone(pod.Demand), node: -1}
		for _, c := range pod.Claims {
			if wide[c] || of[c] == 0 {
				joined.claims = append(joined.claims, c)
			} else if other := &units[of[c]-1]; len(other.pods) > 0 {
				joined.join(other)
			}
		}
		units = append(units, joined)
		for _, c := range joined.claims {
			of[c] = len(units)
		}
	}
	units = slices.DeleteFunc(units, func(u unit) bool { return len(u.pods) == 0 })
	owned := make([]bool, len(p.Claims))
	for u := range units {
		units[u].own(owned)
	}
	return units
}

// own takes the claims that are no other unit's, and follows those that are.
func (u *unit) own(owned []bool) {
	var claims []int
	for _, c := range u.claims {
		switch {
		case !owned[c]:
			claims, owned[c] = append(claims, c), true
		case !slices.Contains(claims, c) && !slices.Contains(u.follows, c):
			u.follows = append(u.follows, c)
		}
	}
	u.claims = claims
}

// join takes over the pods of the other, which is empty after that.
func (u *unit) join(other *unit) {
	u.pods = append(slices.Clone(other.pods), u.pods...)
	u.claims = append(slices.Clone(other.claims), u.claims...)
	nodes := other.nodes
	u.nodes = slices.DeleteFunc(slices.Clone(u.nodes), func(n int) bool { return !slices.Contains(nodes, n) })
	for len(u.demand) < len(other.demand) {
		u.demand = append(u.demand, 0)
	}
	for k, amount := range other.demand {
		u.demand[k] += amount
	}
	*other = unit{}
}

// isWide reports whether the claim may have a device from more than one node, or needs none.
func isWide(c *Claim) bool {
	from := map[int]int{}
	for i := range c.Requests {
		for j := range c.Requests[i].Alternatives {
			for node, options := range c.Requests[i].Alternatives[j].Options {
				for _, o := range options {
					if before, known := from[o.Device]; known && before != node {
						return true
					}
					from[o.Device] = node
				}
			}
		}
	}
	return len(c.Requests) == 0
}

// conflicts makes a conflict small.
type conflicts struct{ *search }

// without are the claims but for one. Those of pods that share a claim go together, as they have one node for all of them.
func (s conflicts) without(claims []int, i int) []int {
	u := &s.units[s.claims[claims[i]].unit]
	return slices.DeleteFunc(slices.Clone(claims), func(c int) bool { return c == claims[i] || len(u.pods) > 1 && slices.Contains(u.claims, c) })
}

// whole are the claims, with those that go together with one of them.
func (s conflicts) whole(claims []int) []int {
	for _, c := range slices.Clone(claims) {
		for _, other := range s.units[s.claims[c].unit].claims {
			if len(s.units[s.claims[c].unit].pods) > 1 && !slices.Contains(claims, other) {
				claims = append(claims, other)
			}
		}
	}
	return claims
}

// shrink leaves out of a conflict that a bound found what it holds without. Those of a matching are as small as they can be: without any one of them the others
// could be matched.
func (s conflicts) shrink(c Conflict) Conflict {
	c.Claims = s.whole(c.Claims)
	for i := 0; c.Over == OfCounters && i < len(c.Claims); {
		without := s.without(c.Claims, i)
		if smaller, fails := s.only(without).bounds.boundOf(c.Over); fails {
			c, i = smaller, 0 // it may have fewer still
			c.Claims = s.whole(c.Claims)
		} else {
			i++
		}
	}
	return s.named(c)
}

// reduce leaves out of a conflict whatever the search proves it to hold without, as far as the budget goes.
func (s conflicts) reduce(c Conflict) Conflict {
	left := s.budget - s.ticks
	for i := 0; i < len(c.Claims) && left > 0; {
		without := s.without(c.Claims, i)
		part := s.only(without)
		part.budget = left
		if _, fails := part.bounds.bound(); !fails && part.succeeds() {
			i++
		} else {
			c.Claims = without
		}
		left -= part.ticks
	}
	return s.named(c)
}

// succeeds reports whether there is an assignment, or none was found within the budget.
func (s *search) succeeds() bool {
	s.prepare()
	return s.descend() || s.over()
}

// only is a search for these claims alone; pods without claims are left out of it.
func (s conflicts) only(claims []int) *search {
	part := *s.p
	part.Pods = nil
	for _, pod := range s.p.Pods {
		kept := Pod{Nodes: pod.Nodes, Demand: pod.Demand}
		for _, c := range pod.Claims {
			if slices.Contains(claims, c) {
				kept.Claims = append(kept.Claims, c)
			}
		}
		if len(kept.Claims) > 0 {
			part.Pods = append(part.Pods, kept)
		}
	}
	return newSearch(&part, s.budget)
}

// named adds the pods of a conflict's claims, and counts what these need and have where that is not known.
func (s conflicts) named(c Conflict) Conflict {
	slices.Sort(c.Claims)
	c.Pods = nil
	for i, pod := range s.p.Pods {
		if slices.ContainsFunc(pod.Claims, func(claim int) bool { return slices.Contains(c.Claims, claim) }) {
			c.Pods = append(c.Pods, i)
		}
	}
	if c.Over == Combined {
		seen := map[int]bool{}
		for u := range s.units {
			for _, claim := range s.units[u].claims {
				for r := range s.claims[claim].open {
					if !slices.Contains(c.Claims, claim) {
						continue
					}
					c.Needs += int64(s.least(claim, r))
					s.each(u, claim, r, func(o *Option, _, _ int) bool { seen[o.Device] = true; return false })
				}
			}
		}
		c.Has = int64(len(seen))
	}
	return c
}
