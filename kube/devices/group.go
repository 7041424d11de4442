package devices

// All devices of a pod are on one node, and those of a claim may have to agree on an attribute. So devices come in groups, by node or by node and value, and a
// pod or claim that needs k of them finds no use in what a group has beyond multiples of k. The bound matches pods, or claims that want to agree, with
// groups; each group holds as many as it has devices for, if all needed as few as any of them does.

// many are as many devices as these bounds look at in each branch; of more, only at the beginning.
const many = 1024

// group is devices that may be had together.
type group struct{ node, value int }

// member is a unit, or a claim that wants to agree.
type member struct {
	claims []int
	needs  int
	kind   int // equal for members that may have the same devices
}

// matchGroups asks for each attribute that claims want to agree on, and for nodes.
func (s *bounds) matchGroups() (Conflict, bool) {
	if len(s.p.Devices) > many && s.ticks > 0 && s.begun() {
		return Conflict{}, false
	}
	s.prepare()
	if c, fails := s.matchMembers(s.unplaced(), func(int) int { return 1 }); fails {
		return c, true
	}
	asked := map[*int]bool{}
	for c := range s.claims {
		for i := range s.p.Claims[c].Constraints {
			values := s.p.Claims[c].Constraints[i].Values
			if len(values) == 0 || s.p.Claims[c].Constraints[i].Distinct || asked[&values[0]] {
				continue
			}
			asked[&values[0]] = true
			if conflict, fails := s.matchMembers(s.agreeing(&values[0]), func(d int) int { return values[d] }); fails {
				return conflict, true
			}
		}
	}
	return Conflict{}, false
}

// begun reports whether anything is assigned.
func (s *bounds) begun() bool {
	for u := range s.units {
		if s.units[u].node >= 0 {
			return true
		}
	}
	return false
}

// unplaced are the units that have no device yet.
func (s *bounds) unplaced() []member {
	var members []member
	for u := range s.units {
		m := member{kind: -1 - s.units[u].kind}
		for _, c := range s.units[u].claims {
			for r, open := range s.claims[c].open {
				if open {
					m.needs += s.least(c, r)
				}
			}
			if len(s.claims[c].grants) == 0 {
				m.claims = append(m.claims, c)
			}
		}
		if m.needs > 0 && len(m.claims) == len(s.units[u].claims) && s.units[u].node < 0 && len(m.claims) > 0 { // a claim may ask for nothing
			members = append(members, m)
		}
	}
	return members
}

// agreeing are the claims without devices that want to agree on the attribute.
func (s *bounds) agreeing(attribute *int) []member {
	var members []member
	for c := range s.claims {
		if len(s.claims[c].grants) > 0 {
			continue
		}
		m := member{claims: []int{c}, kind: s.alike.claims[c]}
		for i := range s.p.Claims[c].Constraints {
			constraint := &s.p.Claims[c].Constraints[i]
			if constraint.Distinct || len(constraint.Values) == 0 || &constraint.Values[0] != attribute {
				continue
			}
			for r, open := range s.claims[c].open {
				if open && all(constraint.Covers[r]) {
					m.needs = max(m.needs, 0) + s.least(c, r)
				}
			}
			break
		}
		if m.needs > 0 {
			members = append(members, m)
		}
	}
	return members
}

func all(list []bool) bool {
	for _, is := range list {
		if !is {
			return false
		}
	}
	return len(list) > 0
}

// matchMembers matches the members with groups of devices by node and value; a value of 0 is in none.
func (s *bounds) matchMembers(members []member, value func(device int) int) (Conflict, bool) {
	if len(members) == 0 {
		return Conflict{}, false
	}
	g := grouping{s: s.search, value: value, index: map[group]int{}, counts: map[view]map[int]int{}}
	least := members[0].needs
	for i := range members {
		least = min(least, members[i].needs)
		g.look(&members[i], MostResults*len(members))
	}
	m := matching{
		edges: func(left int, visit func(int) bool) {
			counts := g.counts[g.of(&members[left])]
			for i := range g.holds {
				if counts[i] >= members[left].needs && visit(i) {
					return
				}
			}
		},
		holds: func(i int) int {
			if g.shared[i] {
				return len(members)
			}
			return len(g.holds[i]) / least
		},
		owner: make([][]int, len(g.holds)), seen: make([]int, len(g.holds)),
	}
	return m.all(len(members), OfGroups, func(of int) []int { return members[of].claims })
}

// grouping is devices by groups, and for members how many of each group they may have.
type grouping struct {
	s      *search
	value  func(device int) int
	index  map[group]int
	holds  []map[int]bool // by group: its devices
	shared []bool         // by group: some of them are shared
	counts map[view]map[int]int
}

// view is equal for members that may have the same devices.
type view struct{ kind, unit, node int }

func (g *grouping) of(m *member) view {
	unit := &g.s.units[g.s.claims[m.claims[0]].unit]
	return view{m.kind, unit.kind, unit.node}
}

// look counts the devices that a member may have, unless one that may have the same was counted. A shared device counts for as many as there can be.
func (g *grouping) look(m *member, most int) {
	of := g.of(m)
	if g.counts[of] != nil {
		return
	}
	counts, seen := map[int]int{}, map[[2]int]bool{}
	g.counts[of] = counts
	note := func(o *Option, _, node int) bool {
		if g.value(o.Device) == 0 {
			return false
		}
		at := g.at(group{node, g.value(o.Device)})
		g.holds[at][o.Device] = true
		if !seen[[2]int{o.Device, at}] {
			seen[[2]int{o.Device, at}] = true
			counts[at]++
		}
		if g.s.p.Devices[o.Device].Shared {
			g.shared[at], counts[at] = true, most
		}
		return false
	}
	for _, c := range m.claims {
		for r, open := range g.s.claims[c].open {
			if open {
				g.s.each(g.s.claims[c].unit, c, r, note)
			}
		}
	}
}

// at is the index of a group.
func (g *grouping) at(of group) int {
	at, known := g.index[of]
	if !known {
		at = len(g.holds)
		g.index[of] = at
		g.holds, g.shared = append(g.holds, map[int]bool{}), append(g.shared, false)
	}
	return at
}
