// Package keeper decides which nodes of a cluster are switched off, and which are woken. It stands beside the policies, which place on the
// nodes that are on, and know nothing of it:
//
//   - A node that is on, and on which nothing has been for a while, is switched off, but for the first few of those, which stay for whoever comes next.
//   - For who waits and finds no room on the nodes that are on, or will be soon, nodes are woken: one after the other, of those that would take him
//     the one that draws least, until all have room. How much room is left is reckoned first-fit, who has waited longest first, and those alike together.
//
// What has room by that may wait all the same, as a policy may want more than room, and constraints see no nodes that are off. So nobody has to
// starve, whoever has waited for Patience has a node woken for him, whatever room there seems to be, and whoever else nodes are woken for; and when that one has been on for as
// long, and he still waits, two, then four. A node that somebody who waits would fit on is not switched off. In the end all that would take him are on, as if none was ever
// switched off.
//
// Nobody is evicted for whom a node can be woken: of those who wait with a shape, all of whom nodes that are off or waking would take, it says that their room is coming (cluster.RoomComing), until
// there is too little of it for all, or somebody has waited for twice as long as Patience.
//
// It keeps up with the change log of the state. A call costs what has changed, and a look at the nodes that are empty, and at each crowd that waits (crowd.go); for those whom a node that is
// off would take, a look at nodes that are on until there is room for all, so that it is crowds times nodes at worst.
package keeper

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Rules say when nodes are switched off.
type Rules struct {
	// OffAfter is for how long nothing has been on a node that is switched off; 0 is that none is.
	OffAfter cluster.Time
	// Wake is how long a node usually takes from being woken until it is on.
	Wake cluster.Time
	// Keep is how many nodes stay on with nothing on them, the first of such.
	Keep int
}

// Patience is for how long somebody waits beside room before a node is woken for him, and before more are.
func (r Rules) Patience() cluster.Time { return max(r.Wake, cluster.Minute) }

// Standing is how a live node stands.
type Standing uint8

// The standings of nodes.
const (
	On Standing = iota
	Off
	Waking // it was woken, and will be on
)

// Standings is how many there are.
const Standings = 3

// World is what is asked about live nodes that no state knows.
type World interface {
	Standing(n cluster.NodeID) Standing
	// Admits reports whether the node would admit tasks of the shape if it was on and large enough.
	Admits(shape cluster.ShapeID, n cluster.NodeID) bool
	// Wakes says what waking the node costs: what it draws when it is on and nothing is on it, and how long it takes until it is on.
	Wakes(n cluster.NodeID) (watts int64, takes cluster.Time)
}

// Orders are what is to be done now, and until when nothing has to be unless something happens.
type Orders struct {
	Off, Wake []cluster.NodeID     // in the order of their rows
	Coming    []cluster.RoomComing // in the order of the shapes; of each whether room is coming, where that has changed
	// Idle is when the next node has been empty for long enough, and Waits when somebody has waited for long enough; Never: there is none.
	Idle, Waits cluster.Time
}

// Keeper decides. It is for one state.
type Keeper struct {
	rules     Rules
	world     World
	read      uint64         // position up to which the change log was read
	since     []cluster.Time // by row of a node: from when on it has been empty and on; Never of others
	empty     rows
	off       rows
	waking    rows
	looked    []cluster.NodeID // those of the nodes that are off at which somebody looked in this call
	ordered   []cluster.NodeID // what the last orders were about
	positions []position       // by row of a task
	crowds    map[alike]*crowd
	wants     map[cluster.ShapeID]*want
	coming    []cluster.ShapeID // for which room was said to be coming, in order
}

// New is a keeper of nodes.
func New(rules Rules, world World) *Keeper {
	return &Keeper{rules: rules, world: world, crowds: map[alike]*crowd{}, wants: map[cluster.ShapeID]*want{}}
}

