package devices

import "slices"

// The search takes pods in turn, the one with the fewest devices to choose from first, tries its nodes, and on each of these devices for each request of
// its claims, again the request with the fewest first. Before it goes on it asks the bounds whether what is left can still be had. It goes on until all have
// devices, or all branches are tried, so that within its budget it is exact.

// search is a problem with a part of its claims assigned.
type search struct {
	p       *Problem
	units   []unit
	claims  []claim
	devices []use     // by device
	left    []int64   // of each counter
	room    [][]int64 // by node
	alike   alike
	bounds  bounds
	ticks   int64
	budget  int64
}

// claim is what a claim has so far.
type claim struct {
	open   []bool // by request: it has no devices yet
	grants []Grant
	unit   int
}

// use is how a device is used.
type use struct {
	granted int     // how often, by this search
	left    []int64 // of a shared device's capacity
}

func newSearch(p *Problem, budget int64) *search {
	s := &search{p: p, units: unitsOf(p), claims: make([]claim, len(p.Claims)), devices: make([]use, len(p.Devices)), budget: budget}
	for u := range s.units {
		for _, c := range s.units[u].claims {
			s.claims[c] = claim{open: make([]bool, len(p.Claims[c].Requests)), unit: u}
			for r := range s.claims[c].open {
				s.claims[c].open[r] = true
			}
		}
	}
	for d := range p.Devices {
		s.devices[d].left = slices.Clone(p.Devices[d].Left)
	}
	for _, c := range p.Counters {
		s.left = append(s.left, c.Left)
	}
	for _, n := range p.Nodes {
		s.room = append(s.room, slices.Clone(n.Room))
	}
	s.bounds.search = s
	s.bounds.draws = s.bounds.leastDraws()
	return s
}

// over reports whether the budget has ended.
func (s *search) over() bool { return s.ticks >= s.budget }

// descend completes the assignment, and reports whether it could. If not, all is as before.
func (s *search) descend() bool {
	s.ticks++
	if s.over() {
		return false
	}
	u, c, r := s.next()
	switch {
	case u < 0:
		return true
	case s.units[u].node < 0:
		return s.place(u)
	}
	for a := range s.p.Claims[c].Requests[r].Alternatives {
		if s.satisfy(c, r, a) {
			return true
		}
	}
	return false
}

// next is the unit to be placed, or the request to be satisfied next; a negative unit if all are. A unit is completed before another is begun, and before those that
// follow its claims.
func (s *search) next() (u, c, r int) {
	u, fewest := -1, 0
	for i := range s.units {
		here, slack := s.units[i].node >= 0, 0
		if here && !s.isOpen(i) || u >= 0 && s.units[u].node >= 0 && !here || !here && !s.led(i) {
			continue
		}
		ci, ri, slack := s.tightest(i)
		if u < 0 || here && s.units[u].node < 0 || slack < fewest {
			u, c, r, fewest = i, ci, ri, slack
		}
	}
	return u, c, r
}

// led reports whether the units are placed whose claims the unit follows.
func (s *search) led(u int) bool {
	return !slices.ContainsFunc(s.units[u].follows, func(c int) bool { return s.units[s.claims[c].unit].node < 0 })
}

// isOpen reports whether a claim of the unit lacks devices.
func (s *search) isOpen(u int) bool {
	return slices.ContainsFunc(s.units[u].claims, func(c int) bool { return slices.Contains(s.claims[c].open, true) })
}

// manyOptions are as many as need not be told from more.
const manyOptions = 64

// tightest is the request of the unit that has the fewest devices to choose from, beyond what it needs.
func (s *search) tightest(u int) (c, r, slack int) {
	c, r, slack = -1, -1, manyOptions+1
	for _, ci := range s.units[u].claims {
		for ri, open := range s.claims[ci].open {
			if !open {
				continue
			}
			has := 0
			s.each(u, ci, ri, func(*Option, int, int) bool { has++; return has >= manyOptions })
			if few := has - s.least(ci, ri); few < slack {
				c, r, slack = ci, ri, few
			}
		}
	}
	return c, r, slack
}

// least is how many devices the request takes at least.
func (s *search) least(c, r int) int {
	least := MostResults
	for i := range s.p.Claims[c].Requests[r].Alternatives {
		least = min(least, max(s.p.Claims[c].Requests[r].Alternatives[i].Count, 1))
	}
	return least
}

// each calls f with the devices that the request may have as things stand, wherever its unit may stand, until that returns true. A device is
// named for each way to have it.
func (s *search) each(u, c, r int, f func(o *Option, alternative, node int) bool) {
	nodes := s.units[u].nodes
	if node := s.units[u].node; node >= 0 {
		nodes = []int{node}
	}
	for a := range s.p.Claims[c].Requests[r].Alternatives {
		alternative := &s.p.Claims[c].Requests[r].Alternatives[a]
		for _, n := range nodes {
			for i := range alternative.Options[n] {
				o := &alternative.Options[n][i]
				s.ticks++
				if s.usable(c, r, a, o) && f(o, a, n) {
					return
				}
			}
		}
	}
}

// place tries the nodes of a unit.
func (s *search) place(u int) bool {
	unit := &s.units[u]
	for at := s.firstNode(u); at < len(unit.nodes) && !s.over(); at++ {
		n := unit.nodes[at]
		if !s.fits(unit, n) || !s.reaches(unit, n) {
			continue
		}
		s.enter(unit, n, at, 1)
		if s.mayGoOn() && s.descend() {
			return true
		}
		s.enter(unit, n, at, -1)
		unit.node = -1
	}
	return false
}

