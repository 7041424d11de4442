package recording

import (
	"fmt"
	"unsafe"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file bounds the memory that a file may take which somebody made up: compressed, a
// few bytes are a text as long as one likes, and a few events name rows, kinds and lanes whose
// tables are large. What the Writer writes of a large cluster stays far below: a snapshot of
// 12,500 nodes and 150,000 tasks takes some 100 MB.

// maxWindow is how far back compressed text may refer. The Writer's is 1 MiB; others that
// compress a file anew use up to 8 MiB, unless they are told to use more.
const maxWindow = 8 << 20

// maxHeader bounds the first line, and what is written as one: a thousand kinds and all classes
// and lanes that there may be take far less.
const maxHeader = 1 << 20

// bounds are in bytes.
type bounds struct {
	line  int // of a line of text; the Writer's have 1 MiB, one event and the decisions
	head  int // of a line beside its lists
	event int // of the text of an event or a decision; a set of half a million nodes has 4 MiB
	call  int // of memory for the events and decisions of a call
	// tables and perText are how much memory the tables of a core may take: so much, and
	// so much more for each byte of text read so far; but no more than whole.
	tables, perText, whole int64
}

func usual() bounds {
	return bounds{line: 64 << 20, head: 64 << 10, event: 4 << 20, call: 1 << 30, tables: 1 << 30, perText: 16, whole: 4 << 30}
}

// weight is about how much memory an event takes whose text has so many bytes.
func (w *wireEvent) weight(text int) int {
	const own = 160 // the largest event, in a list that grows
	sum := own + text
	sum += 8 * (len(w.Capacity) + len(w.Overcommit) + len(w.Demand) + len(w.Usage) + len(w.Max) + len(w.Grant))
	sum += 32*(len(w.Labels)+len(w.Groups)) + 16*len(w.Tags) + 4*(len(w.Nodes)+len(w.Budgets)) + 24*(len(w.Input)+len(w.Prefers))
	if w.Spec != nil {
		sum += 32 * text // lists of short lists
	}
	return sum
}

// weight is the same of a decision.
func (w *wireDecision) weight(text int) int {
	return int(unsafe.Sizeof(sched.Decision{})) + 8*len(w.Grant) + text
}

// tables is how large the tables of a core may have become by what a file has said so far:
// it is not known here what of it made sense.
type tables struct {
	kinds, lanes int
	viewed       []bool // by lane: whether a round of it has begun on a view, a copy of the tables
	made, rows   [cluster.Tables]int
	bounds       int // of constraints
	text         int // bytes read
}

// note counts what an event may make.
func (t *tables) note(e *wireEvent) {
	switch e.Event {
	case "node":
		t.make(cluster.Nodes, *e.Node)
	case "task":
		t.make(cluster.Tasks, *e.Task)
	case "job":
		t.make(cluster.Jobs, *e.Job)
	case "shape":
		t.make(cluster.Shapes, *e.Shape)
	case "set":
		t.make(cluster.Sets, *e.Set)
	case "budget":
		t.make(cluster.Guarding, *e.Budget)
	case "constraint":
		t.make(cluster.Constraints, *e.Constraint)
		if e.Spec != nil {
			for _, all := range e.Spec.Any {
				t.bounds += len(all)
			}
		}
	}
}

// make counts a row. A core refuses those that are wild, and so are they in a replay.
func (t *tables) make(table cluster.Table, row uint32) {
	t.made[table]++
	if int64(row) < int64(cluster.RowsOf(table, t.kinds, t.made[table])) {
		t.rows[table] = max(t.rows[table], int(row)+1)
	}
}

// size is about how many bytes the tables take. It is no integer, as these overflow.
func (t *tables) size() float64 {
	// What a row takes by itself, a node by each kind, and a node by each set and bound,
	// in package cluster; policies that keep rows of their own take less.
	const node, task, job, shape, set, constraint, budget = 200, 200, 48, 128, 32, 40, 32
	const byKind, byBound = 32, 32
	nodes := float64(t.rows[cluster.Nodes])
	size := nodes * (node + byKind*float64(t.kinds) + byBound*float64(t.bounds) + float64(t.rows[cluster.Sets])/8)
	size += task*float64(t.rows[cluster.Tasks]) + job*float64(t.rows[cluster.Jobs]) + shape*float64(t.rows[cluster.Shapes])
	size += budget*float64(t.rows[cluster.Guarding]) + set*float64(t.rows[cluster.Sets]) + constraint*float64(t.rows[cluster.Constraints])
	views := 0
	for _, viewed := range t.viewed {
		if viewed {
			views++
		}
	}
	return size * float64(8+8*views+t.lanes) / 8 // policies keep something of all, too
}

// check says that the tables would be too large.
func (t *tables) check(most *bounds) error {
	limit := min(most.tables+most.perText*int64(t.text), most.whole)
	if size := t.size(); size > float64(limit) {
		return fmt.Errorf("a core with %d lanes over rows for %d nodes of %d kinds, %d tasks, %d jobs, %d shapes, %d sets and %d constraints takes about %d MiB, and at most %d are given to what was read so far",
			t.lanes, t.rows[cluster.Nodes], t.kinds, t.rows[cluster.Tasks], t.rows[cluster.Jobs], t.rows[cluster.Shapes], t.rows[cluster.Sets], t.rows[cluster.Constraints], int64(size/(1<<20)), limit>>20)
	}
	return nil
}
