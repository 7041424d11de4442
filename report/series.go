package report

// What a run was like over time, and task by task: what pictures and
// comparisons are made of. All of it is bounded, however long the run.

// Series is how a run went over time: columns of samples, one a step. Sample i
// is of the step that ends at (i+1) × Step, and what happens at that moment
// belongs to it; the last one may be cut short by the end of the run. Step is
// from 0.1 s to a minute, the longer the run the longer, and more only where a run
// has over 50,000 minutes.
//
// The columns, each as long as the others:
//
//	pending                tasks that wait at the end of the step
//	running                tasks that hold room at the end of the step
//	decisions              placements and evictions in the step
//	nodes, nodes_active    live nodes at the end of the step, those with a task
//	allocation.KIND.CLASS  what the tasks of the class hold, as a mean over the
//	                       step, as a share of the capacity of the kind
//	utilisation.KIND       what works, as a mean over the step, as such a share
//	arrived.KIND           demand of all tasks submitted so far, those that run
//	                       at the start included, as a share of the capacity
//	                       at the end of the step
//	violated               of the tasks that a constraint binds and that hold room,
//	                       those that violate one, as a mean over the step; this
//	                       and the next only where there were constraints
//	violation_cost         see Constraints.Cost; as a mean over the step
//	nodes_off, nodes_waking  nodes that are switched off, or wake; at the end of the step, where they may be
//	power_w                what the nodes draw; of the end of the step, where it is measured
//	fragmentation.KIND     see Fragmentation; of the end of the step
type Series struct {
	Step    Number              `json:"step_s"`
	Columns map[string][]Number `json:"columns"`
}

// Curve is a cumulative distribution: pairs of a value, in seconds, and the
// share of the samples that do not exceed it. Values and shares rise, to the
// largest value and 1; there are at most some 300 pairs.
type Curve [][2]Number

// Heat is how full each node was, at up to 48 moments evenly spread over the run.
type Heat struct {
	// Times are the moments, in seconds.
	Times []Number `json:"times_s"`
	// Nodes is how many nodes there are in each picture.
	Nodes int `json:"nodes"`
	// Fill is one byte for each moment and node, moment after moment,
	// compressed with gzip and written in base64. A byte is 0 where the node is
	// not there, and otherwise 1 + 200 × the largest share of a kind that is
	// taken, rounded down, at most 255; 201 is full.
	Fill string `json:"fill"`
	// Names are the names of the nodes, one a line, compressed and written so too.
	Names string `json:"names"`
}

// Sample holds tasks that finished: all of them, or the 100,000 with the smallest
// hash, the same in every run of the same workload. So two runs can be compared
// task by task.
type Sample struct {
	// Tasks are hashes of what names the tasks in the trace (job, index, name, and
	// when it was submitted, as some traces submit a task again), rising, of 52
	// bits, as programs that know no integers keep them.
	Tasks []uint64 `json:"tasks"`
	// Response and Latency are theirs, in seconds: submission to end, and
	// submission to first start; 0 of what ran when the trace began.
	Response []Number `json:"response_s"`
	Latency  []Number `json:"latency_s"`
	// Of is how many tasks finished.
	Of int `json:"of"`
}

// Fragmentation is the share of what is free of a kind that a task cannot use,
// in the mean over the tasks that are typical of the workload: it lies on nodes
// that lack something else, or in pieces that are too small (FGD, USENIX ATC
// 2023, of GPUs). 0 where nothing is free.
type Fragmentation struct {
	Final Number `json:"final"`
}
