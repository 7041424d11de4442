package devices

import (
	"errors"
	"fmt"
	"slices"
)

// Check holds an assignment against the problem, and returns what is wrong with it first. It goes by the problem alone, and adds up anew what the search
// keeps up to date.
func Check(p *Problem, nodes []int, grants [][]Grant) error {
	if len(nodes) != len(p.Pods) || len(grants) != len(p.Claims) {
		return fmt.Errorf("devices: %d pods and %d claims are assigned, want %d and %d", len(nodes), len(grants), len(p.Pods), len(p.Claims))
	}
	c := checker{p: p, users: make([]int, len(p.Devices)), drawn: make([]int64, len(p.Counters)), taken: map[int][]int64{}}
	if err := c.pods(nodes); err != nil {
		return err
	}
	for i, pod := range p.Pods {
		for _, claim := range pod.Claims {
			if err := c.reaches(claim, nodes[i], grants[claim]); err != nil {
				return fmt.Errorf("devices: pod %d on node %d: %w", i, nodes[i], err)
			}
		}
	}
	for claim := range p.Claims {
		if !slices.ContainsFunc(p.Pods, func(pod Pod) bool { return slices.Contains(pod.Claims, claim) }) {
			continue // nobody wants it
		}
		node := nodes[slices.IndexFunc(p.Pods, func(pod Pod) bool { return slices.Contains(pod.Claims, claim) })]
		if err := c.claim(&p.Claims[claim], node, grants[claim]); err != nil {
			return fmt.Errorf("devices: claim %d: %w", claim, err)
		}
	}
	return c.totals()
}

// checker adds up what is used.
type checker struct {
	p     *Problem
	users []int           // by device
	drawn []int64         // by counter
	taken map[int][]int64 // of shared devices' capacity
}

// pods holds the nodes of the pods against their candidates and the room.
func (c *checker) pods(nodes []int) error {
	used := map[[2]int]int64{}
	for i, pod := range c.p.Pods {
		if !slices.Contains(pod.Nodes, nodes[i]) {
			return fmt.Errorf("devices: pod %d stands on node %d, where it may not", i, nodes[i])
		}
		for k, amount := range pod.Demand {
			used[[2]int{nodes[i], k}] += amount
			if room := c.p.Nodes[nodes[i]].Room; k < len(room) && amount > 0 && used[[2]int{nodes[i], k}] > room[k] {
				return fmt.Errorf("devices: pods on node %d take %d of resource %d, of which %d are left", nodes[i], used[[2]int{nodes[i], k}], k, room[k])
			}
		}
	}
	return nil
}

// reaches reports an error where a device of the claim is not one that it may have on the node, or a request for all devices would have others there.
func (c *checker) reaches(claim, node int, grants []Grant) error {
	has := map[int]int{} // by request
	for _, g := range grants {
		has[g.Request]++
	}
	for _, g := range grants {
		a := &c.p.Claims[claim].Requests[g.Request].Alternatives[g.Alternative]
		options := a.Options[node]
		if a.Count == 0 && len(options) != has[g.Request] {
			return fmt.Errorf("claim %d has %d devices for request %d, want all %d there", claim, has[g.Request], g.Request, len(options))
		}
		if !slices.ContainsFunc(options, func(o Option) bool { return o.Device == g.Device && !o.Barred }) {
			return fmt.Errorf("claim %d has device %d for request %d, which it may not have there", claim, g.Device, g.Request)
		}
	}
	return nil
}

// claim holds the devices of one claim against its requests and constraints, and counts them.
func (c *checker) claim(claim *Claim, node int, grants []Grant) error {
	if len(grants) > MostResults {
		return fmt.Errorf("it has %d devices, more than %d", len(grants), MostResults)
	}
	for r := range claim.Requests {
		if err := c.request(claim, r, node, grants); err != nil {
			return fmt.Errorf("request %d: %w", r, err)
		}
	}
	for i := range claim.Constraints {
		if err := constrained(&claim.Constraints[i], grants); err != nil {
			return fmt.Errorf("constraint %d: %w", i, err)
		}
	}
	return nil
}

// request holds the devices of one request against what it asks for, and counts them.
func (c *checker) request(claim *Claim, r, node int, grants []Grant) error {
	var has []int
	by := -1
	for _, g := range grants {
		if g.Request != r {
			continue
		}
		if by >= 0 && by != g.Alternative {
			return fmt.Errorf("it is satisfied by the alternatives %d and %d", by, g.Alternative)
		}
		if slices.Contains(has, g.Device) {
			return fmt.Errorf("it has device %d twice", g.Device)
		}
		by, has = g.Alternative, append(has, g.Device)
	}
	if by < 0 {
		return errors.New("it has no device")
	}
	a := &claim.Requests[r].Alternatives[by]
	want := a.Count
	if want == 0 {
		want = len(a.Options[node])
	}
	if len(has) != want {
		return fmt.Errorf("it has %d devices, want %d", len(has), want)
	}
	for _, o := range a.Options[node] {
		if slices.Contains(has, o.Device) {
			c.count(&o)
		}
	}
	return nil
}

// constrained holds each two of the devices that a constraint covers against it.
func constrained(constraint *Constraint, grants []Grant) error {
	var values []int
	for _, g := range grants {
		if constraint.Covers[g.Request][g.Alternative] {
			values = append(values, constraint.Values[g.Device])
		}
	}
	for i, v := range values {
		for _, other := range values[:i] {
			if (v == other) == constraint.Distinct {
				return fmt.Errorf("two devices have the values %d and %d", other, v)
			}
		}
		if v == 0 {
			return errors.New("a device lacks the attribute")
		}
	}
	return nil
}

// count adds what a use of a device takes.
func (c *checker) count(o *Option) {
	d := &c.p.Devices[o.Device]
	if c.users[o.Device]++; c.users[o.Device] == 1 && !d.Drawn {
		for _, draw := range d.Draws {
			c.drawn[draw.Counter] += draw.Amount
		}
	}
	if !d.Shared {
		return
	}
	if c.taken[o.Device] == nil {
		c.taken[o.Device] = make([]int64, len(d.Left))
	}
	for k, amount := range o.Takes {
		c.taken[o.Device][k] += amount
	}
}

// totals holds what was counted against what there is.
func (c *checker) totals() error {
	for d, users := range c.users {
		device := &c.p.Devices[d]
		if users > 0 && device.Taken || users > 1 && !device.Shared {
			return fmt.Errorf("devices: device %d is used %d times more than it may be", d, users)
		}
		for k, amount := range c.taken[d] {
			if amount > device.Left[k] {
				return fmt.Errorf("devices: %d of capacity %d are taken of device %d, which has %d left", amount, k, d, device.Left[k])
			}
		}
	}
	for i, amount := range c.drawn {
		if amount > 0 && amount > c.p.Counters[i].Left {
			return fmt.Errorf("devices: %d are drawn of counter %d, which has %d left", amount, i, c.p.Counters[i].Left)
		}
	}
	return nil
}
