package devices

import "math/rand/v2"

// chance makes small problems of all kinds of devices, claims and constraints.
type chance struct {
	*rand.Rand
	p *Problem
}

// makeProblem makes a problem that is small enough to try everything.
func makeProblem(r *rand.Rand) *Problem {
	c := chance{r, &Problem{}}
	for range 1 + c.IntN(3) {
		var n Node
		if c.IntN(3) == 0 {
			n.Room = []int64{int64(c.IntN(5))}
		}
		c.p.Nodes = append(c.p.Nodes, n)
	}
	for range c.IntN(3) {
		c.p.Counters = append(c.p.Counters, Counter{Left: int64(c.IntN(5)), Kind: c.IntN(2)})
	}
	for range 1 + c.IntN(6) {
		c.p.Devices = append(c.p.Devices, c.device())
	}
	at := make([][]int, len(c.p.Nodes)) // which devices can be reached
	wide, shared := []int{12, 2, 1}[c.IntN(3)], []int{8, 2}[c.IntN(2)]
	for d := range c.p.Devices {
		n := c.IntN(len(c.p.Nodes))
		at[n] = append(at[n], d)
		for other := range at {
			if other != n && c.IntN(wide) == 0 {
				at[other] = append(at[other], d)
			}
		}
	}
	shape := c.claim(at)
	for range 1 + c.IntN(4) {
		if c.IntN(2) == 0 {
			shape = c.claim(at)
		}
		c.p.Claims = append(c.p.Claims, shape)
	}
	c.pods(shared)
	return c.p
}

func (c *chance) device() Device {
	d := Device{Taken: c.IntN(8) == 0, Shared: c.IntN(5) == 0}
	if d.Shared {
		d.Taken, d.Drawn, d.Left = false, c.IntN(2) == 0, []int64{int64(c.IntN(4))}
	}
	for i := range c.p.Counters {
		if c.IntN(2) == 0 {
			d.Draws = append(d.Draws, Draw{i, int64(1 + c.IntN(2))})
		}
	}
	return d
}

// claim has one or two requests, mostly of one device each, and sometimes a constraint.
func (c *chance) claim(at [][]int) Claim {
	var claim Claim
	for range 1 + c.IntN(5)/4 {
		var r Request
		for range 1 + c.IntN(3)/2 {
			r.Alternatives = append(r.Alternatives, c.alternative(at))
		}
		claim.Requests = append(claim.Requests, r)
	}
	if c.IntN(3) == 0 {
		constraint := Constraint{Distinct: c.IntN(2) == 0}
		for range c.p.Devices {
			constraint.Values = append(constraint.Values, max(c.IntN(5)-1, 0))
		}
		for _, r := range claim.Requests {
			covers := make([]bool, len(r.Alternatives))
			for i := range covers {
				covers[i] = c.IntN(4) > 0
			}
			constraint.Covers = append(constraint.Covers, covers)
		}
		claim.Constraints = append(claim.Constraints, constraint)
	}
	return claim
}

func (c *chance) alternative(at [][]int) Alternative {
	a := Alternative{Count: []int{1, 1, 1, 2, 3, 0}[c.IntN(6)]}
	few := c.IntN(2) == 0
	var had []Option // by device; the same on all nodes
	for d := range c.p.Devices {
		o := Option{Device: d, Barred: a.Count == 0 && c.IntN(10) == 0}
		if c.p.Devices[d].Shared {
			o.Takes = []int64{int64(c.IntN(3))}
		}
		had = append(had, o)
	}
	for _, devices := range at {
		var options []Option
		for _, d := range devices {
			if !few || c.IntN(2) == 0 {
				options = append(options, had[d])
			}
		}
		a.Options = append(a.Options, options)
	}
	return a
}

// pods share the claims out; now and then, or often, two pods share one.
func (c *chance) pods(shared int) {
	all := make([]int, len(c.p.Nodes))
	for n := range all {
		all[n] = n
	}
	for claim := range c.p.Claims {
		if last := len(c.p.Pods) - 1; last >= 0 && c.IntN(4) == 0 {
			c.p.Pods[last].Claims = append(c.p.Pods[last].Claims, claim)
			continue
		}
		pod := Pod{Nodes: all, Demand: []int64{int64(c.IntN(3))}, Claims: []int{claim}}
		if c.IntN(min(shared, 4)) == 0 {
			pod.Nodes = []int{c.IntN(len(all))}
		}
		if claim > 0 && c.IntN(shared) == 0 {
			pod.Claims = append(pod.Claims, c.IntN(claim))
		}
		c.p.Pods = append(c.p.Pods, pod)
	}
	if c.IntN(shared) == 0 { // one has nothing of its own
		c.p.Pods = append(c.p.Pods, Pod{Nodes: []int{c.IntN(len(all))}, Demand: []int64{1}, Claims: c.Perm(len(c.p.Claims))[:1]})
	}
}
