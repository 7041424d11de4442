// Package trace is what every workload looks like to the simulator, whatever
// its format: a stream of records in time order. A reader of a format is a
// Source; readers live in packages of their own below this one.
package trace

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
)

// Source is a stream of records in time order. At equal times nodes come
// before tasks, so that what runs at the start finds its node.
type Source interface {
	// Kinds are the resources in which capacities and demands are given, in
	// the order of their vectors.
	Kinds() []cluster.Kind
	// Next fills in the next record, or returns io.EOF after the last one.
	// The record, and all it refers to, is valid until the next call. Any
	// other error is final; a broken line is an *Error.
	Next(*Record) error
	// Close releases files. It may be called at any time, and more than once.
	Close() error
}

// TypicalSource is a source that knows, before it is read, what its tasks
// typically ask for: by that the fragmentation of devices is measured.
type TypicalSource interface {
	Source
	Typical() []fragmentation.Typical
}

// typical is what tasks of the source typically ask for, if it knows.
func typical(src Source) []fragmentation.Typical {
	if known, ok := src.(TypicalSource); ok {
		return known.Typical()
	}
	return nil
}

// EndingSource is a source that says when a run of it stops unless told
// otherwise: what it holds does not end by itself then, or goes on for longer
// than is of interest. 0 is when its work is done.
type EndingSource interface {
	Source
	End() cluster.Time
}

// Record is one thing that a trace says happened.
type Record struct {
	Time cluster.Time
	What What
	Node Node // of NodeAdded, NodeChanged, NodeLost (the ID alone) and NodeUsed (ID and Usage)
	Task Task // of TaskSubmitted and TaskKilled (Job and Index alone)
	// Constraint is that of ConstraintAdded and ConstraintRemoved (the Name alone, by
	// which it is known).
	Constraint cluster.Constraint
	Budget     cluster.Budget // of BudgetAdded
}

// Clone is a copy that stays valid.
func (r *Record) Clone() Record {
	own := *r
	n, t := &own.Node, &own.Task
	n.Capacity, n.Usage = slices.Clone(n.Capacity), slices.Clone(n.Usage)
	n.Labels, n.Groups = slices.Clone(n.Labels), slices.Clone(n.Groups)
	t.Demand, t.Max = slices.Clone(t.Demand), slices.Clone(t.Max)
	t.Requirements, t.Input, t.Tags = slices.Clone(t.Requirements), slices.Clone(t.Input), slices.Clone(t.Tags)
	t.Budgets, t.Prefers, t.Due = slices.Clone(t.Budgets), slices.Clone(t.Prefers), slices.Clone(t.Due)
	t.Speeds = slices.Clone(t.Speeds)
	for i := range t.Prefers {
		t.Prefers[i].Requirements = slices.Clone(t.Prefers[i].Requirements)
	}
	if own.Constraint.Any != nil {
		own.Constraint = r.Constraint.Clone()
	}
	return own
}

// What says which fields of a Record count.
type What uint8

// What a record can say.
const (
	// NodeAdded: the node joins, or returns after it was lost.
	NodeAdded What = iota + 1
	// NodeChanged: capacity or labels are now these. It may shrink below what
	// runs on it.
	NodeChanged
	// NodeLost: the node is gone, with all that ran on it.
	NodeLost
	// NodeUsed: so much of the node was measured to be in use.
	NodeUsed
	// TaskSubmitted: a task asks to be placed.
	TaskSubmitted
	// TaskKilled: its user ends the task, wherever it is.
	TaskKilled
	// ConstraintAdded: placement is to honour it from now on.
	ConstraintAdded
	// ConstraintRemoved: it is no more.
	ConstraintRemoved
	// BudgetAdded: evictions are to honour it from now on. It comes before its tasks.
	BudgetAdded
)

// OfNode reports whether a record that says w is of a node, and not of a task, a
// constraint or a budget, which belong to the workload.
func (w What) OfNode() bool { return w <= NodeUsed }

// String names w as reports do: "node added".
func (w What) String() string {
	switch w {
	case NodeAdded:
		return "node added"
	case NodeChanged:
		return "node changed"
	case NodeLost:
		return "node lost"
	case NodeUsed:
		return "node used"
	case TaskSubmitted:
		return "task submitted"
	case TaskKilled:
		return "task killed"
	case ConstraintAdded:
		return "constraint added"
	case ConstraintRemoved:
		return "constraint removed"
	case BudgetAdded:
		return "budget added"
	}
	return fmt.Sprintf("What(%d)", uint8(w))
}

// Node is a node as a trace describes it.
type Node struct {
	ID       uint64
	Name     string // empty: the ID in decimal
	Capacity cluster.Vector
	Labels   []cluster.Label // sorted by key
	// Groups say to which set of each family the node belongs, such as
	// rack=r17; sorted by key.
	Groups []cluster.Label
	// Tier is its reputation: a cluster.Level, or 0 where nobody says.
	Tier int32
	// Usage is what was measured, of NodeUsed.
	Usage cluster.Vector
}

