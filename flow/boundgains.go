package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// gains is what task groups would gain by places if each were alone.
type gains struct {
	net         *network
	places      places
	alone       []alone
	list        []gain
	waits       Cost   // what it costs if all tasks of alone wait
	placeable   int    // task groups that could have a place
	unplaceable Cost   // what the others of the tier pay for waiting, who have nowhere to go
	line        []Step // scratch
}

// alone is a task group that could have a place when the turn began.
type alone struct {
	request  int32
	straight bool // it has arcs of its own to nodes
	from, to int  // in gains
}

// gain is so many units that cost so much less placed, alone, than waiting.
type gain struct {
	units int64
	cost  Cost
}

// reset begins a turn.
func (b *gains) reset() {
	b.alone, b.list, b.waits, b.placeable, b.unplaceable = b.alone[:0], b.list[:0], 0, 0, 0
	b.places.turn++
}

// add notes what the units of a task group would gain if it were alone.
func (b *gains) add(s *cluster.View, row int32, single bool) {
	c := b.net.group(row)
	b.line = b.line[:0]
	sum := Cost(0)
	for _, sh := range c.shares {
		b.line = append(b.line, b.net.shares.list[sh].levels...)
	}
	for _, l := range b.line {
		sum += min(max(l.Capacity*l.Cost, -unreached), unreached)
	}
	if len(b.line) == 0 {
		return
	}
	if !b.places.any(s, c) {
		b.unplaceable += sum
		return
	}
	if b.placeable++; single {
		return
	}
	slices.SortFunc(b.line, func(a, b Step) int { return cmp.Compare(b.Cost, a.Cost) })
	b.places.find(s, c, b.line[0].Cost)
	b.waits = min(max(b.waits+sum, -unreached), unreached)
	a := alone{request: c.request, from: len(b.list)}
	for _, o := range c.outs {
		a.straight = a.straight || o.group < 0
	}
	line := b.line
	for _, place := range b.places.list {
		for place.Capacity > 0 && len(line) > 0 && line[0].Cost > place.Cost {
			units := min(place.Capacity, line[0].Capacity)
			b.list = append(b.list, gain{units, line[0].Cost - place.Cost})
			place.Capacity -= units
			if line[0].Capacity -= units; line[0].Capacity == 0 {
				line = line[1:]
			}
		}
	}
	a.to = len(b.list)
	b.alone = append(b.alone, a)
}
