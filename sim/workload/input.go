package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sim/trace"
)

// This file gives a workload data: each node a rack, and each task that ends an
// input of blocks with replicas on nodes, as Firmament's simulator does for
// Quincy's policy (OSDI'16).
//
// How much a task reads follows from how long it works: the share of tasks that
// work for a shorter time, by the distribution of Google's job durations, is the
// share of inputs that are smaller, by that of Facebook's. So half of all inputs,
// those of tasks of up to 8 minutes, are one part of 64 MiB, and none is larger
// than 320 parts; between, the share grows with the logarithm of the size. Sizes
// are rounded up to whole blocks. A task that never ends reads nothing.
//
// A task's input is a function of seed, job, index and work, and of the nodes
// that had joined by then; nodes that are lost keep theirs. A node that names
// its rack, and a task that has input, are left as they are. A job's tasks have
// inputs of their own.

// Layout says where replicas go.
type Layout string

// The layouts.
const (
	// HDFS puts one replica of each block of an input on one node, as if the
	// task that wrote it ran there, and the others of each block on different
	// nodes of one other rack.
	HDFS Layout = "hdfs"
	// Bounded draws each replica from a pool of the job's, of as many nodes as
	// the job's tasks have replicas of one block. Nodes may be drawn twice, for
	// the pool and for a block, which then has fewer replicas. Firmament's
	// published experiments use this one, with blocks of 1 GiB. A job that does
	// not say how many tasks it has draws from all nodes.
	Bounded Layout = "bounded"
	// Uniform draws different nodes for each block.
	Uniform Layout = "uniform"
	// Skewed draws them by a power law: the earlier a node joined, the more it
	// holds.
	Skewed Layout = "skewed"
)

// Layouts lists the layouts.
func Layouts() []Layout { return []Layout{HDFS, Bounded, Uniform, Skewed} }

// Data says how tasks' input is made up.
type Data struct {
	Layout Layout
	// Rack is how many nodes a rack has.
	Rack int
	// Replicas is how many nodes hold a block, if there are as many; of Bounded,
	// at most.
	Replicas int
	// Block is the size of blocks in bytes. Firmament's experiments have 1 GiB.
	Block int64
	// Skew is the exponent of Skewed: the share of replicas on nodes behind the
	// k-th falls as k to the power of -Skew.
	Skew float64
	Seed uint64
}

// DefaultData is Firmament's HDFS with blocks of the size in which inputs are
// counted.
func DefaultData() Data {
	return Data{Layout: HDFS, Rack: 30, Replicas: 3, Block: inputPart, Skew: 1.04, Seed: 1}
}

// MinBlock and MaxBlock are the smallest and the largest block, in bytes.
const (
	MinBlock = 1 << 20
	MaxBlock = 1 << 40
)

const minSkew, maxSkew = 0.01, 3

// Validate reports the first field that has no meaning.
func (d Data) Validate() error {
	switch {
	case !slices.Contains(Layouts(), d.Layout):
		return fmt.Errorf("workload: Layout = %q, want one of %v", d.Layout, Layouts())
	case d.Rack < 1 || d.Rack > maxNodes:
		return fmt.Errorf("workload: Rack = %d, want 1 to %d", d.Rack, maxNodes)
	case d.Replicas < 1 || d.Replicas > trace.MostReplicas:
		return fmt.Errorf("workload: Replicas = %d, want 1 to %d", d.Replicas, trace.MostReplicas)
	case d.Block < MinBlock || d.Block > MaxBlock:
		return fmt.Errorf("workload: Block = %d, want %d to %d bytes", d.Block, MinBlock, int64(MaxBlock))
	case !(d.Skew >= minSkew && d.Skew <= maxSkew):
		return fmt.Errorf("workload: Skew = %g, want %g to %d", d.Skew, minSkew, maxSkew)
	}
	return nil
}

// WithData is src with racks and input.
func WithData(src trace.Source, d Data) (trace.Source, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &withData{Source: src, data: d, works: inputWorks(), racks: racks{index: map[uint64]int{}, byName: map[string]int{}}}
	s.draw = rand.New(&s.pcg)
	return s, nil
}

