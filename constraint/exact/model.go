package exact

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file is what every model has: units of containers, a column for each unit and node
// that says how many of it stand there, and applications that are placed whole.

// Scope says what of a problem a model decides.
type Scope struct {
	// Base is where the containers are that the model does not decide.
	Base constraint.Assignment
	// Free says which containers it decides, by container; nil is all. Those that are
	// Fixed are never free.
	Free []bool
	// Nodes are those on which free containers may stand, ascending; nil is all. A free
	// container that runs must be able to stay, or to go to another of them.
	Nodes []int32
	// Levels is how many steps of extent each side of a bound has at most; 0 is as many as it
	// takes. With too few the model is a relaxation: a placement costs no less than it says.
	Levels int32
	// Relaxed are hard constraints that the model may break for a price of 1 each, by
	// constraint; nil is none. Model.Broken are the columns that say so.
	Relaxed []bool
}

// Model is a problem, or a part of one, as an integer program: what a placement costs there and
// Constant are together what constraint.Evaluate says.
type Model struct {
	ilp.Model
	Constant int64
	// Cut says that Scope.Levels left steps out.
	Cut bool
	// Broken are the columns of Scope.Relaxed, by constraint; absent where there is none.
	Broken []int32

	problem *constraint.Problem
	scope   Scope
	nodes   []int32 // the candidates, ascending
	where   []int32 // by node: its place among the candidates, absent if it is none
	units   []unit
	column  []int32 // by unit and candidate: how many of the unit stand there; absent if none can
	home    []int32 // by unit and candidate: how many of the unit run there
	unitOf  []int32 // by container; absent if it is not free
	owner   []int32 // by row: the column whose value it defines, else absent
	rule    []rule  // by column
	// chosen are the columns of alternatives, devices those of devices.
	chosen  []choice
	devices []deviceColumn
	placed  []int32 // by application: the column that says whether it is placed, else absent
}

// absent stands where there is no column, or no place.
const absent int32 = -1

// unit is a number of free containers that a model does not tell apart.
type unit struct {
	shape   int32
	members []int32 // ascending
	running int32   // how many of them are on a node, and must be on one
}

// rule says where the value of a column comes from, once a placement is known.
type rule uint8

const (
	given    rule = iota // by the placement
	smallest             // the smallest that the rows hold with which it owns
	largest              // the largest such
)

// choice is a column that says which alternative of a constraint is chosen.
type choice struct{ column, constraint, alternative int32 }

// builder builds a model, but for its constraints.
type builder struct {
	rows
	p        *constraint.Problem
	literal  bool
	room     []int64   // by candidate and kind: what is there for free containers
	fixed    [][]int32 // by shape: the nodes of its containers that are not free
	unitsOf  [][]int32 // by shape
	standing []int32   // by node: how many containers that are not free stand there
	comers   []bool    // by candidate and kind: one that is not free comes and asks for it
}

// rows builds a model's rows, one after the other.
type rows struct {
	*Model
	terms []ilp.Term // of the row that is being built
}

// Aggregated is the model by counts: of containers that nothing distinguishes it knows how
// many stand where.
func Aggregated(p *constraint.Problem, scope Scope) *Model { return build(p, scope, false) }

// Literal is Medea's model (its section 5): a column for every container and node, and a row
// for every bound, subject and set.
func Literal(p *constraint.Problem, scope Scope) *Model { return build(p, scope, true) }

func build(p *constraint.Problem, scope Scope, literal bool) *Model {
	b := newBuilder(p, scope, literal)
	b.addPlacement()
	b.addApplications()
	b.addRoom()
	b.addDevices()
	b.addPerNode()
	b.addNodes()
	b.addMoves()
	newBinder(b).addConstraints()
	return b.Model
}

// newBuilder finds what the rows are made from.
func newBuilder(p *constraint.Problem, scope Scope, literal bool) *builder {
	b := &builder{
		rows: rows{Model: &Model{problem: p, scope: scope, nodes: scope.Nodes}}, p: p, literal: literal,
	}
	if b.nodes == nil {
		for n := range p.Nodes {
			b.nodes = append(b.nodes, int32(n))
		}
	}
	b.where = filled(len(p.Nodes))
	for i, n := range b.nodes {
		b.where[n] = int32(i)
	}
	b.findUnits()
	b.findHomes()
	b.findRoom()
	return b
}