// Decide says what is to be done now. Who carries it out tells the state, and what the world says has changed by the next call.
func (k *Keeper) Decide(s *cluster.View, now cluster.Time) Orders {
	k.catchUp(s, now)
	orders := Orders{Idle: cluster.Never, Waits: cluster.Never}
	for _, n := range k.empty[min(k.rules.Keep, len(k.empty)):] {
		if due := k.since[n] + k.rules.OffAfter; due > now {
			orders.Idle = min(orders.Idle, due)
		} else {
			orders.Off = append(orders.Off, n)
		}
	}
	helped := k.findHelpers(s)
	var coming []cluster.ShapeID
	if len(k.crowds) > 0 && (helped || len(orders.Off)+len(k.waking) > 0) {
		p := newPlan(k, s, now, &orders)
		orders.Off = slices.DeleteFunc(orders.Off, p.wanted)
		p.wake()
		coming = p.coming()
	}
	orders.Coming = k.announce(s, coming)
	k.ordered = append(append(k.ordered[:0], orders.Off...), orders.Wake...)
	return orders
}

// announce says for which shapes room has begun to come, and for which it has ceased to.
func (k *Keeper) announce(s *cluster.View, coming []cluster.ShapeID) (changed []cluster.RoomComing) {
	both := slices.Concat(k.coming, coming)
	slices.Sort(both)
	for _, id := range slices.Compact(both) {
		if _, is := slices.BinarySearch(coming, id); is != cluster.RoomComes(s, id) { // a row that was given anew says nothing yet
			changed = append(changed, cluster.RoomComing{Shape: id, Coming: is})
		}
	}
	k.coming = coming
	return changed
}

// catchUp brings up to date what is known of nodes and tasks.
func (k *Keeper) catchUp(s *cluster.View, now cluster.Time) {
	touches, ok := s.ChangesSince(k.read)
	k.read = s.LogEnd()
	if !ok {
		for n := range cluster.NodeID(s.NodeRows()) {
			k.look(s, n, now)
		}
		for t := range cluster.TaskID(s.TaskRows()) {
			k.update(s, t)
		}
	}
	for _, touch := range touches {
		switch touch.Table {
		case cluster.Nodes:
			k.look(s, cluster.NodeID(touch.Row), now)
		case cluster.Tasks:
			k.update(s, cluster.TaskID(touch.Row))
		default:
		}
	}
	for _, n := range append(k.ordered, k.waking...) { // of which no state knows
		k.look(s, n, now)
	}
	k.ordered = k.ordered[:0]
}

// look brings up to date what is known of a node.
func (k *Keeper) look(s *cluster.View, n cluster.NodeID, now cluster.Time) {
	for len(k.since) <= int(n) {
		k.since = append(k.since, cluster.Never)
	}
	live, standing := s.NodeLive(n), Off
	if live {
		standing = k.world.Standing(n)
	}
	empty := live && standing == On && isEmpty(s, n)
	off := live && standing == Off
	k.empty.set(n, empty)
	k.off.set(n, off)
	k.waking.set(n, live && standing == Waking)
	if off {
		k.looked = append(k.looked, n)
	}
	if !empty {
		k.since[n] = cluster.Never
	} else if k.since[n] == cluster.Never {
		k.since[n] = now
	}
}

// isEmpty reports whether nothing is on the node, and nobody is to come: runs that were given up take room, too.
func isEmpty(s *cluster.View, n cluster.NodeID) bool {
	return len(s.TasksOn(n)) == 0 && !slices.ContainsFunc(s.Used(n), func(q int64) bool { return q > 0 })
}

// rows are rows of nodes, in order.
type rows []cluster.NodeID

// has reports whether the row is among them.
func (r *rows) has(row cluster.NodeID) bool {
	_, found := slices.BinarySearch(*r, row)
	return found
}

// set says whether the row is among them.
func (r *rows) set(row cluster.NodeID, in bool) {
	at, found := slices.BinarySearch(*r, row)
	switch {
	case in && !found:
		*r = slices.Insert(*r, at, row)
	case !in && found:
		*r = slices.Delete(*r, at, at+1)
	}
}
