// Package fragmentation measures how much of what is free is of no use to the tasks of
// a workload: as Weng et al. do for devices (Beware of Fragmentation, USENIX ATC 2023).
// Policy fgd places by it, and the simulator reports it.
package fragmentation

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Mix is what tasks typically ask for, and measures by it how much of a node's
// free devices is of no use: the fragmentation of Weng et al. (Beware of
// Fragmentation, USENIX ATC 2023; FGD). A device is a fragment to a shape if
// the node lacks something else that the shape needs, or has too few devices
// with enough left, or if too little is left of this device. Fragments are
// weighted by how many tasks have the shape. Of the demand only cpu counts and
// what comes in devices, as in the paper.
//
// Ours: several kinds may come in devices, where the paper has GPUs alone. Each is
// measured by itself, and the others are among what a shape may lack: a GPU is of no
// use to it without a network card that it needs beside that, nor is a card without
// the GPU, and a card is of none to those who ask for no card. With one kind this is
// the measure of the paper.
//
// A mix is given, or learned from the tasks that are submitted: then it is made
// anew whenever their number has doubled. All is integers, so that it is the
// same on every machine.
type Mix struct {
	cpu         int                  // kind; -1 if there is none
	kinds       []cluster.DeviceKind // that come in devices
	shapes      []mixShape
	asks        []mixAsk
	shares      []mixShare
	tasks       int64
	given       bool
	seen        map[string]*mixShape // while learning
	key         []byte               // scratch: of seen
	last        []cluster.Seq        // per task row, the last task that was counted there
	total, next int64                // tasks seen, and at how many the mix is made anew
	all, waste  []int64              // scratch of Waste, by kind
}

// Typical is a shape that many tasks of a workload have.
type Typical struct {
	Demand       cluster.Vector // 0 in kinds that do not count
	Requirements []cluster.Requirement
	Tasks        int
}

// mixShape is a shape of the mix. Which nodes it may use is given by requirements
// where the mix is given, by a set where it is learned.
type mixShape struct {
	cpu          int64
	devices      []int64 // by kind
	ask          int     // row of Mix.asks
	set          cluster.SetID
	requirements []cluster.Requirement
	tasks        int64
}

// mixAsk is what some of the shapes ask of devices: far fewer than shapes, so that whether a
// node has it is worked out once for all of them.
type mixAsk struct {
	devices []int64   // by kind
	needs   []mixNeed // by kind
	fits    bool
	tasks   int64 // of the shapes that the node takes
}

// mixNeed is what an ask needs of a kind: so many devices that have a share left.
type mixNeed struct{ count, share int } // the share as a row of Mix.shares

// mixShare is a share that shapes of the mix ask for. How many devices of a node
// have it left, and how much is left on the others, is worked out once for all of them.
type mixShare struct {
	kind   int // of Mix.kinds
	share  int64
	enough int
	rest   int64
}

// Left is what is free on a node, as far as a mix looks at it.
type Left struct {
	CPU     int64
	Devices [][]int64 // by kind that comes in devices, of each device
}

// Some reports whether a device has something free.
func (l *Left) Some() bool {
	return slices.ContainsFunc(l.Devices, func(free []int64) bool { return slices.ContainsFunc(free, func(q int64) bool { return q > 0 }) })
}

// NewMix is a mix of the given shapes; without any it is learned.
func NewMix(kinds []cluster.Kind, typical []Typical) *Mix {
	m := &Mix{
		cpu:   slices.IndexFunc(kinds, func(k cluster.Kind) bool { return k.Name == "cpu" }),
		kinds: cluster.DeviceKinds(kinds),
		given: len(typical) > 0, seen: map[string]*mixShape{}, next: 1,
	}
	m.all, m.waste = make([]int64, len(m.kinds)), make([]int64, len(m.kinds))
	for _, t := range typical {
		shape := m.shapeOf(t.Demand)
		shape.requirements, shape.tasks = t.Requirements, int64(t.Tasks)
		m.shapes = append(m.shapes, shape)
		m.tasks += shape.tasks
	}
	m.gather()
	return m
}

// shapeOf is what counts of a demand.
func (m *Mix) shapeOf(demand cluster.Vector) mixShape {
	shape := mixShape{set: cluster.AllNodes}
	if m.cpu >= 0 {
		shape.cpu = demand[m.cpu]
	}
	for _, k := range m.kinds {
		shape.devices = append(shape.devices, demand[k.Kind])
	}
	return shape
}

// gather lists what the shapes ask for, and the shares among that.
func (m *Mix) gather() {
	m.asks, m.shares = m.asks[:0], m.shares[:0]
	for i := range m.shapes {
		shape := &m.shapes[i]
		shape.ask = slices.IndexFunc(m.asks, func(a mixAsk) bool { return slices.Equal(a.devices, shape.devices) })
		if shape.ask < 0 {
			shape.ask = len(m.asks)
			m.asks = append(m.asks, m.askOf(shape.devices))
		}
	}
}

