package worth

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file learns what tasks typically ask for.

// mostTypes bounds the types: the work for each node is in proportion to them.
const mostTypes = 48

// mix counts the tasks that were submitted by what they ask for. Demands that are the same up to an
// eighth of an octave in each kind, on the same nodes, count as one, that of the first.
// Whenever the number of tasks has doubled, types are chosen anew, and all that was counted so far
// counts half from then on: what was asked for long ago is forgotten.
type mix struct {
	asks        []ask // in the order in which they came
	named       map[string]int
	key         []byte        // scratch: of named
	byShape     []int32       // one more than the row of the ask; 0 of a shape that was not looked at
	last        []cluster.Seq // by task row: one more than that of the last task which was counted there
	total, next int64         // tasks, and at how many types are chosen
}

// ask is what some tasks have asked for.
type ask struct {
	name   string
	demand cluster.Vector
	set    cluster.SetID
	needs  cluster.DeviceNeeds
	tasks  int64 // times counted
}

// counted is what a task counts when it comes: after nine doublings it counts nothing.
const counted = 1 << 8

// typical is a type.
type typical struct {
	ask
	weight int64
	slots  int64 // how many more there is room for in the cluster
	size   int64 // see Worth.SizeOf
}

// forgetShapes looks at those again that have become others.
func (m *mix) forgetShapes(shapes []cluster.ShapeID) {
	for _, id := range shapes {
		if int(id) < len(m.byShape) {
			m.byShape[id] = 0
		}
	}
}

// count counts the task of a row, unless it was counted before. One that asks for nothing is counted once it asks for something.
func (m *mix) count(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	for int(t) >= len(m.last) {
		m.last = append(m.last, 0)
	}
	if task.Phase == cluster.Absent || m.last[t] == task.Seq+1 {
		return
	}
	if asksNothing(s.Shape(task.Shape).Demand) {
		return
	}
	m.last[t] = task.Seq + 1
	row := 0
	if task.Protection().Reason == cluster.BelongsToNode { // such tasks would have a type for each node
		row = m.on(s, task.Shape, cluster.AllNodes)
	} else {
		row = m.of(s, task.Shape)
	}
	m.asks[row].tasks += counted
	m.total++
}

func asksNothing(demand cluster.Vector) bool {
	return !slices.ContainsFunc(demand, func(q int64) bool { return q > 0 })
}

// of is the row of what a shape asks for.
func (m *mix) of(s *cluster.View, id cluster.ShapeID) int {
	for int(id) >= len(m.byShape) {
		m.byShape = append(m.byShape, 0)
	}
	if row := m.byShape[id]; row > 0 {
		return int(row - 1)
	}
	set := s.Shape(id).Eligible
	if usual := s.Shape(id).Usual; usual != cluster.AllNodes {
		set = usual
	}
	row := m.on(s, id, set)
	m.byShape[id] = int32(row + 1)
	return row
}

// on is the row of what a shape asks for on the nodes of a set.
func (m *mix) on(s *cluster.View, id cluster.ShapeID, set cluster.SetID) int {
	shape := s.Shape(id)
	m.key = binary.AppendUvarint(m.key[:0], uint64(set))
	for _, q := range shape.Demand {
		m.key = binary.AppendUvarint(m.key, uint64(eighths(q)))
	}
	row, ok := m.named[string(m.key)]
	if !ok {
		row = len(m.asks)
		if m.named == nil {
			m.named = map[string]int{}
		}
		name := string(m.key)
		m.named[name] = row
		m.asks = append(m.asks, ask{name: name, demand: slices.Clone(shape.Demand), set: set, needs: slices.Clone(s.DeviceNeeds(id))})
	}
	return row
}

// eighths is a quantity in eighths of octaves: 0 is 0, and two in one eighth are the same.
func eighths(q int64) int {
	if q <= 0 {
		return 0
	}
	digits := bits.Len64(uint64(q)) - 1
	high, low := bits.Mul64(uint64(q), 1<<16)
	mantissa := low >> digits
	if digits > 0 {
		mantissa |= high << (64 - digits)
	}
	octave := [...]uint64{65536, 71468, 77935, 84988, 92681, 101070, 110217, 120194} // 2^(i/8), with 16 binary digits behind the point
	step, _ := slices.BinarySearch(octave[:], mantissa+1)
	return 8*digits + step
}

// choose chooses the types: those that most room is asked for by, in tasks times size. The tasks of
// all others count as of the smallest type that asks for as much in every kind, if there is one.
func (m *mix) choose(sizeOf func(cluster.Vector) int64) []typical {
	var types []typical
	for _, a := range m.asks {
		if size := sizeOf(a.demand); size > 0 {
			types = append(types, typical{ask: a, size: size})
		}
	}
	slices.SortStableFunc(types, func(a, b typical) int {
		aHigh, aLow := bits.Mul64(uint64(a.tasks), uint64(a.size))
		bHigh, bLow := bits.Mul64(uint64(b.tasks), uint64(b.size))
		return cmp.Or(cmp.Compare(bHigh, aHigh), cmp.Compare(bLow, aLow))
	})
	if len(types) > mostTypes {
		rare := types[mostTypes:]
		types = types[:mostTypes]
		for i := range rare {
			if t := dominating(types, &rare[i]); t != nil {
				t.tasks += rare[i].tasks
			}
		}
	}
	return types
}

// halve lets all that was counted count half, and forgets what counts nothing any more, if the number of tasks has
// doubled since that was done last.
func (m *mix) halve() {
	if m.total < m.next {
		return
	}
	m.next = 2 * max(m.total, 1)
	for i := range m.asks {
		m.asks[i].tasks /= 2
	}
	m.asks = slices.DeleteFunc(m.asks, func(a ask) bool { return a.tasks == 0 })
	clear(m.named)
	for i := range m.asks {
		m.named[m.asks[i].name] = i
	}
	clear(m.byShape)
}

// dominating is the smallest type that asks for as much in every kind, on the same nodes.
func dominating(types []typical, a *typical) *typical {
	var best *typical
	for i := range types {
		t := &types[i]
		if t.set == a.set && a.demand.Fits(t.demand) && (best == nil || t.size < best.size) {
			best = t
		}
	}
	return best
}
