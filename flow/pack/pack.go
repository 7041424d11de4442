// Package pack proposes which tasks could stand together on each node, and cuts
// the nodes' room into slots of these sizes.
//
// A flow counts units, but tasks take vectors. A slot is a part of a node's room
// that holds one task: its envelope is a vector, a task group may use it if the
// demand is at most that, and the envelopes of a node sum to no more than its room.
// So whatever a flow puts into slots fits, all of it at once. A slot as large as the
// packed task loses nothing, and the packing itself is one of the
// flows: the cheapest flow is never dearer than the packing.
//
//	var packer pack.Packer
//	var now, other pack.Packing
//	packer.Begin(&in, &now)
//	packer.Run(0)            // the assignment, and the slots
//	packer.Rebid(&other)     // the same, with higher bids for what was left over
//	packer.Run(0)
//
// Nodes and task groups are numbers from 0. Quantities are integers of any unit, up
// to 1<<45. The result depends on the input alone. All ties end in the least
// task group; nodes are served in the order of their numbers.
package pack

// MaxPrice is the largest price that a task group may have.
const MaxPrice = 1 << 40

// Input is what there is to pack.
type Input struct {
	Kinds int
	// Room is what the nodes have left: of kind k, node n has Room[n*Kinds+k].
	// Below 0 is nothing.
	Room []int64
	// Demand is what one task of a task group needs, 0 or more: of kind k, task group c
	// needs Demand[c*Kinds+k].
	Demand []int64
	Count  []int32 // how many tasks of each task group there are to place
	// Price is what leaving one task of each task group costs more than placing it, up
	// to MaxPrice. A task group of which it is 0 or less is not packed.
	Price []int64
	// Most is how many tasks of a task group a node may take, room aside: 0 where it is
	// not eligible. Nil is any number. It is asked again after each task that
	// is packed and must answer the same.
	Most func(group, node int) int
	// Pool says of each node which others are like it to every task group. Nodes of
	// different pools share no type of slots. Nil is one pool.
	Pool []int32
	// Consolidate fills one node after the other. Otherwise nodes take turns,
	// one task at a time.
	Consolidate bool
}

// Lot is so many of the same: tasks of a task group, or slots of a type.
type Lot struct{ ID, Count int32 }

// Packing is what Run has made. Slices that it returns are its own: look, do not
// change, and not after the next Begin or Rebid into it.
type Packing struct {
	// Ticks is the effort: task groups looked at for a node.
	Ticks int64

	items    []Lot
	itemEnd  []int32 // per node, where its items end
	slots    []Lot
	slotEnd  []int32
	left     []int32 // per task group
	kinds    int
	envelope []int64 // per type, its kinds
	pool     []int32 // per type
}

// Items are the tasks packed on the node, in the order of task groups.
func (p *Packing) Items(node int) []Lot { return part(p.items, p.itemEnd, node) }

// Slots are the slots of the node, in the order of types. They have the sizes of
// its items; what is left of its room is added to the largest of them. A node
// without items has one slot, all of its room, if any task group could use it.
func (p *Packing) Slots(node int) []Lot { return part(p.slots, p.slotEnd, node) }

// Types is how many types of slots there are.
func (p *Packing) Types() int { return len(p.pool) }

// Envelope is what one task in a slot of the type may need, kind by kind.
func (p *Packing) Envelope(slot int) []int64 {
	return p.envelope[slot*p.kinds : (slot+1)*p.kinds]
}

// Left is how many tasks of each task group were not packed.
func (p *Packing) Left() []int32 { return p.left }

// part is the i-th of the parts into which ends divide all.
func part[T any](all []T, ends []int32, i int) []T {
	from := int32(0)
	if i > 0 {
		from = ends[i-1]
	}
	return all[from:ends[i]]
}