func (m *Mix) askOf(devices []int64) mixAsk {
	ask := mixAsk{devices: devices}
	for k, q := range devices {
		need := m.kinds[k].Need(q)
		if need.Count == 0 {
			need.Share = math.MaxInt64 // all is of no use to those who ask for nothing of the kind
		}
		row := slices.IndexFunc(m.shares, func(s mixShare) bool { return s.kind == k && s.share == need.Share })
		if row < 0 {
			row = len(m.shares)
			m.shares = append(m.shares, mixShare{kind: k, share: need.Share})
		}
		ask.needs = append(ask.needs, mixNeed{need.Count, row})
	}
	return ask
}

// count counts a task of the shape.
func (m *Mix) count(shape *cluster.Shape) {
	m.key = binary.AppendUvarint(m.key[:0], uint64(shape.Eligible))
	if m.cpu >= 0 {
		m.key = binary.AppendVarint(m.key, shape.Demand[m.cpu])
	}
	for _, k := range m.kinds {
		m.key = binary.AppendVarint(m.key, shape.Demand[k.Kind])
	}
	of := m.seen[string(m.key)]
	if of == nil {
		fresh := m.shapeOf(shape.Demand)
		fresh.set, of = shape.Eligible, &fresh
		m.seen[string(m.key)] = of
	}
	of.tasks++
	m.total++
}

// covered is the share of the tasks, in per cent, that typical shapes cover; the
// rare ones are left out, as in the paper.
const covered = 95

// Learn counts the task of the row, if there is one that was not counted before,
// and reports whether the mix was made anew.
func (m *Mix) Learn(s *cluster.View, t cluster.TaskID) bool {
	task := s.Task(t)
	if m.given || len(m.kinds) == 0 || task.Phase == cluster.Absent {
		return false
	}
	if more := int(t) + 1 - len(m.last); more > 0 {
		m.last = append(m.last, make([]cluster.Seq, more)...)
	}
	if m.last[t] == task.Seq {
		return false
	}
	m.last[t] = task.Seq
	m.count(s.Shape(task.Shape))
	if m.total < m.next {
		return false
	}
	m.next = 2 * m.total
	m.shapes, m.tasks = m.shapes[:0], 0
	for _, shape := range m.seen { // sorted below: no two are equal
		m.shapes = append(m.shapes, *shape)
	}
	slices.SortFunc(m.shapes, func(a, b mixShape) int {
		return cmp.Or(cmp.Compare(b.tasks, a.tasks), slices.Compare(a.devices, b.devices), cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.set, b.set))
	})
	for i := range m.shapes {
		if m.tasks*100 >= m.total*covered {
			m.shapes = m.shapes[:i]
			break
		}
		m.tasks += m.shapes[i].tasks
	}
	m.gather()
	return true
}

// Tasks is how many tasks the mix is of: what Waste is weighted by.
func (m *Mix) Tasks() int64 { return m.tasks }

// Admits says for each shape of the mix whether it may use the node, and appends
// that to the list.
func (m *Mix) Admits(s *cluster.View, n cluster.NodeID, list []bool) []bool {
	labels := s.NodeSpec(n).Labels
	for i := range m.shapes {
		shape := &m.shapes[i]
		ok := s.Eligible(shape.set, n)
		for _, r := range shape.requirements {
			ok = ok && r.Matches(labels)
		}
		list = append(list, ok)
	}
	return list
}

// Left fills in what is free on the node.
func (m *Mix) Left(s *cluster.View, n cluster.NodeID, to *Left) {
	to.CPU = 0
	if m.cpu >= 0 {
		to.CPU = max(s.Limit(n)[m.cpu]-s.Used(n)[m.cpu], 0)
	}
	to.Devices = slices.Grow(to.Devices[:0], len(m.kinds))[:len(m.kinds)]
	for i, k := range m.kinds {
		to.Devices[i] = s.FreeDevices(n, k, to.Devices[i][:0])
	}
}

// Waste is, by kind that comes in devices, the fragmentation of what is left on a node that
// admits these shapes: quantities times tasks. It works in memory of the mix, so that two
// must not run at once, and what it returns is valid until the next call.
func (m *Mix) Waste(admits []bool, left *Left) []int64 {
	for k, free := range left.Devices {
		m.all[k], m.waste[k] = 0, 0
		for _, q := range free {
			m.all[k] += q
		}
	}
	if !left.Some() {
		return m.waste
	}
	for i := range m.shares {
		s := &m.shares[i]
		s.enough, s.rest = 0, 0
		for _, q := range left.Devices[s.kind] {
			if q >= s.share {
				s.enough++
			} else {
				s.rest += q
			}
		}
	}
	for i := range m.asks {
		m.asks[i].fits, m.asks[i].tasks = m.enough(&m.asks[i]), 0
	}
	for i := range m.shapes {
		shape := &m.shapes[i]
		if ask := &m.asks[shape.ask]; admits[i] && shape.cpu <= left.CPU && ask.fits {
			ask.tasks += shape.tasks
		}
	}
	for k, all := range m.all {
		m.waste[k] = m.tasks * all // to those who cannot run here
		for i := range m.asks {
			ask := &m.asks[i]
			m.waste[k] -= ask.tasks * (all - m.shares[ask.needs[k].share].rest)
		}
	}
	return m.waste
}

// enough reports whether the node has enough devices that have left what is asked for.
func (m *Mix) enough(ask *mixAsk) bool {
	for _, need := range ask.needs {
		if m.shares[need.share].enough < need.count {
			return false
		}
	}
	return true
}