func filled(length int) []int32 {
	list := make([]int32, length)
	for i := range list {
		list[i] = absent
	}
	return list
}

func (m *Model) free(container int) bool {
	return !m.problem.Containers[container].Fixed && (m.scope.Free == nil || m.scope.Free[container])
}

// findUnits puts free containers together that are of one shape. Those that hold devices are
// told apart by what they hold, as leaving gives back just that.
func (b *builder) findUnits() {
	type key struct {
		shape, at int32
		devices   cluster.DeviceSet
		container int32
	}
	known := map[key]int32{}
	b.unitOf = filled(len(b.p.Containers))
	b.unitsOf, b.fixed = make([][]int32, len(b.p.Shapes)), make([][]int32, len(b.p.Shapes))
	for i := range b.p.Containers {
		c := &b.p.Containers[i]
		if !b.free(i) {
			if node := b.scope.Base[i]; node != constraint.Nowhere {
				b.fixed[c.Shape] = append(b.fixed[c.Shape], node)
			}
			continue
		}
		k := key{shape: c.Shape, at: absent, container: absent}
		switch {
		case b.literal:
			k.container = int32(i)
		case len(b.p.Shapes[c.Shape].Needs) > 0:
			k.at, k.devices = c.At, c.Devices
		}
		u, ok := known[k]
		if !ok {
			u = int32(len(b.units))
			known[k] = u
			b.units = append(b.units, unit{shape: c.Shape})
			b.unitsOf[c.Shape] = append(b.unitsOf[c.Shape], u)
		}
		b.unitOf[i] = u
		b.units[u].members = append(b.units[u].members, int32(i))
		if c.At != constraint.Nowhere {
			b.units[u].running++
		}
	}
}

// findHomes counts how many of each unit run on each candidate.
func (b *builder) findHomes() {
	b.home = make([]int32, len(b.units)*len(b.nodes))
	for u := range b.units {
		for _, c := range b.units[u].members {
			if at := b.p.Containers[c].At; at != constraint.Nowhere && b.where[at] != absent {
				b.home[u*len(b.nodes)+int(b.where[at])]++
			}
		}
	}
}

// addColumn is ilp.Model's, with where its value comes from.
func (r *rows) addColumn(upper float64, cost int64, kind ilp.Kind, by rule) int32 {
	r.rule = append(r.rule, by)
	return r.AddColumn(0, upper, float64(cost), kind)
}

// add adds a term to the row that is being built.
func (r *rows) add(column int32, value int64) {
	if column != absent && value != 0 {
		r.terms = append(r.terms, ilp.Term{Column: column, Value: float64(value)})
	}
}

// atMost and atLeast end the row that is being built. Its owner is the column whose value it
// defines, if it does.
func (r *rows) atMost(limit int64, owner int32) { r.endRow(math.Inf(-1), float64(limit), owner) }

func (r *rows) atLeast(limit int64, owner int32) { r.endRow(float64(limit), math.Inf(1), owner) }

func (r *rows) endRow(lower, upper float64, owner int32) {
	// A column may have come twice: once for each part that it plays.
	slices.SortStableFunc(r.terms, func(x, y ilp.Term) int { return cmp.Compare(x.Column, y.Column) })
	kept := r.terms[:0]
	for _, t := range r.terms {
		if last := len(kept) - 1; last >= 0 && kept[last].Column == t.Column {
			kept[last].Value += t.Value
		} else {
			kept = append(kept, t)
		}
	}
	kept = slices.DeleteFunc(kept, func(t ilp.Term) bool { return t.Value == 0 })
	r.AddRow(lower, upper, kept...)
	r.owner = append(r.owner, owner)
	r.terms = r.terms[:0]
}

// at is the column of the unit on the candidate.
func (m *Model) at(unit, candidate int32) int32 {
	return m.column[int(unit)*len(m.nodes)+int(candidate)]
}

// stays is how many of the unit run on the candidate.
func (m *Model) stays(unit, candidate int32) int64 {
	return int64(m.home[int(unit)*len(m.nodes)+int(candidate)])
}

// most is how many of the unit the column lets stand there.
func (m *Model) most(column int32) int64 {
	if column == absent {
		return 0
	}
	return int64(m.Upper[column])
}

