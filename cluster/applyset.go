package cluster

import (
	"fmt"
	"math/bits"
	"slices"
)

// This file applies the events of sets and shapes. The change log names each
// node that came into a set or left it, together with the set, so that only what
// depends on that set looks at the node again.

// setLive reports whether the row holds a set.
func (s *State) setLive(id SetID) bool { return int(id) < len(s.set) && s.set[id].live }

func (s *State) setDefined(e SetDefined) error {
	if e.Set == AllNodes {
		return fmt.Errorf("set row %d cannot be defined, as it is all nodes", e.Set)
	}
	if err := s.checkRow(Sets, "set", uint32(e.Set)); err != nil {
		return err
	}
	for _, n := range e.Nodes {
		if !s.NodeLive(n) {
			return fmt.Errorf("set row %d: node row %d holds no node", e.Set, n)
		}
	}
	s.set = grown(s.set, int(e.Set))
	set := &s.set[e.Set]
	words := make([]uint64, len(set.nodes)) // as many as before or more
	if len(e.Nodes) > 0 {
		words = grown(words, int(slices.Max(e.Nodes)>>6))
	}
	for _, n := range e.Nodes {
		words[n>>6] |= 1 << (n & 63)
	}
	for i, differs := range words {
		if i < len(set.nodes) {
			differs ^= set.nodes[i]
		}
		for ; differs != 0; differs &= differs - 1 {
			s.log.member(e.Set, NodeID(i<<6+bits.TrailingZeros64(differs)))
		}
	}
	if !set.live {
		s.log.made[Sets]++
		s.log.note(Sets, uint32(e.Set))
	}
	*set = setRow{live: true, nodes: words}
	return nil
}

func (s *State) setForgotten(e SetForgotten) error {
	if !s.setLive(e.Set) {
		return fmt.Errorf("set row %d holds no set", e.Set)
	}
	for i := range s.shape {
		if s.shape[i].live && s.shape[i].names(e.Set) {
			return fmt.Errorf("set row %d is still named by shape row %d", e.Set, i)
		}
	}
	s.set[e.Set] = setRow{}
	s.log.note(Sets, uint32(e.Set))
	return nil
}

func (s *State) eligibilityChanged(e EligibilityChanged) error {
	if !s.setLive(e.Set) {
		return fmt.Errorf("set row %d is not defined", e.Set)
	}
	if !s.NodeLive(e.Node) {
		return fmt.Errorf("set row %d: node row %d holds no node", e.Set, e.Node)
	}
	set := &s.set[e.Set]
	if set.holds(e.Node) == e.Eligible {
		return nil
	}
	set.nodes = grown(set.nodes, int(e.Node>>6))
	set.nodes[e.Node>>6] ^= 1 << (e.Node & 63)
	s.log.member(e.Set, e.Node)
	return nil
}

func (s *State) shapeDefined(e ShapeDefined) error {
	if err := s.checkRow(Shapes, "shape", uint32(e.Shape)); err != nil {
		return err
	}
	if int(e.Shape) < len(s.shape) && s.shape[e.Shape].live {
		return fmt.Errorf("shape row %d is in use", e.Shape)
	}
	if e.Spec.PerNode < 0 {
		return fmt.Errorf("shape row %d: at most %d tasks of a job a node, want 1 or more, or 0 for no limit", e.Shape, e.Spec.PerNode)
	}
	if err := s.checkVector("demand", e.Spec.Demand); err != nil {
		return fmt.Errorf("shape row %d: %w", e.Shape, err)
	}
	if err := s.checkDevices(e.Spec.Demand); err != nil {
		return fmt.Errorf("shape row %d: %w", e.Shape, err)
	}
	if err := s.checkMax(&e.Spec); err != nil {
		return fmt.Errorf("shape row %d: %w", e.Shape, err)
	}
	if err := CheckTags(e.Spec.Tags); err != nil {
		return fmt.Errorf("shape row %d: %w", e.Shape, err)
	}
	if e.Spec.Eligible != AllNodes && !s.setLive(e.Spec.Eligible) {
		return fmt.Errorf("shape row %d: set row %d is not defined", e.Shape, e.Spec.Eligible)
	}
	if e.Spec.Usual != AllNodes && !s.setLive(e.Spec.Usual) {
		return fmt.Errorf("shape row %d: set row %d, of its usual nodes, is not defined", e.Shape, e.Spec.Usual)
	}
	if err := checkPreferences(s, e.Spec.Prefers); err != nil {
		return fmt.Errorf("shape row %d: %w", e.Shape, err)
	}
	s.log.made[Shapes]++
	s.shape = grown(s.shape, int(e.Shape))
	row := shapeRow{Shape: e.Spec, live: true}
	if slices.Equal(row.Max, row.Demand) {
		row.Max = nil
	}
	row.needs = NeedsOf(s.devices, e.Spec.Demand)
	row.roles = s.rolesOf(row.Tags)
	s.shape[e.Shape] = row
	s.numbers.ofShape(&row, 1)
	if s.constraints != nil && s.constraints.index != nil {
		s.constraints.index.addShape(e.Shape, row.Tags)
	}
	s.log.note(Shapes, uint32(e.Shape))
	return nil
}

// checkDevices refuses a demand that is neither a share of a device nor whole
// devices.
func (s *State) checkDevices(demand Vector) error {
	for _, k := range s.devices {
		if q := demand[k.Kind]; q > k.Size && q%k.Size != 0 {
			kind := &s.kinds[k.Kind]
			return fmt.Errorf("demand of %s is %s, want a share of one device or whole devices", kind.Name, kind.Format(q))
		}
	}
	return nil
}

// EvictsNobody reports whether nobody is to be evicted for the sake of tasks of the shape: they never want that, or room is coming
// for them.
func EvictsNobody(v *View, id ShapeID) bool { return v.shape[id].NeverPreempts || v.shape[id].coming }

// RoomComes reports whether room is on its way for those who wait with the shape; see RoomComing.
func RoomComes(v *View, id ShapeID) bool { return v.shape[id].coming }

func roomComing(s *State, e RoomComing) error {
	if int(e.Shape) >= len(s.shape) || !s.shape[e.Shape].live {
		return fmt.Errorf("shape row %d holds no shape", e.Shape)
	}
	if s.shape[e.Shape].coming != e.Coming {
		s.shape[e.Shape].coming = e.Coming
		s.log.note(Coming, uint32(e.Shape))
	}
	return nil
}

func (s *State) shapeForgotten(e ShapeForgotten) error {
	if int(e.Shape) >= len(s.shape) || !s.shape[e.Shape].live {
		return fmt.Errorf("shape row %d holds no shape", e.Shape)
	}
	if n := s.shape[e.Shape].tasks; n > 0 {
		return fmt.Errorf("shape row %d still has %d tasks", e.Shape, n)
	}
	if s.constraints != nil && s.constraints.index != nil {
		s.constraints.index.dropShape(e.Shape, s.shape[e.Shape].Tags)
	}
	s.numbers.ofShape(&s.shape[e.Shape], -1)
	s.shape[e.Shape] = shapeRow{}
	s.log.note(Shapes, uint32(e.Shape))
	return nil
}