// fits reports whether the node has room for the unit.
func (s *search) fits(u *unit, n int) bool {
	for k, amount := range u.demand {
		if k < len(s.room[n]) && amount > s.room[n][k] {
			return false
		}
	}
	return true
}

// reaches reports whether the devices that the followed claims have so far can be reached from the node.
func (s *search) reaches(u *unit, n int) bool {
	for _, c := range u.follows {
		for _, g := range s.claims[c].grants {
			a := &s.p.Claims[c].Requests[g.Request].Alternatives[g.Alternative]
			s.ticks++
			if a.Count == 0 && len(a.Options[n]) != len(a.Options[s.units[s.claims[c].unit].node]) ||
				!slices.ContainsFunc(a.Options[n], func(o Option) bool { return o.Device == g.Device }) {
				return false
			}
		}
	}
	return true
}

// enter takes the room of the unit, or gives it back.
func (s *search) enter(u *unit, n, at int, sign int64) {
	u.node, u.at = n, at
	for k, amount := range u.demand {
		if k < len(s.room[n]) {
			s.room[n][k] -= sign * amount
		}
	}
}

// mayGoOn reports whether no bound says that the rest cannot be had.
func (s *search) mayGoOn() bool {
	_, fails := s.bounds.bound()
	return !fails
}

// satisfy tries all ways to have devices by the alternative.
func (s *search) satisfy(c, r, a int) bool {
	options := s.p.Claims[c].Requests[r].Alternatives[a].Options[s.units[s.claims[c].unit].node]
	count := s.p.Claims[c].Requests[r].Alternatives[a].Count
	if count == 0 {
		return s.takeAll(c, r, a, options)
	}
	if len(s.claims[c].grants)+count > MostResults {
		return false
	}
	return s.choose(c, r, a, options, count)
}

// takeAll gives all options to the request.
func (s *search) takeAll(c, r, a int, options []Option) bool {
	if len(options) == 0 || len(s.claims[c].grants)+len(options) > MostResults {
		return false
	}
	taken := 0
	for i := range options {
		if !s.usable(c, r, a, &options[i]) {
			break
		}
		s.grant(c, r, a, &options[i], 1)
		taken++
	}
	if taken == len(options) && s.close(c, r) {
		return true
	}
	for i := taken - 1; i >= 0; i-- {
		s.grant(c, r, a, &options[i], -1)
	}
	return false
}

// choose gives the request as many of the options as it lacks, in their order, in all ways that are not alike.
func (s *search) choose(c, r, a int, options []Option, lacks int) bool {
	if lacks == 0 {
		return s.close(c, r)
	}
	first := len(s.claims[c].grants) == 0
	for i := 0; i+lacks <= len(options) && !s.over(); i++ {
		o := &options[i]
		s.ticks++
		if !s.usable(c, r, a, o) || first && s.before(c, a, o) || s.tried(spot{c, r, a}, options[:i], o) {
			continue
		}
		s.grant(c, r, a, o, 1)
		if s.choose(c, r, a, options[i+1:], lacks-1) {
			return true
		}
		s.grant(c, r, a, o, -1)
	}
	return false
}

// close goes on with what is left after the request.
func (s *search) close(c, r int) bool {
	s.claims[c].open[r] = false
	if s.mayGoOn() && s.descend() {
		return true
	}
	s.claims[c].open[r] = true
	return false
}

// usable reports whether the request may have the device as things stand.
func (s *search) usable(c, r, a int, o *Option) bool {
	d, is := &s.p.Devices[o.Device], &s.devices[o.Device]
	switch {
	case o.Barred || d.Taken, !d.Shared && is.granted > 0:
		return false
	case d.Shared:
		for k, amount := range o.Takes {
			if amount > is.left[k] {
				return false
			}
		}
	}
	if !d.Drawn && is.granted == 0 && !s.drawable(d) {
		return false
	}
	for i := range s.p.Claims[c].Constraints {
		if !s.agrees(c, &s.p.Claims[c].Constraints[i], r, a, o.Device) {
			return false
		}
	}
	return true
}

// drawable reports whether the counters have what the device draws.
func (s *search) drawable(d *Device) bool {
	for _, draw := range d.Draws {
		if draw.Amount > s.left[draw.Counter] {
			return false
		}
	}
	return true
}

// agrees reports whether the constraint admits the device beside those that the claim has.
func (s *search) agrees(c int, constraint *Constraint, r, a, device int) bool {
	if !constraint.Covers[r][a] {
		return true
	}
	value := constraint.Values[device]
	if value == 0 {
		return false
	}
	for _, g := range s.claims[c].grants {
		if constraint.Covers[g.Request][g.Alternative] && (constraint.Values[g.Device] == value) == constraint.Distinct {
			return false
		}
	}
	return true
}

// grant gives the device to the request, or takes back what was given to it last.
func (s *search) grant(c, r, a int, o *Option, sign int) {
	d, is := &s.p.Devices[o.Device], &s.devices[o.Device]
	if sign > 0 {
		s.claims[c].grants = append(s.claims[c].grants, Grant{r, a, o.Device})
	} else {
		s.claims[c].grants = s.claims[c].grants[:len(s.claims[c].grants)-1]
	}
	if sign < 0 {
		is.granted--
	}
	if is.granted == 0 && !d.Drawn {
		for _, draw := range d.Draws {
			s.left[draw.Counter] -= int64(sign) * draw.Amount
		}
	}
	if sign > 0 {
		is.granted++
	}
	for k, amount := range o.Takes {
		if d.Shared {
			is.left[k] -= int64(sign) * amount
		}
	}
}
