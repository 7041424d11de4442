package devices

import "slices"

// Bounds show that what is left to be assigned cannot be had, without searching it. By Hall's theorem n requests that may have fewer than n devices between
// them have too few, and a bipartite matching finds such requests if there are any; in the same way pods that fit only on too few nodes. And what
// devices draw of counters of one name, as memory, must be left of these in all. A bound overlooks much, but is never wrong.

// bounds are what bounds go by.
type bounds struct {
	*search
	draws [][][]int64     // by claim, request and kind of counter: what it draws at least
	takes map[int][]int64 // by shared device: what any request takes at least; nil until it is asked for
}

// bound is a conflict within what is not assigned yet, if a bound finds one.
func (s *bounds) bound() (Conflict, bool) {
	for _, over := range [...]Scarcity{OfCounters, OfDevices, OfNodes, OfGroups} {
		if c, fails := s.boundOf(over); fails {
			return c, true
		}
	}
	return Conflict{}, false
}

// boundOf asks one of the bounds.
func (s *bounds) boundOf(over Scarcity) (Conflict, bool) {
	switch over {
	case Combined: // no bound says so
	case OfCounters:
		return s.counters()
	case OfDevices:
		return s.matchDevices()
	case OfNodes:
		return s.matchNodes()
	case OfGroups:
		return s.matchGroups()
	}
	return Conflict{}, false
}

// leastDraws is what each request draws at least of counters of each kind.
func (s *bounds) leastDraws() [][][]int64 {
	if len(s.p.Counters) == 0 {
		return nil
	}
	kinds := 0
	for _, c := range s.p.Counters {
		kinds = max(kinds, c.Kind+1)
	}
	draws := make([][][]int64, len(s.p.Claims))
	for u := range s.units {
		for _, c := range s.units[u].claims {
			for r := range s.claims[c].open {
				draws[c] = append(draws[c], s.leastDraw(u, c, r, kinds))
			}
		}
	}
	return draws
}

// leastDraw is what one request draws at least.
func (s *bounds) leastDraw(u, c, r, kinds int) []int64 {
	var least []int64
	s.each(u, c, r, func(o *Option, a, _ int) bool {
		of := make([]int64, kinds)
		if d := &s.p.Devices[o.Device]; !d.Shared {
			for _, draw := range d.Draws {
				of[s.p.Counters[draw.Counter].Kind] += draw.Amount * int64(max(s.p.Claims[c].Requests[r].Alternatives[a].Count, 1))
			}
		}
		if least == nil {
			least = of
		}
		for k := range of {
			least[k] = min(least[k], of[k])
		}
		return false
	})
	if least == nil { // it may have nothing, which is not for this bound to say
		least = make([]int64, kinds)
	}
	return least
}

// counters holds what requests draw at least against what is left.
func (s *bounds) counters() (Conflict, bool) {
	var left []int64
	for i, c := range s.p.Counters {
		for len(left) <= c.Kind {
			left = append(left, 0)
		}
		left[c.Kind] += max(s.left[i], 0)
	}
	for kind, has := range left {
		if needs, claims := s.drawing(kind); needs > has {
			first := slices.IndexFunc(s.p.Counters, func(c Counter) bool { return c.Kind == kind })
			return Conflict{Over: OfCounters, Claims: claims, Needs: needs, Has: has, Counter: first}, true
		}
	}
	return Conflict{}, false
}

// drawing is what open requests draw at least of counters of a kind, and whose these are.
func (s *bounds) drawing(kind int) (needs int64, claims []int) {
	for c := range s.claims {
		draws := int64(0)
		for r, open := range s.claims[c].open {
			if open {
				draws += s.draws[c][r][kind]
			}
		}
		if needs += draws; draws > 0 {
			claims = append(claims, c)
		}
	}
	return needs, claims
}

// matchDevices gives each open request as many devices as it takes at least, whatever the claims' constraints are.
func (s *bounds) matchDevices() (Conflict, bool) {
	type opening struct{ u, c, r int } // one device that a request is open for
	var openings []opening
	for u := range s.units {
		for _, c := range s.units[u].claims {
			for r, open := range s.claims[c].open {
				for range s.least(c, r) {
					if open {
						openings = append(openings, opening{u, c, r})
					}
				}
			}
		}
	}
	m := matching{
		edges: func(left int, visit func(int) bool) {
			s.each(openings[left].u, openings[left].c, openings[left].r, func(o *Option, _, _ int) bool { return visit(o.Device) })
		},
		holds: func(device int) int { return s.shares(device, len(openings)) },
		owner: make([][]int, len(s.p.Devices)), seen: make([]int, len(s.p.Devices)),
	}
	return m.all(len(openings), OfDevices, func(left int) []int { return []int{openings[left].c} })
}