type withData struct {
	trace.Source
	data  Data
	works []cluster.Time // see inputWorks
	pcg   rand.PCG
	draw  *rand.Rand

	racks
	below []uint64 // of Skewed: the weights of all nodes up to each

	// What the latest record refers to.
	groups   []cluster.Label
	input    []trace.Block
	replicas []uint64
	chosen   []int // nodes of the block that is being placed
}

// racks are the nodes that ever joined, by row in that order, and their racks.
type racks struct {
	ids     []uint64
	index   map[uint64]int // the row of an ID
	in      []int          // the rack of each
	members [][]int        // of each rack
	names   []string       // of each rack
	byName  map[string]int
	made    int // how many nodes were given a rack here
}

// Typical is what the source knows of its tasks.
func (s *withData) Typical() []fragmentation.Typical {
	if src, ok := s.Source.(trace.TypicalSource); ok {
		return src.Typical()
	}
	return nil
}

// End is when a run of the source stops unless told otherwise.
func (s *withData) End() cluster.Time {
	if src, ok := s.Source.(trace.EndingSource); ok {
		return src.End()
	}
	return 0
}

// Next fills in the next record, with racks and input.
func (s *withData) Next(r *trace.Record) error {
	if err := s.Source.Next(r); err != nil {
		return err
	}
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		s.node(&r.Node)
	case trace.TaskSubmitted:
		if r.Task.Input == nil {
			r.Task.Input = s.inputOf(&r.Task)
		}
	case trace.NodeLost, trace.NodeUsed, trace.TaskKilled, trace.ConstraintAdded, trace.ConstraintRemoved, trace.BudgetAdded:
	}
	return nil
}

const rackFamily = "rack"

// node gives the node its rack.
func (s *withData) node(n *trace.Node) {
	named := ""
	for _, g := range n.Groups {
		if g.Key == rackFamily {
			named = g.Value
		}
	}
	rack, first := s.join(n.ID, named, s.data.Rack)
	if named == "" {
		s.groups = append(append(s.groups[:0], n.Groups...), cluster.Label{Key: rackFamily, Value: rack})
		cluster.SortLabels(s.groups)
		n.Groups = s.groups
	}
	if first && s.data.Layout == Skewed {
		s.below = append(s.below, s.weightUpTo(len(s.ids)-1))
	}
}

// join is the node's rack, and whether it is there for the first time. One that names none
// gets one of so many nodes.
func (r *racks) join(id uint64, named string, size int) (rack string, first bool) {
	if at, known := r.index[id]; known { // its data stay where they are, whatever its rack is called now
		return cmp.Or(named, r.names[r.in[at]]), false
	}
	if named == "" {
		named = "r" + strconv.Itoa(r.made/size)
		r.made++
	}
	row, there := r.byName[named]
	if !there {
		row = len(r.members)
		r.byName[named] = row
		r.members, r.names = append(r.members, nil), append(r.names, named)
	}
	at := len(r.ids)
	r.index[id] = at
	r.ids, r.in = append(r.ids, id), append(r.in, row)
	r.members[row] = append(r.members[row], at)
	return named, true
}

// inputPart is the size in which inputs are counted, and mostParts the largest.
const (
	inputPart = 64 << 20
	mostParts = 320
)

// inputWorks lists from how much work on an input has 2 parts, 3, and so on. A
// share 1 - 0.298 h^-0.2627 of jobs last less than h hours; a share
// 1/2 + lg(x)/2 lg(320) of inputs have less than x parts, which are rounded.
// Works are rounded too, to milliseconds, so that they are the same on every
// machine although logarithms and powers are not.
func inputWorks() []cluster.Time {
	var works []cluster.Time
	for parts := 2; parts <= mostParts; parts++ {
		share := 0.5 + 0.5*math.Log2(float64(parts)-0.5)/math.Log2(mostParts)
		hours := math.Pow((1-share)/0.298, -1/0.2627)
		ms := math.Round(hours * 3600e3)
		if ms > float64(cluster.Never/cluster.Millisecond) {
			break
		}
		works = append(works, cluster.Time(ms)*cluster.Millisecond)
	}
	return works
}

