package mcmftest

import (
	"errors"
	"fmt"
	"math/big"

	"fairlead.dev/fairlead/mcmf"
)

// Solver is what is tested: *mcmf.Solver, or what wraps one.
type Solver interface {
	Solve(o mcmf.Options) mcmf.Result
	Flow(a mcmf.Arc) int64
	Price(v mcmf.Node) int64
}

// Verify reports the first way in which a result contradicts the network, or nil.
// It proves optimality, a cut, and sums of supplies, in numbers that cannot
// overflow. Whether Overflow was called for it cannot say.
func Verify(g *mcmf.Graph, s Solver, r mcmf.Result) error {
	crossed := mcmf.Arc(mcmf.None)
	for a := range g.ArcBound() {
		if g.HasArc(a) && g.Arc(a).Lower > g.Arc(a).Capacity {
			crossed = a
		}
	}
	sum := new(big.Int)
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			sum.Add(sum, big.NewInt(g.Supply(v)))
		}
	}
	switch {
	case r.Arc != mcmf.None && r.Status != mcmf.Infeasible:
		return fmt.Errorf("%v, but arc %d is to blame", r.Status, r.Arc)
	case r.Status == mcmf.Infeasible && r.Arc != mcmf.None:
		if !g.HasArc(r.Arc) || g.Arc(r.Arc).Lower <= g.Arc(r.Arc).Capacity {
			return fmt.Errorf("the bounds of arc %d are said to cross", r.Arc)
		}
		return nil
	case crossed != mcmf.None:
		return fmt.Errorf("%v, but the bounds of arc %d cross", r.Status, crossed)
	case r.Status == mcmf.Overflow:
		return nil
	case (r.Status == mcmf.Unbalanced) != (sum.Sign() != 0):
		return fmt.Errorf("%v, but the supplies sum to %v", r.Status, sum)
	}
	switch r.Status {
	case mcmf.Optimal:
		return verifyOptimal(g, s, r)
	case mcmf.Infeasible:
		return verifyCut(g, r.Cut)
	case mcmf.Cancelled, mcmf.Exhausted:
		return verifyPartial(g, s, r)
	default:
		return nil
	}
}

// verifyCut proves that no flow exists: what the nodes are given, and must enter
// them, is more than can leave them.
func verifyCut(g *mcmf.Graph, nodes []mcmf.Node) error {
	inside := make([]bool, g.NodeBound())
	given, most := new(big.Int), new(big.Int)
	for _, v := range nodes {
		if !g.HasNode(v) || inside[v] {
			return fmt.Errorf("the cut has node %d, which is not there or is in it already", v)
		}
		inside[v] = true
		given.Add(given, big.NewInt(g.Supply(v)))
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		switch e := g.Arc(a); {
		case inside[e.From] && !inside[e.To]:
			most.Add(most, big.NewInt(e.Capacity))
		case !inside[e.From] && inside[e.To]:
			given.Add(given, big.NewInt(e.Lower))
		}
	}
	if given.Cmp(most) <= 0 {
		return fmt.Errorf("the cut of %d nodes is none: %v is given to them, %v can leave", len(nodes), given, most)
	}
	return nil
}

// verifyOptimal is mcmf.Certify and the cost, in big numbers.
func verifyOptimal(g *mcmf.Graph, s Solver, r mcmf.Result) error {
	cost := new(big.Int)
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e, units := g.Arc(a), s.Flow(a)
		paid, next, last := curveCosts(g, a, units)
		cost.Add(cost, paid)
		slope := new(big.Int).Sub(big.NewInt(s.Price(e.To)), big.NewInt(s.Price(e.From)))
		if units < e.Capacity && next.Add(next, slope).Sign() < 0 {
			return fmt.Errorf("arc %d from %d to %d: one more unit than %d would gain %v", a, e.From, e.To, units, next)
		}
		if units > e.Lower && last.Add(last, slope).Sign() > 0 {
			return fmt.Errorf("arc %d from %d to %d: one unit less than %d would gain %v", a, e.From, e.To, units, last)
		}
	}
	if unrouted, err := excess(g, s); err != nil || unrouted.Sign() != 0 {
		return errors.Join(err, fmt.Errorf("%v units do not arrive", unrouted))
	}
	if !cost.IsInt64() || cost.Int64() != r.Cost {
		return fmt.Errorf("the cost is said to be %d, and is %v", r.Cost, cost)
	}
	return nil
}

// verifyPartial checks a flow that leaves some supply where it is.
func verifyPartial(g *mcmf.Graph, s Solver, r mcmf.Result) error {
	unrouted, err := excess(g, s)
	if err != nil {
		return err
	}
	if !unrouted.IsInt64() || unrouted.Int64() != r.Unrouted {
		return fmt.Errorf("%v: %d units are said to be left, and there are %v", r.Status, r.Unrouted, unrouted)
	}
	return nil
}

// excess is how many units do not leave the nodes that have too many. It checks
// the bounds of all arcs, too.
func excess(g *mcmf.Graph, s Solver) (*big.Int, error) {
	balance := make([]big.Int, g.NodeBound())
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			balance[v].SetInt64(g.Supply(v))
		}
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e, units := g.Arc(a), s.Flow(a)
		if units < e.Lower || units > e.Capacity {
			return new(big.Int), fmt.Errorf("arc %d from %d to %d: flow %d is outside %d to %d", a, e.From, e.To, units, e.Lower, e.Capacity)
		}
		balance[e.From].Sub(&balance[e.From], big.NewInt(units))
		balance[e.To].Add(&balance[e.To], big.NewInt(units))
	}
	total := new(big.Int)
	for v := range balance {
		if balance[v].Sign() > 0 {
			total.Add(total, &balance[v])
		}
	}
	return total, nil
}

// curveCosts is what so many units on an arc cost, what one more would cost, and
// what the last one did.
func curveCosts(g *mcmf.Graph, a mcmf.Arc, units int64) (paid, next, last *big.Int) {
	steps := g.Curve(a)
	if steps == nil || units < 0 {
		cost := big.NewInt(g.Arc(a).Cost)
		return new(big.Int).Mul(cost, big.NewInt(units)), cost, new(big.Int).Set(cost)
	}
	paid, next, last = new(big.Int), big.NewInt(steps[len(steps)-1].Cost), big.NewInt(steps[0].Cost)
	left := units
	for _, step := range steps {
		in := min(left, step.Capacity)
		paid.Add(paid, new(big.Int).Mul(big.NewInt(in), big.NewInt(step.Cost)))
		if in > 0 {
			last.SetInt64(step.Cost)
		}
		if left -= in; in < step.Capacity {
			next.SetInt64(step.Cost)
			break
		}
	}
	return paid, next, last
}

// Clone is a copy of a network whose nodes and arcs are numbered from 0, without
// those that were removed.
func Clone(g *mcmf.Graph) *mcmf.Graph {
	c := mcmf.NewGraph(int(g.NodeBound()), int(g.ArcBound()))
	node := make([]mcmf.Node, g.NodeBound())
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			node[v] = c.AddNode(g.Supply(v))
		}
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e := g.Arc(a)
		if steps := g.Curve(a); steps != nil {
			c.AddCurve(node[e.From], node[e.To], e.Lower, steps)
		} else {
			c.AddArc(node[e.From], node[e.To], e.Lower, e.Capacity, e.Cost)
		}
	}
	return c
}