// addPlacement adds the columns that are the placement.
func (b *builder) addPlacement() {
	b.column = filled(len(b.units) * len(b.nodes))
	for u := range b.units {
		for i := range b.nodes {
			if most := b.mostOf(int32(u), int32(i)); most > 0 {
				b.column[u*len(b.nodes)+i] = b.addColumn(float64(most), 0, ilp.Integer, given)
			}
		}
	}
}

// mostOf is how many of the unit could stand on the candidate, were nobody else free.
func (b *builder) mostOf(u, candidate int32) int64 {
	shape, node := &b.p.Shapes[b.units[u].shape], &b.p.Nodes[b.nodes[candidate]]
	stays, most := b.stays(u, candidate), int64(len(b.units[u].members))
	if shape.Eligible != nil && !shape.Eligible[b.nodes[candidate]] || !node.HasDevices(shape.Needs) {
		return stays
	}
	for k, q := range shape.Demand {
		if q > 0 {
			most = min(most, max(b.left(candidate, k), 0)/q)
		}
	}
	if shape.PerNode > 0 {
		most = min(most, int64(shape.PerNode))
	}
	return max(most, stays)
}

// addApplications says that applications are placed whole, that whoever runs is somewhere, and
// how many are loose.
func (b *builder) addApplications() {
	b.placed = filled(len(b.p.Applications))
	state := b.settled()
	for a := range b.p.Applications {
		if state[a] == undecided {
			b.placed[a] = b.addColumn(1, -b.p.Objective.Unplaced, ilp.Integer, given)
		}
		if state[a] == undecided || state[a] == out {
			b.Constant += b.p.Objective.Unplaced
		}
	}
	for i, u := range b.unitOf {
		app := b.p.Shapes[b.p.Containers[i].Shape].Application
		if u == absent && b.scope.Base[i] == constraint.Nowhere && state[app] == partly {
			b.Constant += b.p.Objective.Loose
		}
	}
	for u := range b.units {
		unit, app := &b.units[u], b.p.Shapes[b.units[u].shape].Application
		for i := range b.nodes {
			b.add(b.at(int32(u), int32(i)), 1)
		}
		size := int64(len(unit.members))
		switch {
		case b.placed[app] != absent:
			b.add(b.placed[app], -size)
			b.endRow(0, 0, absent)
		case state[app] == partly && int64(unit.running) < size:
			loose := b.addColumn(float64(size-int64(unit.running)), b.p.Objective.Loose, ilp.Continuous, smallest)
			b.add(loose, 1)
			b.endRow(float64(size), float64(size), loose)
		case state[app] == out:
			b.endRow(0, 0, absent)
		default:
			b.endRow(float64(size), float64(size), absent)
		}
	}
}

// What an application is to a model.
const (
	in        = iota // placed
	out              // not placed
	undecided        // the model decides it
	partly           // it runs, and containers of it that have yet to come may stay out
)

// settled says what each application is.
func (b *builder) settled() []int {
	state := make([]int, len(b.p.Applications))
	for a := range b.p.Applications {
		app := &b.p.Applications[a]
		if app.Deployed {
			state[a] = partly
			continue
		}
		state[a] = undecided
		for c := app.First; c < app.End; c++ {
			switch {
			case b.p.Containers[c].At != constraint.Nowhere, b.unitOf[c] == absent && b.scope.Base[c] != constraint.Nowhere:
				state[a] = in
			case b.unitOf[c] == absent && state[a] == undecided:
				state[a] = out
			}
		}
		if app.First == app.End {
			state[a] = in
		}
	}
	return state
}

// addMoves charges for whoever runs and leaves.
func (b *builder) addMoves() {
	moved := b.p.Objective.Moved
	for i := range b.p.Containers {
		if at := b.p.Containers[i].At; at != constraint.Nowhere && b.unitOf[i] == absent && b.scope.Base[i] != at {
			b.Constant += moved
		}
	}
	for u := range b.units {
		b.Constant += moved * int64(b.units[u].running)
		for i := range b.nodes {
			stays, column := b.stays(int32(u), int32(i)), b.at(int32(u), int32(i))
			switch {
			case stays == 0 || moved == 0:
			case b.most(column) <= stays:
				b.Cost[column] -= float64(moved)
			default: // more may stand there than have stayed
				kept := b.addColumn(float64(stays), -moved, ilp.Continuous, largest)
				b.add(kept, 1)
				b.add(column, -1)
				b.atMost(0, kept)
			}
		}
	}
}
