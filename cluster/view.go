package cluster

// This file is the door through which everybody but the core looks at a cluster. All methods
// that only read are View's, in the files of what they read; those that change something are
// State's.

// asked is who asks, and who may be asked.
type asked struct {
	by     uint8 // one more than the lane for which the last trial was; 0 is nobody in particular
	solver bool  // of integer programs: it may be asked
}

// View is what may be read of one cluster, by policies and by everybody else. Who has one
// changes nothing through it. It is true until the next change of its State.
type View struct {
	kinds   []Kind
	devices []DeviceKind
	classes classTable
	now     Time
	log     log
	asked   asked

	// Nodes. The vectors of all nodes lie one after the other, len(kinds)
	// quantities a node.
	node     []nodeRow
	live     []bool // whether the row holds a node; apart, as everybody asks
	capacity []int64
	limit    []int64  // capacity times over-commit
	used     []int64  // demand of what is reserved, starting, running or leaving
	leaving  []int64  // the part of used that is leaving
	usage    []Vector // as reported, empty where it was not; no longer than need be
	total    Totals

	task    []Task
	brought []brought // of tasks; no longer than need be
	job     []Job
	shape   []shapeRow
	set     []setRow // row AllNodes is unused

	constraints *constraintTable // nil until the first is defined

	guards  guardTable
	numbers numbers
	orphans map[run]orphan
}