// shares is how many more requests may have the device, most at most.
func (s *bounds) shares(device, most int) int {
	if !s.p.Devices[device].Shared {
		return 1
	}
	for k, least := range s.smallest(device) {
		if least > 0 {
			most = min(most, int(s.devices[device].left[k]/least))
		}
	}
	return most
}

// smallest is the least that any request takes of a shared device's capacity.
func (s *bounds) smallest(device int) []int64 {
	if s.takes == nil {
		s.takes = map[int][]int64{}
		for c := range s.p.Claims {
			for i := range s.p.Claims[c].Requests {
				for j := range s.p.Claims[c].Requests[i].Alternatives {
					for _, options := range s.p.Claims[c].Requests[i].Alternatives[j].Options {
						s.noteTakes(options)
					}
				}
			}
		}
	}
	return s.takes[device]
}

// noteTakes keeps the least of what the options take.
func (s *bounds) noteTakes(options []Option) {
	for _, o := range options {
		if !s.p.Devices[o.Device].Shared {
			continue
		}
		least, known := s.takes[o.Device]
		if !known {
			s.takes[o.Device] = slices.Clone(o.Takes)
			continue
		}
		for k := range least {
			least[k] = min(least[k], o.Takes[k])
		}
	}
}

// matchNodes gives each unit that is not placed a node, by how many of the least demand have room there.
func (s *bounds) matchNodes() (Conflict, bool) {
	units, least := s.unitsToPlace()
	m := matching{
		edges: func(left int, visit func(int) bool) {
			for _, n := range s.units[units[left]].nodes {
				s.ticks++
				if u := &s.units[units[left]]; s.fits(u, n) && s.reaches(u, n) && visit(n) {
					return
				}
			}
		},
		holds: func(n int) int {
			most := len(units)
			for k, amount := range least {
				if k < len(s.room[n]) && amount > 0 {
					most = min(most, int(s.room[n][k]/amount))
				}
			}
			return most
		},
		owner: make([][]int, len(s.p.Nodes)), seen: make([]int, len(s.p.Nodes)),
	}
	return m.all(len(units), OfNodes, func(unit int) []int {
		u := &s.units[units[unit]]
		return append(slices.Clone(u.claims), u.follows...)
	})
}

// unitsToPlace are the units that have no node, and the least that any of them demands of each resource.
func (s *bounds) unitsToPlace() (units []int, least []int64) {
	for u := range s.units {
		if s.units[u].node >= 0 {
			continue
		}
		units = append(units, u)
		for k, amount := range s.units[u].demand {
			if len(units) == 1 {
				least = append(least, amount)
			} else if k < len(least) {
				least[k] = min(least[k], amount)
			}
		}
	}
	return units, least
}

// matching matches each on the left with one on the right, which may hold several.
type matching struct {
	edges func(left int, visit func(right int) bool) // until it is told to stop
	holds func(right int) int
	owner [][]int // by right
	seen  []int   // by right: the round in which it was reached
	round int
}

// all matches so many, or says which claims of theirs are in each other's way over what is matched with.
func (m *matching) all(count int, over Scarcity, claims func(left int) []int) (Conflict, bool) {
	for left := range count {
		if m.augments(left) {
			continue
		}
		c := Conflict{Over: over}
		needs, has := m.tree(left)
		c.Needs, c.Has = int64(len(needs)), has
		for _, of := range needs {
			for _, claim := range claims(of) {
				if !slices.Contains(c.Claims, claim) {
					c.Claims = append(c.Claims, claim)
				}
			}
		}
		return c, true
	}
	return Conflict{}, false
}

// augments matches one more, if others can move over so that it has a place.
func (m *matching) augments(left int) bool {
	m.round++
	return m.augment(left)
}

func (m *matching) augment(left int) bool {
	found := false
	m.edges(left, func(right int) bool {
		if len(m.owner[right]) < m.holds(right) {
			m.owner[right], found = append(m.owner[right], left), true
		}
		return found
	})
	if found {
		return true
	}
	m.edges(left, func(right int) bool {
		if m.seen[right] == m.round {
			return false
		}
		m.seen[right] = m.round
		for i, other := range m.owner[right] {
			if m.augment(other) {
				m.owner[right][i], found = left, true
				break
			}
		}
		return found
	})
	return found
}

// tree is who was reached from one that was not matched, all of whom have only what was reached, and how many that holds: one fewer.
func (m *matching) tree(left int) (lefts []int, holds int64) {
	lefts = []int{left}
	for right, round := range m.seen {
		if round == m.round {
			lefts = append(lefts, m.owner[right]...)
			holds += int64(len(m.owner[right]))
		}
	}
	return lefts, holds
}
