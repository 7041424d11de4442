package queue

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// table keeps the indexes of one policy, and the journal of changed nodes from
// which each is brought up to date when it is used.
type table struct {
	ties   Ties
	seed   uint64
	source *rand.Rand
	order  nodeOrder
	ticks  int64

	shapes [][]*cachedIndex // the indexes of each shape
	kept   int              // how many there are
	ring   *cachedIndex     // of all of them by use: next is the latest, prev the oldest
	spare  []*index         // forgotten ones, for their memory

	journal []cluster.NodeID
	start   uint64   // position of journal[0]
	latest  []uint64 // per node, 1 + its last position in the journal
	touched int64    // keeps the compiler from dropping the reads of catchUp
}

// cachedIndex is an index and how its leaves are scored.
type cachedIndex struct {
	*index
	id     indexID
	score  func(cluster.NodeID) int64
	synced uint64 // position in the journal up to which leaves are true
	hidden []cluster.NodeID
	job    cluster.JobID    // of qos: whose tasks may not go where nodes are hidden
	strays []cluster.NodeID // came into the shape's set, or left it, since the last use
	// The ring makes forgetting the oldest cheap, however many there are.
	prev, next *cachedIndex
}

// leave takes the index out of the ring.
func (x *cachedIndex) leave() {
	x.prev.next, x.next.prev = x.next, x.prev
}

// follow puts the index into the ring behind the other one.
func (x *cachedIndex) follow(other *cachedIndex) {
	x.prev, x.next = other, other.next
	x.prev.next, x.next.prev = x, x
}

// indexID names an index: what a node's score in it depends on.
type indexID struct {
	shape    cluster.ShapeID
	priority int32 // of preemptors
	victims  bool
	grant    int64 // of sla: what is given of the first kind
}

// maxLeaves bounds the memory of indexes, at 9 bytes a leaf: those that were
// not used for longest are forgotten. At 12,500 nodes it is a thousand shapes.
const maxLeaves = 1 << 24

func newTable(o Options) table {
	t := table{ties: o.Ties, seed: o.Seed}
	t.reset()
	return t
}

// reset forgets everything.
func (t *table) reset() {
	t.source = rand.New(rand.NewPCG(t.seed, 0x71e5))
	t.clear()
	t.journal, t.start = t.journal[:0], 0
	t.latest = nil
	t.order = nodeOrder{}
}

// clear forgets the indexes.
func (t *table) clear() {
	clear(t.shapes)
	t.kept, t.spare = 0, nil
	t.ring = &cachedIndex{}
	t.ring.prev, t.ring.next = t.ring, t.ring
}

// learn notes changed nodes and forgets shapes that changed.
func (t *table) learn(s *cluster.View, c *sched.Changed) {
	if s.NodeRows() > len(t.order.at) {
		rows := fan
		for rows < s.NodeRows() {
			rows *= 2 // for nodes to come, so that a node more is not a new order
		}
		t.order = newNodeOrder(rows, t.ties, t.seed)
		t.latest = append(t.latest, make([]uint64, rows-len(t.latest))...)
		t.clear()
	}
	for s.ShapeRows() > len(t.shapes) {
		t.shapes = append(t.shapes, nil)
	}
	for _, shape := range c.Shapes {
		for _, x := range t.shapes[shape] {
			t.drop(x)
		}
	}
	for x := t.ring.next; x != t.ring && len(c.Members) > 0; x = x.next {
		t.stray(x, c.MembersOf(s.Shape(x.id.shape).Eligible))
	}
	for _, n := range c.Nodes {
		t.note(n)
	}
	if keep := 4 * len(t.order.at); len(t.journal) > 2*keep {
		cut := len(t.journal) - keep
		t.start += uint64(cut)
		t.journal = append(t.journal[:0], t.journal[cut:]...)
	}
}

// stray notes nodes that came into the set of the index's shape, or left it. Of
// an index that is not used meanwhile, too many are not worth remembering.
func (t *table) stray(x *cachedIndex, members []sched.Member) {
	for _, m := range members {
		x.strays = append(x.strays, m.Node)
	}
	if len(x.strays) > len(t.order.at) {
		x.index, x.strays = nil, nil
	}
}

// end is the position after the last change in the journal.
func (t *table) end() uint64 { return t.start + uint64(len(t.journal)) }

// note says that the node has changed.
func (t *table) note(n cluster.NodeID) {
	t.journal = append(t.journal, n)
	t.latest[n] = t.end()
}

