package cluster

import "fmt"

// This file is preferences for nodes: where tasks would rather be, and rather not, of the nodes that admit them. They are
// sets like those of hard requirements, which the world keeps up as nodes come, go and change their labels: whoever derives
// something from them looks at a node again when it comes into such a set or leaves it (Changed.Members).

// MostPreference is the largest weight of a preference.
const MostPreference = 100

// Preference says that the tasks would rather be on nodes of a set, or rather not where the weight is below 0. Those of equal
// nodes add up.
type Preference struct {
	Set    SetID
	Weight int32 // from -MostPreference to MostPreference, and not 0
}

// Unmet is the sum of the weights of the preferences, of tasks of the shape, that the node does not meet: it is not in a set where they would
// rather be, or in one where they would rather not.
func Unmet(v *View, id ShapeID, n NodeID) int64 {
	sum := int64(0)
	for _, p := range v.shape[id].Prefers {
		switch in := v.Eligible(p.Set, n); {
		case p.Weight > 0 && !in:
			sum += int64(p.Weight)
		case p.Weight < 0 && in:
			sum -= int64(p.Weight)
		}
	}
	return sum
}

// checkPreferences says why no shape can have them.
func checkPreferences(s *State, list []Preference) error {
	for _, p := range list {
		if p.Weight == 0 || p.Weight < -MostPreference || p.Weight > MostPreference {
			return fmt.Errorf("preference for set row %d has the weight %d, want -%d to %d, and not 0", p.Set, p.Weight, MostPreference, MostPreference)
		}
		if !s.setLive(p.Set) {
			return fmt.Errorf("preference for set row %d: it is not defined", p.Set)
		}
	}
	return nil
}

// names reports whether the shape says something of the set.
func (r *shapeRow) names(set SetID) bool {
	for _, p := range r.Prefers {
		if p.Set == set {
			return true
		}
	}
	return r.Eligible == set || r.Usual == set
}
