package fairlead

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/worth"
)

// tempered is what room counts for a task of the shape: its price, unless the shape prefers something. The last room for a large task may be worth hundreds of
// times the mean, and what a task prefers a few times that; so for who prefers something, room counts the less the dearer it is, and always less than what
// is preferred with the largest weight. It decides among nodes that are equally good otherwise as it does for others, since dearer room
// stays dearer.
func tempered(s *cluster.View, id cluster.ShapeID, room worth.Price) worth.Price {
	if len(s.Shape(id).Prefers) == 0 && !cluster.Soft(s, id) {
		return room
	}
	return softPrice * room / (softPrice + room)
}
