package evict

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Rule reports whether a policy would let a task go that may be evicted, and if so fills in
// its rank and price.
type Rule func(s *cluster.View, c *Candidate) bool

// Occupants are the candidates of each node, in the order in which they go: by rank, then
// by price, among equals the latest submitted first. A node is looked at when somebody asks,
// and again when it was forgotten, as after each change of it. The zero value with a
// rule is ready.
//
// A round that looks at many nodes looks at them in one order again and again. So all rankings
// stand one behind the other, in the order in which they were made.
type Occupants struct {
	Rule Rule
	// Kept says that those are candidates, too, for whom a place is kept on the node until others have left: they would wait again.
	Kept bool
	// Together says that those are candidates, too, with whom others of their job have to leave, wherever these are. The rule leaves out whom the others keep, and ranks and prices the rest for all.
	Together bool
	Looks    int64 // how many candidates were ranked
	nodes    []ranking
	list     []Candidate // of all rankings, also of those that are forgotten
	spare    []Candidate // the memory of the list before the last compaction
	count    int         // of those in list that are not forgotten
	since    uint64      // rankings from before are forgotten
}

// ranking is where the candidates of a node stand in the list.
type ranking struct {
	from, to int32
	made     uint64 // 1 + since, when it was made; 0 when it is forgotten
}

// ForgetAll forgets the rankings of all nodes.
func (o *Occupants) ForgetAll() {
	o.since++
	o.list, o.count = o.list[:0], 0
}

// Forget forgets those of nodes that have changed.
func (o *Occupants) Forget(nodes ...cluster.NodeID) {
	for _, n := range nodes {
		if o.made(n) {
			r := &o.nodes[n]
			o.count -= int(r.to - r.from)
			r.made = 0
		}
	}
}

// made reports whether there is a ranking of the node that is not forgotten.
func (o *Occupants) made(n cluster.NodeID) bool {
	return int(n) < len(o.nodes) && o.nodes[n].made == o.since+1
}

// place is where the task that was submitted then stands in the list, if its node has a ranking that
// has it.
func (o *Occupants) place(n cluster.NodeID, seq cluster.Seq) (at int, ok bool) {
	if !o.made(n) {
		return 0, false
	}
	r := &o.nodes[n]
	at = slices.IndexFunc(o.list[r.from:r.to], func(c Candidate) bool { return c.Seq == seq })
	return int(r.from) + at, at >= 0
}

// Drop takes one off the ranking of a node where nothing else has changed.
func (o *Occupants) Drop(n cluster.NodeID, seq cluster.Seq) {
	if at, ok := o.place(n, seq); ok {
		r := &o.nodes[n]
		copy(o.list[at:r.to], o.list[at+1:r.to])
		r.to--
		o.count--
	}
}

// Reprice ranks one anew who has another price.
func (o *Occupants) Reprice(n cluster.NodeID, seq cluster.Seq, price int64) {
	if at, ok := o.place(n, seq); ok {
		r := &o.nodes[n]
		o.list[at].Price = price
		slices.SortFunc(o.list[r.from:r.to], inOrder)
	}
}

// On is who may leave the node. It is valid until a node is looked at again.
func (o *Occupants) On(s *cluster.View, n cluster.NodeID) []Candidate {
	for int(n) >= len(o.nodes) {
		o.nodes = append(o.nodes, ranking{})
	}
	if !o.made(n) {
		o.rank(s, n)
	}
	r := &o.nodes[n]
	return o.list[r.from:r.to]
}

// rank ranks the candidates of a node.
func (o *Occupants) rank(s *cluster.View, n cluster.NodeID) {
	const few = 1024
	if len(o.list) > 2*o.count+few {
		o.compact()
	}
	from := len(o.list)
	if tasks := len(s.TasksOn(n)); cap(o.list) < from+tasks { // twice as long, where append would make it a quarter longer
		o.list = slices.Grow(o.list, max(from, tasks))
	}
	for _, t := range s.TasksOn(n) {
		if !o.mayGo(s, t, n) {
			continue
		}
		if o.list = append(o.list, candidateOf(s, t)); !o.Rule(s, &o.list[len(o.list)-1]) {
			o.list = o.list[:len(o.list)-1]
		}
	}
	found := o.list[from:]
	o.Looks += int64(len(found))
	o.count += len(found)
	slices.SortFunc(found, inOrder)
	o.nodes[n] = ranking{int32(from), int32(len(o.list)), o.since + 1}
}

// mayGo reports whether the task may leave the node: its run may be evicted, or it waits there for others to leave, which costs nobody anything.
func (o *Occupants) mayGo(s *cluster.View, t cluster.TaskID, n cluster.NodeID) bool {
	task := s.Task(t)
	if s.Job(task.Job).Disruption == cluster.DisruptTogether {
		return o.Together && task.Node == n && task.Phase != cluster.Leaving
	}
	if o.Kept && task.Phase == cluster.Reserved {
		return task.Node == n && !s.Job(task.Job).Foreign && !cluster.IsGang(s, task.Job) // who is left of it would be placed without it
	}
	return !s.Evictable(t).Refused()
}

// compact drops what is forgotten from the list.
func (o *Occupants) compact() {
	list := slices.Grow(o.spare[:0], o.count)
	for i := range o.nodes {
		if r := &o.nodes[i]; o.made(cluster.NodeID(i)) {
			from := len(list)
			list = append(list, o.list[r.from:r.to]...)
			r.from, r.to = int32(from), int32(len(list))
		}
	}
	o.list, o.spare = list, o.list
}

// Below are the candidates of a lower rank than that, of those of a node.
func Below(candidates []Candidate, rank int64) []Candidate {
	at, _ := slices.BinarySearchFunc(candidates, rank, func(c Candidate, rank int64) int { return cmp.Compare(c.Rank, rank) })
	return candidates[:at]
}

func inOrder(a, b Candidate) int { return compare(&a, &b) }

// compare is the order in which candidates go.
func compare(a, b *Candidate) int {
	switch {
	case a.Rank != b.Rank:
		return cmp.Compare(a.Rank, b.Rank)
	case a.Price != b.Price:
		return cmp.Compare(a.Price, b.Price)
	}
	return cmp.Compare(b.Seq, a.Seq)
}
