package schedtest

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is what changes in the world of tasks that are there already: they
// are held back and released, ask for something else, and the sets and shapes
// that they name come, change and go.

// task draws a task that is there as far as was reported; nil if it has ended.
func (w *world) task() *wTask {
	if len(w.tasks) == 0 {
		return nil
	}
	t := w.tasks[w.chance.IntN(len(w.tasks))]
	if !t.sent || t.dead {
		return nil
	}
	return t
}

// holdSome reports that tasks are not to be placed for now; and whenever the
// core believes it, later, that they are.
func (w *world) holdSome() {
	for range 4 {
		t := w.task()
		if t == nil {
			continue
		}
		w.report(func() cluster.Event {
			t.gatedNow = !slices.ContainsFunc(w.order, func(r *wRun) bool { return r.task == t && r.known && !r.orphan })
			return cluster.TaskGated{Task: t.row, Seq: t.seq}
		}, func() {
			if row := w.core.View().Task(t.row); row.Seq == t.seq && row.Phase == cluster.Gated {
				w.count["gated"]++
				w.report(func() cluster.Event { return w.ungated(t) }, nil)
			}
		})
	}
}

// ungated is the event of a task that may be placed again.
func (w *world) ungated(t *wTask) cluster.Event {
	t.gatedNow = false
	return cluster.TaskUngated{Task: t.row, Seq: t.seq}
}

// reshapeSome lets tasks ask for something else, whatever they do.
func (w *world) reshapeSome() {
	for range 4 {
		if t := w.task(); t != nil {
			w.report(w.reshaped(t), nil)
		}
	}
}

// roomComes reports, in some worlds, that room is on its way for a shape, and later that it is not any more. It draws nothing, so that the worlds stay as they are otherwise.
func roomComes(w *world) {
	if w.seed%4 != 1 {
		return
	}
	shape := cluster.ShapeID(w.now/cluster.Second) % shapeCount
	for _, coming := range []bool{true, false} {
		after := cluster.Second
		if !coming {
			after = 15 * cluster.Second
		}
		w.post(after, func() cluster.Event {
			w.count["room coming"]++
			return cluster.RoomComing{Shape: shape, Coming: coming}
		}, nil)
	}
}

// reshaped is the event of a task that asks for something else, but for as many
// devices, since it cannot say which they will be.
func (w *world) reshaped(t *wTask) func() cluster.Event {
	to, priority := cluster.ShapeID(w.chance.IntN(shapeCount)), int32(w.chance.IntN(3))
	for counts(w.shapes[to].Demand) != counts(w.shapes[t.shape].Demand) {
		to = (to + 1) % shapeCount
	}
	return func() cluster.Event {
		t.shape = to
		for _, r := range w.order {
			if r.task == t && !r.orphan {
				r.reshape(w.shapes[to])
			}
		}
		w.count["reshaped"]++
		return cluster.TaskReshaped{Task: t.row, Seq: t.seq, Shape: to, Priority: priority}
	}
}

// redefine replaces the members of a set.
func (w *world) redefine(set int, delay cluster.Time) {
	w.post(delay, func() cluster.Event {
		e := cluster.SetDefined{Set: cluster.SetID(set + 1)}
		for _, n := range w.nodes {
			if !n.known {
				continue
			}
			if w.chance.IntN(6) == 0 {
				n.sets[set] = !n.sets[set]
			}
			if n.sets[set] {
				e.Nodes = append(e.Nodes, n.row)
			}
		}
		w.count["set redefined"]++
		return e
	}, nil)
}

// swapSpare makes the spare shape with the spare set, or forgets both if no
// task has the shape any more.
func (w *world) swapSpare() {
	const set = cluster.SetID(setCount + 1)
	if len(w.shapes) == shapeCount {
		for _, n := range w.nodes {
			n.sets[setCount] = false
		}
		w.redefine(setCount, 0)
		shape := cluster.Shape{Demand: w.chance.asking(w.vector(0, 6, gpuOf(shapeCount)), shapeCount), Eligible: set, Tags: w.tags()}
		w.shapes = append(w.shapes, shape)
		w.post(0, func() cluster.Event { return cluster.ShapeDefined{Shape: shapeCount, Spec: shape} }, nil)
		return
	}
	inUse := false
	for _, t := range w.tasks {
		if t.shape == shapeCount && !t.gone {
			inUse = true
			w.post(0, w.reshaped(t), nil)
		}
	}
	if inUse {
		return
	}
	w.shapes = w.shapes[:shapeCount]
	w.count["shape forgotten"]++
	w.post(0, func() cluster.Event { return cluster.ShapeForgotten{Shape: shapeCount} }, nil)
	w.post(0, func() cluster.Event { return cluster.SetForgotten{Set: set} }, nil)
}