// bytesOf is how much a task reads that works so long.
func (s *withData) bytesOf(work cluster.Time) int64 {
	at, found := slices.BinarySearch(s.works, work)
	if found {
		at++
	}
	return int64(at+1) * inputPart
}

// inputOf makes up the task's input.
func (s *withData) inputOf(t *trace.Task) []trace.Block {
	if t.Work == cluster.Never || len(s.ids) == 0 {
		return nil
	}
	s.pcg.Seed(mix(s.data.Seed^mix(t.Job)), mix(uint64(t.Index)))
	s.input, s.replicas = s.input[:0], s.replicas[:0]
	blocks := (s.bytesOf(t.Work) + s.data.Block - 1) / s.data.Block
	writer := s.draw.IntN(len(s.ids))
	pool := int(min(uint64(t.JobTasks)*uint64(s.data.Replicas), uint64(len(s.ids))))
	for range blocks {
		from := len(s.replicas)
		if s.data.Layout == Bounded && pool > 0 {
			s.fromPool(t.Job, pool)
		} else {
			s.place(writer)
		}
		for _, n := range s.chosen {
			s.replicas = append(s.replicas, s.ids[n])
		}
		s.input = append(s.input, trace.Block{Bytes: s.data.Block, Replicas: s.replicas[from:len(s.replicas):len(s.replicas)]})
	}
	return s.input
}

// mix spreads the bits of x, so that near numbers seed streams that are not.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// place chooses the nodes of a block.
func (s *withData) place(writer int) {
	s.chosen = s.chosen[:0]
	switch s.data.Layout {
	case HDFS:
		s.chosen = append(s.chosen, writer)
		nodes := s.members[s.otherRack(writer, s.draw)]
		free := len(nodes)
		if s.in[nodes[0]] == s.in[writer] {
			free--
		}
		s.choose(free, func() int { return nodes[s.draw.IntN(len(nodes))] })
		s.choose(len(s.ids)-len(s.chosen), s.any) // where the rack is too small
	case Uniform, Bounded:
		s.choose(len(s.ids), s.any)
	case Skewed:
		s.choose(len(s.ids), s.heavy)
	}
}

// fromPool chooses the nodes of a block from the job's pool, of which nothing is
// kept: its nodes are a function of seed, job and number.
func (s *withData) fromPool(job uint64, size int) {
	s.chosen = s.chosen[:0]
	for range s.data.Replicas {
		number := uint64(s.draw.IntN(size))
		n := int(mix(mix(s.data.Seed^mix(job))+number) % uint64(len(s.ids)))
		if !slices.Contains(s.chosen, n) {
			s.chosen = append(s.chosen, n)
		}
	}
}

// choose draws nodes that were not chosen yet, of which so many are free, until
// the block has all its replicas.
func (s *withData) choose(free int, draw func() int) {
	for ; free > 0 && len(s.chosen) < s.data.Replicas; free-- {
		n := draw()
		for slices.Contains(s.chosen, n) {
			n = draw()
		}
		s.chosen = append(s.chosen, n)
	}
}

// otherRack draws a rack that is not the node's own, if there is one.
func (r *racks) otherRack(node int, draw *rand.Rand) int {
	own := r.in[node]
	if len(r.members) == 1 {
		return own
	}
	rack := draw.IntN(len(r.members) - 1)
	if rack >= own {
		rack++
	}
	return rack
}

// any draws one of all nodes.
func (s *withData) any() int { return s.draw.IntN(len(s.ids)) }

// heavy draws one of all nodes by weight.
func (s *withData) heavy() int {
	u := s.draw.Uint64N(s.below[len(s.below)-1])
	n, found := slices.BinarySearch(s.below, u)
	if found {
		n++
	}
	return n
}

// weightUpTo is the weight of the nodes up to the given one: all but what a
// power law leaves behind it. It is rounded, as works are.
func (s *withData) weightUpTo(node int) uint64 {
	up := uint64(math.Round((1 - math.Pow(float64(node+2), -s.data.Skew)) * (1 << 40)))
	if node == 0 {
		return max(up, 1)
	}
	return max(up, s.below[node-1]+1)
}
