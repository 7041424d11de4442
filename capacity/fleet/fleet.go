// Package fleet chooses nodes to buy: how many of which offers hold all tasks at the least price, with a bound that
// is proved. Offers have a price each, and may be from several providers; tasks may use some of them only.
//
// # How
//
// The bound comes first (bound.go). Each offer spreads its price over what it has: its cores, its memory, its devices, and
// dual feasible functions of them, which see that two pods of 60 % do not share a node. A task costs, at least, what
// it takes of that where it is cheapest. For whatever spread of prices, the sum over all tasks is a bound; ascent finds
// a good one, and with it what each task is worth.
//
// Nodes are then filled one after the other (fill.go): of each offer a node is filled with the tasks that are worth the most
// beside what is in it, and the offer is taken whose node holds the most for its price; as often as there are
// tasks for it. Worths are found anew as tasks become few. What is nearly empty at the end is improved (improve.go): tasks of
// one node go to others, two nodes become one, and a node becomes a cheaper one.
package fleet

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
)

// Problem is what is to be held, and what is on offer.
type Problem struct {
	Kinds  []cluster.Kind
	Offers []Offer
	Tasks  []Tasks
	// Rules keep tasks off the nodes of others.
	Rules []Rule
}

// Offer is a kind of node.
type Offer struct {
	Name string
	// Room is what a node of it has for tasks, without what comes along with it.
	Room cluster.Vector
	// Price is that of a node, in any unit, more than 0.
	Price int64
	// Most is how many nodes there are of it; 0 is no limit.
	Most int
}

// Tasks are tasks that nothing distinguishes.
type Tasks struct {
	Count  int
	Demand cluster.Vector
	// May says which offers they may use; nil is all.
	May []bool
	// PerNode is how many tasks of the Job a node may hold, these included; 0 is no limit.
	PerNode int
	Job     int
	// Subject and Target are the rules that they are bound by, and of which they are counted, by their index, sorted.
	Subject, Target []int
}

// Rule is how many others, of those that are its targets, a node may hold beside one of its subjects.
type Rule struct{ Max int }

// Plan is which nodes to buy, and what they hold.
type Plan struct {
	Nodes []Node
	// Price is that of all nodes, and Bound what any nodes cost that hold the same tasks.
	Price int64
	Bound float64
	// Left are how many of each Tasks found no node: no offer is large enough, or none is left.
	Left []int
	// Ticks is the effort, in tasks that were looked at for a node.
	Ticks int64
}

// Node is a node of an offer, with what it holds.
type Node struct {
	Offer int
	Holds []Held
}

// Held is how many of some tasks a node holds.
type Held struct{ Tasks, Count int }

// Gap is by which part of the bound the price could be above the least.
func (p *Plan) Gap() float64 {
	if p.Bound <= 0 {
		return 0
	}
	return float64(p.Price)/p.Bound - 1
}

// Validate says what is wrong with the problem.
func (p *Problem) Validate() error {
	for i := range p.Offers {
		o := &p.Offers[i]
		switch {
		case len(o.Room) != len(p.Kinds):
			return fmt.Errorf("offer %s has %d kinds, want %d", o.Name, len(o.Room), len(p.Kinds))
		case o.Price < 1 || o.Price > MaxPrice:
			return fmt.Errorf("offer %s: price is %d, want 1 to %d", o.Name, o.Price, int64(MaxPrice))
		case o.Most < 0:
			return fmt.Errorf("offer %s: most is %d, want at least 0", o.Name, o.Most)
		}
	}
	return nil
}

// MaxPrice is the largest price of an offer.
const MaxPrice = 1 << 40

// Solve chooses nodes.
func Solve(p *Problem) (Plan, error) {
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	s := newSolver(p)
	s.fillBest()
	s.improve()
	return s.plan(), nil
}
