package cluster

import (
	"cmp"
	"slices"
)

// Mix is what tasks typically ask for, and measures by it how much of a node's
// free devices is of no use: the fragmentation of Weng et al. (Beware of
// Fragmentation, USENIX ATC 2023; FGD). A device is a fragment to a shape if
// the node lacks something else that the shape needs, or has too few devices
// with enough left, or if too little is left of this device. Fragments are
// weighted by how many tasks have the shape. Of the demand only cpu counts and
// what comes in devices, as in the paper.
//
// A mix is given, or learned from the tasks that are submitted: then it is made
// anew whenever their number has doubled. All is integers, so that it is the
// same on every machine.
type Mix struct {
	cpu, devices int // kinds; -1 if there is none
	shapes       []mixShape
	shares       []mixShare
	tasks        int64
	given        bool
	seen         map[mixKey]int64 // tasks by shape, while learning
	last         []Seq            // per task row, the last task that was counted there
	total, next  int64            // tasks seen, and at how many the mix is made anew
}

// Typical is a shape that many tasks of a workload have.
type Typical struct {
	Demand       Vector // 0 in kinds that do not count
	Requirements []Requirement
	Tasks        int
}

// mixShape is a shape of the mix. Which nodes it may use is given by requirements
// where the mix is given, by a set where it is learned.
type mixShape struct {
	mixKey
	need         DeviceNeed
	shareRow     int // of need.Share, in Mix.shares
	requirements []Requirement
	tasks        int64
}

// mixShare is a share that shapes of the mix ask for: far fewer than shapes.
// How many devices of a node have it left, and how much is left on the others,
// is worked out once for all of them.
type mixShare struct {
	share  int64
	enough int
	rest   int64
}

type mixKey struct {
	cpu, device int64
	set         SetID
}

// NewMix is a mix of the given shapes; without any it is learned.
func NewMix(kinds []Kind, typical []Typical) *Mix {
	m := &Mix{
		cpu:     slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == "cpu" }),
		devices: slices.IndexFunc(kinds, func(k Kind) bool { return k.Devices }),
		given:   len(typical) > 0, seen: map[mixKey]int64{}, next: 1,
	}
	for _, t := range typical {
		shape := mixShape{mixKey: m.keyOf(t.Demand, AllNodes), requirements: t.Requirements, tasks: int64(t.Tasks)}
		if m.devices >= 0 {
			shape.need = kinds[m.devices].Need(shape.device)
		}
		m.shapes = append(m.shapes, shape)
		m.tasks += shape.tasks
	}
	m.gather()
	return m
}

// gather lists the shares of the shapes.
func (m *Mix) gather() {
	m.shares = m.shares[:0]
	for i := range m.shapes {
		shape := &m.shapes[i]
		shape.shareRow = slices.IndexFunc(m.shares, func(s mixShare) bool { return s.share == shape.need.Share })
		if shape.shareRow < 0 {
			shape.shareRow = len(m.shares)
			m.shares = append(m.shares, mixShare{share: shape.need.Share})
		}
	}
}

func (m *Mix) keyOf(demand Vector, set SetID) mixKey {
	key := mixKey{set: set}
	if m.cpu >= 0 {
		key.cpu = demand[m.cpu]
	}
	if m.devices >= 0 {
		key.device = demand[m.devices]
	}
	return key
}

// covered is the share of the tasks, in per cent, that typical shapes cover; the
// rare ones are left out, as in the paper.
const covered = 95

// Learn counts the task of the row, if there is one that was not counted before,
// and reports whether the mix was made anew.
func (m *Mix) Learn(s *View, t TaskID) bool {
	task := s.Task(t)
	if m.given || m.devices < 0 || task.Phase == Absent {
		return false
	}
	m.last = grown(m.last, int(t))
	if m.last[t] == task.Seq {
		return false
	}
	m.last[t] = task.Seq
	shape := s.Shape(task.Shape)
	m.seen[m.keyOf(shape.Demand, shape.Eligible)]++
	m.total++
	if m.total < m.next {
		return false
	}
	m.next = 2 * m.total
	m.shapes, m.tasks = m.shapes[:0], 0
	for key, tasks := range m.seen {
		m.shapes = append(m.shapes, mixShape{mixKey: key, need: s.kinds[m.devices].Need(key.device), tasks: tasks})
	}
	slices.SortFunc(m.shapes, func(a, b mixShape) int {
		return cmp.Or(cmp.Compare(b.tasks, a.tasks), cmp.Compare(a.device, b.device), cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.set, b.set))
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
func (m *Mix) Admits(s *View, n NodeID, list []bool) []bool {
	for i := range m.shapes {
		shape := &m.shapes[i]
		ok := s.Eligible(shape.set, n)
		for _, r := range shape.requirements {
			ok = ok && r.Matches(s.node[n].spec.Labels)
		}
		list = append(list, ok)
	}
	return list
}

// FreeCPU is how much cpu is free on the node, as Waste counts it.
func (m *Mix) FreeCPU(s *View, n NodeID) int64 {
	if m.cpu < 0 {
		return 0
	}
	return max(s.Limit(n)[m.cpu]-s.Used(n)[m.cpu], 0)
}

// Waste is the fragmentation of devices of which so much is free, beside so much
// free cpu, on a node that admits these shapes: quantities times tasks. It works in memory of
// the mix, so that two must not run at once.
func (m *Mix) Waste(admits []bool, cpu int64, free []int64) int64 {
	all := int64(0)
	for _, q := range free {
		all += q
	}
	if all == 0 {
		return 0
	}
	for i := range m.shares {
		s := &m.shares[i]
		s.enough, s.rest = 0, 0
		for _, q := range free {
			if q >= s.share {
				s.enough++
			} else {
				s.rest += q
			}
		}
	}
	waste := int64(0)
	for i := range m.shapes {
		shape := &m.shapes[i]
		s := &m.shares[shape.shareRow]
		if shape.need.Count == 0 || !admits[i] || shape.cpu > cpu || s.enough < shape.need.Count {
			waste += shape.tasks * all
		} else {
			waste += shape.tasks * s.rest
		}
	}
	return waste
}
