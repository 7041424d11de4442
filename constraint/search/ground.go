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
func (s *Search) addSet(group, set int32) {
	if set == constraint.Nowhere {
		return
	}
	members := s.members[group][set]
	if len(members) == 0 {
		return
	}
	from := 0
	if len(members) > mostOfSet {
		from = s.rand.IntN(len(members))
	}
	for i := range min(len(members), mostOfSet) {
		s.add(members[(from+i)%len(members)])
	}
}

// addAnywhere adds nodes by chance.
func (s *Search) addAnywhere() {
	for range min(max(len(s.problem.Nodes)/anywhere, leastAnywhere), mostAnywhere) {
		s.add(int32(s.rand.IntN(len(s.problem.Nodes))))
	}
}

// addNear adds the set in which a container is that shares a bound with the shape.
func (s *Search) addNear(shape, group int32) {
	roles := s.roles.Of[shape]
	if len(roles) == 0 {
		return
	}
	role := &roles[s.rand.IntN(len(roles))]
	list := s.target[role.Bound]
	if !role.Subject {
		list = s.subject[role.Bound]
	}
	if role.Subject && len(s.fixed[role.Bound]) > 0 && s.rand.IntN(len(list)+len(s.fixed[role.Bound])) >= len(list) {
		list = s.fixed[role.Bound]
	}
	if len(list) == 0 {
		return
	}
	node := s.board.At(pick(s.rand, list))
	if node == constraint.Nowhere {
		return
	}
	s.add(node)
	s.addSet(group, s.setOf(group, node))
}

// groundOf chooses a group in whose sets to look for the shape.
func (s *Search) groundOf(shape int32) int32 {
	if grounds := s.grounds[shape]; len(grounds) > 0 && s.rand.IntN(8) > 0 {
		return pick(s.rand, grounds)
	}
	return int32(s.rand.IntN(len(s.problem.Groups)))
}

// shuffle orders the ground by chance, so that of equal nodes it is not always the same that
// comes first.
func (s *Search) shuffle() {
	for i := len(s.nodes) - 1; i > 0; i-- {
		j := s.rand.IntN(i + 1)
		s.nodes[i], s.nodes[j] = s.nodes[j], s.nodes[i]
	}
}

// around makes the ground for one container that was on the node.
func (s *Search) around(container, from int32) {
	s.clear()
	shape := s.problem.Containers[container].Shape
	group := s.groundOf(shape)
	for range 2 {
		s.addNear(shape, group)
	}
	s.addSet(group, s.setOf(group, from))
	s.addAnywhere()
	s.add(from)
	s.add(s.problem.Containers[container].At)
	s.shuffle()
}

// home looks for the node for the container on the ground.
func (s *Search) home(container int32) (node int32, estimate int64) {
	s.ticks += int64(len(s.nodes))
	return s.board.Best(container, s.nodes)
}
