package search

import (
	"fairlead.dev/fairlead/constraint"
)

// This file chooses the nodes that an idea looks at: those of a few sets, some that have
// room wherever they are, and those that the containers came from.

// ground is a list of nodes, each once.
type ground struct {
	nodes []int32
	seen  []int32 // by node: the ground that had it last
	now   int32
}

const (
	mostOfSet = 40 // nodes of one set
	mostSets  = 4  // of a ruin

	// Nodes by chance: one of so many, at least and at most. On 100 nodes 4 are better than 16.
	anywhere      = 25
	leastAnywhere = 4
	mostAnywhere  = 16
)

// clear begins another.
func (g *ground) clear() {
	g.nodes = g.nodes[:0]
	g.now++
}

func (g *ground) add(node int32) {
	if node != constraint.Nowhere && g.seen[node] != g.now {
		g.seen[node] = g.now
		g.nodes = append(g.nodes, node)
	}
}

// addSet adds nodes of the set, a part of those that are next to one another if it is large.
func (m *moves) addSet(group, set int32) {
	if set == constraint.Nowhere {
		return
	}
	members := m.members[group][set]
	if len(members) == 0 {
		return
	}
	from := 0
	if len(members) > mostOfSet {
		from = m.rand.IntN(len(members))
	}
	for i := range min(len(members), mostOfSet) {
		m.add(members[(from+i)%len(members)])
	}
}

// addAnywhere adds nodes by chance.
func (m *moves) addAnywhere() {
	for range min(max(len(m.problem.Nodes)/anywhere, leastAnywhere), mostAnywhere) {
		m.add(int32(m.rand.IntN(len(m.problem.Nodes))))
	}
}

// addNear adds the set in which a container is that shares a bound with the shape.
func (m *moves) addNear(shape, group int32) {
	roles := m.roles.Of[shape]
	if len(roles) == 0 {
		return
	}
	role := &roles[m.rand.IntN(len(roles))]
	list := m.target[role.Bound]
	if !role.Subject {
		list = m.subject[role.Bound]
	}
	if role.Subject && len(m.fixed[role.Bound]) > 0 && m.rand.IntN(len(list)+len(m.fixed[role.Bound])) >= len(list) {
		list = m.fixed[role.Bound]
	}
	if len(list) == 0 {
		return
	}
	node := m.board.At(pick(m.rand, list))
	if node == constraint.Nowhere {
		return
	}
	m.add(node)
	m.addSet(group, m.setOf(group, node))
}

// groundOf chooses a group in whose sets to look for the shape.
func (m *moves) groundOf(shape int32) int32 {
	if grounds := m.grounds[shape]; len(grounds) > 0 && m.rand.IntN(8) > 0 {
		return pick(m.rand, grounds)
	}
	return int32(m.rand.IntN(len(m.problem.Groups)))
}

// shuffle orders the ground by chance, so that of equal nodes it is not always the same that
// comes first.
func (m *moves) shuffle() {
	for i := len(m.nodes) - 1; i > 0; i-- {
		j := m.rand.IntN(i + 1)
		m.nodes[i], m.nodes[j] = m.nodes[j], m.nodes[i]
	}
}

// around makes the ground for one container that was on the node.
func (m *moves) around(container, from int32) {
	m.clear()
	shape := m.problem.Containers[container].Shape
	group := m.groundOf(shape)
	for range 2 {
		m.addNear(shape, group)
	}
	m.addSet(group, m.setOf(group, from))
	m.addAnywhere()
	m.add(from)
	m.add(m.problem.Containers[container].At)
	m.shuffle()
}

// home looks for the node for the container on the ground.
func (m *moves) home(container int32) (node int32, estimate int64) {
	m.ticks += int64(len(m.nodes))
	return m.board.Best(container, m.nodes)
}
