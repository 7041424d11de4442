package book

import (
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Indexes are the indexes of one policy over all nodes, and the journal from which each is
// brought up to date when it is used.
type Indexes struct {
	Order   Order
	Journal Journal
	Ticks   int64 // effort spent: nodes scored, and questions

	ties    Ties
	seed    uint64
	source  *rand.Rand
	shapes  [][]*ShapeIndex // the indexes of each shape
	kept    int             // how many there are
	uses    uint64
	spare   []*Index // forgotten ones, for their memory
	touched int64    // keeps the compiler from dropping the reads of catchUp
}

// ShapeIndex is an index and how its leaves are scored.
type ShapeIndex struct {
	*Index
	Hidden []cluster.NodeID
	were   []int64       // by place in Hidden: the leaf; none where the index was built anew since
	hiding uint64        // position in the journal when the first of them was hidden
	Job    cluster.JobID // of qos: whose tasks may not go where nodes are hidden

	id     IndexID
	score  func(cluster.NodeID) int64
	bound  func(cluster.NodeID) int64 // nil: leaves are scores
	synced uint64                     // position in the journal up to which leaves are true
	strays []cluster.NodeID           // came into a set that the shape names, or left it, since the last use
	used   uint64                     // the last use
}

// IndexID names an index: what a node's score in it depends on.
type IndexID struct {
	Shape    cluster.ShapeID
	Priority int32 // of preemptors
	Victims  bool
	Grant    int64 // of sla: what is given of the first kind
	Tier     int32 // of fairlead: what was promised
	Stay     int32 // of nilas and lava: how long the task will run, in bins
}

// maxLeaves bounds the memory of indexes, at 9 bytes a leaf: where there are more, the half that
// was not used for longest is forgotten. At 12,500 nodes it is a thousand shapes.
const maxLeaves = 1 << 24

// NewIndexes makes indexes in which ties are broken so.
func NewIndexes(ties Ties, seed uint64) Indexes {
	return Indexes{ties: ties, seed: seed, source: rand.New(rand.NewPCG(seed, 0x71e5))}
}

// Reset forgets everything.
func (t *Indexes) Reset() { *t = NewIndexes(t.ties, t.seed) }

// Clear forgets the indexes.
func (t *Indexes) Clear() {
	for shape := range t.shapes {
		t.drop(cluster.ShapeID(shape), func(*ShapeIndex) bool { return true })
	}
}

// Learn notes changed nodes and forgets shapes that changed.
func (t *Indexes) Learn(s *cluster.View, c *sched.Changed) {
	if s.NodeRows() > len(t.Order.At) {
		rows := fan
		for rows < s.NodeRows() {
			rows *= 2 // for nodes to come, so that a node more is not a new order
		}
		t.Order = NewOrder(rows, t.ties, t.seed)
		t.Clear()
		t.spare = nil // they are too small
	}
	for s.ShapeRows() > len(t.shapes) {
		t.shapes = append(t.shapes, nil)
	}
	for _, shape := range c.Shapes {
		t.drop(shape, func(*ShapeIndex) bool { return true })
	}
	for _, shape := range c.Constrained { // of whom departures make room for goes by where others are
		t.drop(shape, func(x *ShapeIndex) bool { return x.id.Victims })
	}
	for shape := range t.shapes {
		if len(c.Members) == 0 {
			break
		}
		for _, x := range t.shapes[shape] {
			shape := s.Shape(x.id.Shape)
			x.stray(c.MembersOf(shape.Eligible), len(t.Order.At))
			for _, p := range shape.Prefers {
				x.stray(c.MembersOf(p.Set), len(t.Order.At))
			}
		}
	}
	for _, n := range c.Nodes {
		t.Journal.Note(n)
	}
	t.Journal.Cut()
}

// stray notes nodes that came into a set of the index's shape, or left it. Of
// an index that is not used meanwhile, too many are not worth remembering.
func (x *ShapeIndex) stray(members []sched.Member, most int) {
	for _, m := range members {
		x.strays = append(x.strays, m.Node)
	}
	if len(x.strays) > most {
		x.Index, x.strays = nil, nil
	}
}

// Sync returns the index, true for the nodes as they are now.
func (t *Indexes) Sync(s *cluster.View, id IndexID, score func(cluster.NodeID) int64) *ShapeIndex {
	return t.SyncBounds(s, id, nil, score)
}

// SyncBounds is Sync where scores are dear and bounds are cheap: no node scores above its bound. A node is scored
// when its bound comes first, so that of those that changed most are never scored. Such an index is asked by Top,
// TopFrom and Find alone.
func (t *Indexes) SyncBounds(s *cluster.View, id IndexID, bound, score func(cluster.NodeID) int64) *ShapeIndex {
	x := t.lookup(id)
	x.bound, x.score = bound, score
	switch end := t.Journal.End(); {
	case x.Index == nil:
		x.Index = t.blank()
		t.rebuild(s, x)
	case end-x.synced > uint64(len(t.Order.At)) || !t.Journal.Reaches(x.synced): // to look at all is cheaper, or needed
		t.rebuild(s, x)
	default:
		t.Ticks += int64(len(x.strays))
		for _, n := range x.strays {
			t.score(x, n)
		}
		t.catchUp(x)
	}
	x.strays, x.synced = x.strays[:0], t.Journal.End()
	return x
}

// score scores one node anew.
func (t *Indexes) score(x *ShapeIndex, n cluster.NodeID) { x.Set(int(t.Order.Rank[n]), x.leaf(n)) }

// leaf is what stands for the node in the index: its score, or twice its bound and one. So a bound comes before
// the same score, which stands as twice itself, and whoever comes first by a score does so whatever the others have.
func (x *ShapeIndex) leaf(n cluster.NodeID) int64 {
	if x.bound == nil {
		return x.score(n)
	}
	return twice(x.bound(n), 1)
}

// twice is twice a number and a digit more; None stays None.
func twice(score, digit int64) int64 {
	if score == None {
		return None
	}
	return 2*score + digit
}

// settle scores nodes until it is a score that comes first, and not a bound, or nobody can score so much.
func (t *Indexes) settle(x *ShapeIndex, least int64) {
	for best := x.Most(); best&1 == 1 && x.most() >= least; best = x.Most() {
		rank := x.first(best)
		x.Set(rank, twice(x.score(t.Order.At[rank]), 0))
	}
}

// catchUp scores what changed since the index was last used. With hundreds of
// indexes none of them is in the processor's cache; reading the leaves of many
// nodes before the first is needed lets those reads overlap, which halves the
// time.
func (t *Indexes) catchUp(x *ShapeIndex) {
	var nodes [64]cluster.NodeID
	count := 0
	for n := range t.Journal.Since(x.synced) {
		rank := t.Order.Rank[n]
		t.touched |= x.best[0][rank] | x.best[1][rank>>fanBits]
		nodes[count] = n
		if count++; count == len(nodes) {
			t.scoreAll(x, nodes[:])
			count = 0
		}
	}
	t.scoreAll(x, nodes[:count])
}

func (t *Indexes) scoreAll(x *ShapeIndex, nodes []cluster.NodeID) {
	for _, n := range nodes {
		t.score(x, n)
	}
	t.Ticks += int64(len(nodes))
}

// lookup returns the index of that name, or a new one without leaves.
func (t *Indexes) lookup(id IndexID) *ShapeIndex {
	t.uses++
	for _, x := range t.shapes[id.Shape] {
		if x.id == id {
			x.used = t.uses
			return x
		}
	}
	if (t.kept+1)*len(t.Order.At) > maxLeaves && t.kept > 1 {
		t.forgetOldest()
	}
	x := &ShapeIndex{id: id, used: t.uses}
	t.shapes[id.Shape] = append(t.shapes[id.Shape], x)
	t.kept++
	return x
}

// forgetOldest forgets the half that was not used for longest.
func (t *Indexes) forgetOldest() {
	var uses []uint64
	for _, list := range t.shapes {
		for _, x := range list {
			uses = append(uses, x.used)
		}
	}
	slices.Sort(uses)
	last := uses[(len(uses)-1)/2]
	for shape := range t.shapes {
		t.drop(cluster.ShapeID(shape), func(x *ShapeIndex) bool { return x.used <= last })
	}
}

// drop forgets indexes of a shape. Whoever still holds one may go on reading it until the
// next one is made.
func (t *Indexes) drop(shape cluster.ShapeID, old func(*ShapeIndex) bool) {
	t.shapes[shape] = slices.DeleteFunc(t.shapes[shape], func(x *ShapeIndex) bool {
		if !old(x) {
			return false
		}
		t.kept--
		if x.Index != nil && (t.kept+len(t.spare)+1)*len(t.Order.At) <= maxLeaves {
			t.spare = append(t.spare, x.Index)
		}
		return true
	})
}

// blank returns an index whose leaves are yet to be filled.
func (t *Indexes) blank() *Index {
	if n := len(t.spare); n > 0 {
		x := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return x
	}
	return NewIndex(len(t.Order.At), t.ties)
}

func (t *Indexes) rebuild(s *cluster.View, x *ShapeIndex) {
	x.were = x.were[:0]
	t.Ticks += int64(len(t.Order.At))
	x.Fill(func(rank int) int64 {
		if rank >= len(t.Order.At) || int(t.Order.At[rank]) >= s.NodeRows() {
			return None
		}
		return x.leaf(t.Order.At[rank])
	})
}

// Top is the best node of the index.
func (t *Indexes) Top(x *ShapeIndex) (cluster.NodeID, bool) { return t.TopFrom(x, None+1) }

// TopFrom is the best node of the index if it scores so much; false without a look where no bound is as high.
func (t *Indexes) TopFrom(x *ShapeIndex, least int64) (cluster.NodeID, bool) {
	t.Ticks++
	if x.bound != nil {
		t.settle(x, least)
	}
	if x.most() < least {
		return 0, false
	}
	rank, ok := x.Top(t.source)
	if !ok {
		return 0, false
	}
	return t.Order.At[rank], true
}

// most is the score, or the bound, of the best node.
func (x *ShapeIndex) most() int64 {
	if best := x.Most(); x.bound == nil || best == None {
		return best
	}
	return x.Most() >> 1
}

// Find takes the best node from the index. Nodes that have as many tasks of the job as
// they may, or where a constraint forbids it, stay hidden in the index; beside says that one
// was refused only for another task of the job.
func (t *Indexes) Find(s *cluster.View, x *ShapeIndex, task cluster.TaskID) (n cluster.NodeID, ok, beside bool) {
	for {
		n, ok := t.Top(x)
		if !ok {
			return 0, false, beside
		}
		refusal := s.Admits(task, n)
		if !refusal.Refused() {
			return n, true, beside
		}
		t.Hide(x, n)
		beside = beside || refusal.Code == cluster.NotApart
	}
}

// Update scores a node anew after the policy changed it, in x at once and in
// the other indexes when they are next used.
func (t *Indexes) Update(x *ShapeIndex, n cluster.NodeID) {
	current := x.synced == t.Journal.End()
	t.Journal.Note(n)
	t.score(x, n)
	if current {
		x.synced = t.Journal.End()
	}
}

// Hide takes the node out of the index until Unhide.
func (t *Indexes) Hide(x *ShapeIndex, n cluster.NodeID) {
	rank := t.Order.Rank[n]
	if len(x.Hidden) == 0 {
		x.hiding, x.were = t.Journal.End(), x.were[:0]
	}
	x.Hidden, x.were = append(x.Hidden, n), append(x.were, x.Leaves()[rank])
	x.Set(int(rank), None)
}

// Unhide puts back what was hidden. Of a job that may not share nodes that can be thousands of them, so that they are
// not scored again but where they have changed.
func (t *Indexes) Unhide(x *ShapeIndex) {
	changes := t.Journal.End() - x.hiding
	if len(x.were) != len(x.Hidden) || changes >= uint64(len(x.Hidden)) || !t.Journal.Reaches(x.hiding) {
		t.scoreAll(x, x.Hidden)
	} else {
		for i, n := range slices.Backward(x.Hidden) { // of one that was hidden twice the first is what it was
			x.Set(int(t.Order.Rank[n]), x.were[i])
		}
		for n := range t.Journal.Since(x.hiding) {
			t.score(x, n)
		}
		t.Ticks += int64(len(x.Hidden))
	}
	x.Hidden = x.Hidden[:0]
}