// sync returns the index, true for the nodes as they are now.
func (t *table) sync(id indexID, score func(cluster.NodeID) int64) *cachedIndex {
	x := t.lookup(id)
	x.score = score
	end := t.end()
	switch {
	case x.index == nil:
		x.index = t.blank()
		t.rebuild(x)
	case end-x.synced > uint64(len(t.order.at)): // the journal reaches back further
		t.rebuild(x)
	default:
		for _, n := range x.strays {
			x.set(int(t.order.rank[n]), score(n))
		}
		t.ticks += int64(len(x.strays))
		t.catchUp(x)
	}
	x.strays = x.strays[:0]
	x.synced = end
	return x
}

// catchUp scores what changed since the index was last used. With hundreds of
// indexes none of them is in the processor's cache; reading the leaves of many
// nodes before the first is needed lets those reads overlap, which halves the
// time.
func (t *table) catchUp(x *cachedIndex) {
	const batch = 64
	var (
		nodes [batch]cluster.NodeID
		ranks [batch]int32
		seen  int64
	)
	journal := t.journal[x.synced-t.start:]
	for at := 0; at < len(journal); {
		count := 0
		for ; at < len(journal) && count < batch; at++ {
			n := journal[at]
			if t.latest[n] == x.synced+uint64(at)+1 { // it does not change again further on
				rank := t.order.rank[n]
				nodes[count], ranks[count] = n, rank
				seen |= x.best[0][rank] | x.best[1][rank>>fanBits]
				count++
			}
		}
		for i := range count {
			x.set(int(ranks[i]), x.score(nodes[i]))
		}
		t.ticks += int64(count)
	}
	t.touched = seen
}

// lookup returns the index of that name, or a new one without leaves.
func (t *table) lookup(id indexID) *cachedIndex {
	for _, x := range t.shapes[id.shape] {
		if x.id == id {
			x.leave()
			x.follow(t.ring)
			return x
		}
	}
	if (t.kept+1)*len(t.order.at) > maxLeaves && t.kept > 1 {
		t.drop(t.ring.prev)
	}
	x := &cachedIndex{id: id}
	x.follow(t.ring)
	t.shapes[id.shape] = append(t.shapes[id.shape], x)
	t.kept++
	return x
}

// drop forgets an index. Whoever still holds it may go on reading it until the
// next one is made.
func (t *table) drop(x *cachedIndex) {
	kept := make([]*cachedIndex, 0, len(t.shapes[x.id.shape]))
	for _, other := range t.shapes[x.id.shape] {
		if other != x {
			kept = append(kept, other)
		}
	}
	t.shapes[x.id.shape] = kept
	t.kept--
	x.leave()
	if x.index != nil && len(t.spare) < 8 {
		t.spare = append(t.spare, x.index)
	}
}

// blank returns an index whose leaves are yet to be filled.
func (t *table) blank() *index {
	if n := len(t.spare); n > 0 {
		x := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return x
	}
	return newIndex(len(t.order.at), t.ties)
}

func (t *table) rebuild(x *cachedIndex) {
	t.ticks += int64(len(t.order.at))
	x.fill(func(rank int) int64 {
		if rank >= len(t.order.at) {
			return none
		}
		return x.score(t.order.at[rank])
	})
}

// top is the best node of the index.
func (t *table) top(x *cachedIndex) (cluster.NodeID, bool) {
	t.ticks++
	rank, ok := x.top(t.source)
	if !ok {
		return 0, false
	}
	return t.order.at[rank], true
}

// find takes the best node from the index. Nodes that have as many tasks of the job as
// they may, or where a constraint forbids it, stay hidden in the index.
func (t *table) find(s *cluster.View, x *cachedIndex, task cluster.TaskID) (n cluster.NodeID, ok, beside bool) {
	for {
		n, ok := t.top(x)
		if !ok {
			return 0, false, beside
		}
		refusal := s.Admits(task, n)
		if !refusal.Refused() {
			return n, true, beside
		}
		t.hide(x, n)
		beside = beside || refusal.Code == cluster.NotApart
	}
}

// update scores a node anew after the policy changed it, in x at once and in
// the other indexes when they are next used.
func (t *table) update(x *cachedIndex, n cluster.NodeID) {
	current := x.synced == t.end()
	t.note(n)
	x.set(int(t.order.rank[n]), x.score(n))
	if current {
		x.synced = t.end()
	}
}

// hide takes the node out of the index until unhide.
func (t *table) hide(x *cachedIndex, n cluster.NodeID) {
	x.set(int(t.order.rank[n]), none)
	x.hidden = append(x.hidden, n)
}

func (t *table) unhide(x *cachedIndex) {
	for _, n := range x.hidden {
		t.ticks++
		x.set(int(t.order.rank[n]), x.score(n))
	}
	x.hidden = x.hidden[:0]
}
