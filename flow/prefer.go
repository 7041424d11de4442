package flow

import "fairlead.dev/fairlead/cluster"

// This file is what preferences for nodes cost (cluster.Preference), for every model alike: a node is the dearer by what it
// does not meet, by whichever way a task gets there.
//
// That goes by the shape and the node alone, so it is a part of what a node offers to a request (ranking.go) and of the arcs that
// task groups have straight to nodes (supply.go). The network has no node and no arc more for it. A node that comes into a set, or
// leaves it, is looked at as one that has changed is (network.learn); and who prefers nothing costs an empty loop.
//
// Who runs pays nothing for where it is: a preference says where to come, and moves nobody away.
//
// Rounds that are planned by packing know it as the price of a kind of slots (market.go), which nodes do not share that meet more or
// less of what somebody prefers. Which nodes are cut into which slots is the packer's choice, which goes by no price of nodes.
//
// Soft constraints have no such price. What they cost depends on who else is there, and on who else comes in the same
// solve: the second replica on a node may cost more than the first, or less, so that no curve that a flow could follow says it, nor one price for each pair
// of request and node. Priced by those who are there already, all replicas of a batch would come to one node.

// MostUnmet is how many preferences of the largest weight count that a node does not meet, or as much of lesser ones. A model whose
// price of waiting is not above so many on top of its dearest node has tasks wait for nodes that they only prefer.
const MostUnmet = 10

// unmet is what the preferences of the shape cost that the node does not meet.
func (a *answers) unmet(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) Cost {
	if a.preference == 0 {
		return 0
	}
	return a.preference * min(cluster.Unmet(s, shape, n), MostUnmet*cluster.MostPreference) / cluster.MostPreference
}

// withUnmet is what tasks of the shape cost on the node, of which the model says what they cost otherwise.
func (a *answers) withUnmet(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID, curve Curve) Curve {
	more := a.unmet(s, shape, n)
	if more == 0 {
		return curve
	}
	a.dearer = append(a.dearer[:0], curve...)
	if len(curve) == 0 {
		a.dearer = append(a.dearer, Step{Capacity: 1})
	}
	for i := range a.dearer {
		a.dearer[i].Cost += more
	}
	return a.dearer
}

// preferenceOf is the model's price of a preference, which is 0 where it has none.
func (a *answers) preferenceOf(m Model) Cost {
	preferrer, ok := m.(Preferrer)
	if !ok {
		return 0
	}
	const most Cost = MaxCost / MostUnmet
	price := preferrer.Preference()
	if price < 0 || price > most {
		a.refuse("a preference that is not met costs %d, want 0 to %d", price, most)
		return 0
	}
	return price
}