// Task is a task as a trace describes it.
type Task struct {
	Job      uint64 // jobs are submitted together with their first task
	Index    uint32 // within the job
	Name     string // empty: its job and index
	JobTasks uint32 // how many tasks the job will submit in all; 0 if unknown
	User     string
	// Class is the latency class of the trace (Google: scheduling class 0–3).
	Class uint8
	// Promise names the class of what was promised to the task; empty: its Priority
	// says which.
	Promise  string
	Priority int32
	Demand   cluster.Vector
	// Max is nil where the demand is fixed; else the task takes from Demand up to Max,
	// as it is granted, and Work is how long it runs with one unit of the first kind in
	// which they differ: with nine units, a ninth of that.
	Max cluster.Vector
	// PerNode is how many tasks of the job a node may hold, this one included;
	// 1 keeps them apart (Google's different-machines restriction), 0 is no
	// limit.
	PerNode      int32
	Requirements []cluster.Requirement
	// Prefers says on which nodes the task would rather be.
	Prefers []Preference
	// Work is how long the task runs once started; cluster.Never if it does
	// not end by itself.
	Work cluster.Time
	// Speeds says on which nodes it runs shorter or longer than that.
	Speeds []Speed
	// Fails says that the task ends by failing.
	Fails bool
	// Running says that the task runs on node OnNode when it is submitted, as
	// tasks of a snapshot do.
	Running bool
	OnNode  uint64
	// Together says that all tasks of the job want to stand on one node. The
	// job's first task says it for all.
	Together bool
	// Gang is how many of the job's tasks are to run, or none is placed; 0 and 1 are no gang. The job's first
	// task says it for all.
	Gang int32
	// Input is what the task reads whenever it begins to run.
	Input []Block
	// Tags are what constraints name the task by, sorted, each once.
	Tags []string
	// Budgets are the names of those that the task counts for, sorted, each once.
	Budgets []string
	// Unready says that the run on OnNode is not available, as far as budgets go.
	Unready bool
	// Owner is who has made the task, such as shop/deployment/web; empty where nobody says.
	Owner string
	// Pinned says that the task belongs to the node that it runs on, as one of a DaemonSet does:
	// it stays there whatever becomes of the others, and its node is none that is in use.
	Pinned bool
	// Foreign is the scheduler that places the task, if that is another than the one that is simulated. Here the task takes room
	// where it runs, is never evicted or moved, and waits for that scheduler; placed anew, it is as any other.
	Foreign string
	// Unowned says that nobody makes the task again once it has left its node: it is not moved, and where it is evicted it
	// ends.
	Unowned bool
	// NeverPreempts says that nobody is to be evicted for the task's sake.
	NeverPreempts bool
	// Gate is what keeps the task from being placed for now, such as the name of a scheduling
	// gate; empty: nothing does.
	Gate string
	// LongRunning says that the job is an application that stays. The job's first task
	// says it for all.
	LongRunning bool
	// Service says that the job's tasks go on until somebody ends them, and do the same. The job's first task
	// says it; LongRunning says it, too.
	Service bool
	// Due is when all of the job is to be done, and what that is worth: later and later, and worth less and less. The
	// first is its deadline. The job's first task says it; nil is a job without one.
	Due []Due
}

// Due is a moment by which a job is to be done.
type Due struct {
	Within cluster.Time // of its submission
	Worth  int64        // to whoever submitted it, in units of his own
}

// MostDue is how many moments a job may be due at.
const MostDue = 16

// CheckDue says what is wrong with when a job is due.
func CheckDue(due []Due) error {
	if len(due) > MostDue {
		return fmt.Errorf("due at %d moments, want at most %d", len(due), MostDue)
	}
	for i, d := range due {
		switch {
		case d.Within <= 0 || d.Within == cluster.Never:
			return fmt.Errorf("due within %v, want a time above 0", d.Within)
		case d.Worth < 0 || d.Worth > cluster.MaxQuantity:
			return fmt.Errorf("worth %d, want 0 to %d", d.Worth, int64(cluster.MaxQuantity))
		case i > 0 && (d.Within <= due[i-1].Within || d.Worth > due[i-1].Worth):
			return fmt.Errorf("due within %v, worth %d, after %v and %d; want later and later, and worth less and less", d.Within, d.Worth, due[i-1].Within, due[i-1].Worth)
		}
	}
	return nil
}

// Preference says that a task would rather be on nodes that meet the requirements, or rather not where the weight is below 0.
type Preference struct {
	Requirements []cluster.Requirement
	Weight       int32 // from -cluster.MostPreference to that, and not 0
}

// Block is a piece of a task's input.
type Block struct {
	Bytes int64
	// Replicas are up to MostReplicas different nodes, by their IDs, that hold
	// the block.
	Replicas []uint64
}

// MostReplicas is how many replicas of a block a record names.
const MostReplicas = len(cluster.Block{}.Replicas)

// Error is a place in an input that cannot be read, and what was expected
// there. Line and Column count from 1; 0 means that they do not apply.
type Error struct {
	File         string
	Line, Column int
	At           string // a place that has a name, such as "pod web/a: spec.nodeName"; may be empty
	Want         string // what was expected, such as "a time in microseconds"
	Got          string // what stands there, shortened; may be empty
	Err          error  // the cause, such as io.ErrUnexpectedEOF; may be nil
	Hint         string // what to do about it, such as "did you mean cpu?"; may be empty
}

// Error says the file, the place in it, what was expected, what was found and
// what to do.
func (e *Error) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, e.Line)
		if e.Column > 0 {
			place = fmt.Sprintf("%s:%d", place, e.Column)
		}
	}
	if e.At != "" {
		place += ": " + e.At
	}
	text := fmt.Sprintf("%s: want %s", place, e.Want)
	if e.Got != "" {
		text += fmt.Sprintf(", got %q", e.Got)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
