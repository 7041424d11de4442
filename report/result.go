package report

import (
	"encoding/json"
)

// Version is the version of the JSON contract that this package writes, and
// the only one that it reads.
const Version = 1

// Results are the runs that are compared with each other, in the order in
// which they are printed.
type Results struct {
	// Version is filled in by Write.
	Version int `json:"version"`
	// Spec is what the runs were made of, as package setup has it; nil where no spec made them.
	Spec json.RawMessage `json:"spec,omitempty"`
	// Experiment is what the runs together say, if they are those of a paper's
	// experiment; nil if they are not.
	Experiment *Reproduction `json:"experiment,omitempty"`
	Runs       []Run         `json:"runs"`
}

// Run is what one policy made of one workload on one cluster with one seed.
// "The end" is the moment at which the simulation stopped.
type Run struct {
	Setup

	// Nodes is the number of live nodes at the end.
	Nodes int `json:"nodes"`
	// NodesActive is the number of nodes that held at least one task at the
	// end.
	NodesActive int `json:"nodes_active"`
	// NodesEmpty is the share of the time of live nodes in which they held no task; nil in results of versions
	// of fairlead that did not record it.
	NodesEmpty *Number `json:"nodes_empty,omitempty"`
	// NodesOverfull is the number of live nodes over their limit at the end.
	NodesOverfull int `json:"nodes_overfull"`
	// Simulated is the simulated time from the start to the end, in seconds.
	Simulated Number `json:"simulated_s"`
	// Interrupted says that the run was stopped from outside before its
	// workload was done or Until was reached. Its numbers cannot be compared
	// with those of a whole run.
	Interrupted bool `json:"interrupted"`
	// Notes say in whole sentences what else is to be known of the run, such as that
	// another one with the same setup may decide otherwise.
	Notes []string `json:"notes,omitempty"`

	Tasks Tasks `json:"tasks"`

	// PlacementLatency is the time from submission until a task ran for the
	// first time, of all tasks that did, in seconds.
	PlacementLatency *Distribution `json:"placement_latency_s,omitempty"`
	// TaskResponse is the time from submission to the end of a task, of all
	// tasks that finished, in seconds.
	TaskResponse *Distribution `json:"task_response_s,omitempty"`
	// JobResponse is the largest response of a job's tasks, of all jobs whose
	// tasks have all finished, in seconds.
	JobResponse *Distribution `json:"job_response_s,omitempty"`

	// Utilisation and Allocation are by the name of the resource kind.
	Utilisation map[string]Utilisation `json:"utilisation"`
	Allocation  map[string]Allocation  `json:"allocation"`
	// Classes is by the name of the service class: "gold", "silver", "bronze".
	Classes map[string]Class `json:"classes"`

	// Reads is nil where no task has input.
	Reads *Reads `json:"reads,omitempty"`
	// Unserved is nil in results of versions of fairlead that did not record it.
	Unserved *Unserved `json:"unserved,omitempty"`
	// Moves is nil where nobody was to move, and in results of versions of fairlead that did not record it.
	Moves *Moves `json:"moves,omitempty"`
	// Constraints is nil where there were none.
	Constraints *Constraints `json:"constraints,omitempty"`
	// Fragmentation is by the name of the resource kind.
	Fragmentation map[string]Fragmentation `json:"fragmentation,omitempty"`
	// Power is nil where it was not measured.
	Power *Power `json:"power,omitempty"`
	// NodeCosts are by the price, such as "provider=aws", and of "all"; nil where nodes had none.
	NodeCosts map[string]NodeCost `json:"node_costs,omitempty"`
	// Latencies are the curves of placement latency by class, and of "all".
	Latencies map[string]Curve `json:"latency_curves,omitempty"`
	// Availabilities are the curves of availability by class: pairs of an
	// availability and the share of the tasks that had no more.
	Availabilities map[string]Curve `json:"availability_curves,omitempty"`
	Series         *Series          `json:"series,omitempty"`
	Heat           *Heat            `json:"heat,omitempty"`
	Sample         *Sample          `json:"sample,omitempty"`

	Planner Planner `json:"planner"`
	// Reasons counts the tasks that were pending at the end by the code of
	// their reason: "cpu", "eligibility", "apart", "unplaceable".
	Reasons map[string]int `json:"reasons"`
	// Examples says for each reason in a sentence with numbers why one of its
	// tasks waits.
	Examples map[string]string `json:"examples,omitempty"`
	// Pending lists the tasks that were pending at the end by whom they are of, where somebody says so:
	// each of them, what most wait for first. It is cut after MostPending groups.
	Pending []Pending `json:"pending,omitempty"`
}

// DropLists leaves out of a run what is long, and is in JSON alone: curves, series, the heat map and the sample of tasks.
func DropLists(r *Run) {
	r.Latencies, r.Availabilities, r.Series, r.Heat, r.Sample = nil, nil, nil, nil, nil
}

// Setup is what went into a run. Runs that differ in the seed alone are
// samples of the same experiment.
type Setup struct {
	Policy string `json:"policy"`
	Chosen
	// Cluster and Workload name the files or generators.
	Cluster  string `json:"cluster,omitempty"`
	Workload string `json:"workload,omitempty"`
	// Data says where the input of tasks was put that the workload itself has
	// none of: "hdfs?rack=30".
	Data string `json:"data,omitempty"`
	Seed uint64 `json:"seed"`
	// Certain says that nothing in the run is left to chance, as in one of a cluster's dump: no seed changes it.
	Certain bool `json:"certain,omitempty"`
	// Until is the simulated time at which the run had to stop, in seconds and
	// after the speed-up; 0 if it ran until its workload was done.
	Until Number `json:"until_s,omitempty"`
	// Speedup divided all times of the workload.
	Speedup Number `json:"speedup,omitempty"`
	// Overcommit multiplied capacities by kind: "cpu=1.6,memory=2". It is a
	// text, as what follows is, so that setups can be compared.
	Overcommit string `json:"overcommit,omitempty"`
	// Initial is what became of what ran at the start: "keep" or "place".
	Initial string `json:"initial,omitempty"`
	// Overheads are how long runs took to begin: "hot=2s,cold=8s", or a file.
	Overheads string `json:"overheads,omitempty"`
	// EvictedWork is what became of what an evicted task had done: "lost" or
	// "kept".
	EvictedWork string `json:"evicted_work,omitempty"`
	// Heartbeat and Watchdog say when the policy planned, in seconds; 0 is as
	// soon as something happened, and only then.
	Heartbeat Number `json:"heartbeat_s,omitempty"`
	Watchdog  Number `json:"watchdog_s,omitempty"`
	// LongRunning is the policy that placed long-running applications, in a lane of their
	// own; empty where they had none.
	LongRunning string `json:"long_running,omitempty"`
	// PlannerTime is what planning cost: "ticks", "zero" or "measured".
	PlannerTime string `json:"planner_time,omitempty"`
	// Usage is what nodes measured: "every=30s", a list as in the flag.
	Usage string `json:"usage,omitempty"`
	// Classes is the table of what was promised, a preset or a file with a hash of
	// what it says: "study.yaml#1a2b3c4d"; empty is google.
	// Tiers says how nodes got the tiers that their source does not give: "5/5/5".
	Classes string `json:"classes_table,omitempty"`
	Tiers   string `json:"tiers,omitempty"`
	// Power is the table of hardware by which it was measured what nodes drew, a file with a hash of what it says, and when they
	// were switched off: "machines.yaml#1a2b3c4d,off-after=10m".
	Power string `json:"power_table,omitempty"`
	// NodePrices are those of an hour of a node, as in the flag: "provider=aws:0.192,other:0.1".
	NodePrices string `json:"node_prices,omitempty"`
	// Faults are what went wrong in the world: "none", "hostile" or a list.
	Faults string `json:"faults,omitempty"`
}

// Tasks says what became of the tasks. Submitted is the sum of Finished,
// Failed, Killed, Superseded, Running and Pending.
type Tasks struct {
	// Submitted, Placed, Finished, Failed and Killed count tasks, each once.
	// Placed tasks ran at some time, though they may have lost their place.
	// Finished tasks ended by themselves, Failed ones with an error that was
	// not retried, Killed ones because their user ended them.
	Submitted int `json:"submitted"`
	Placed    int `json:"placed"`
	Finished  int `json:"finished"`
	Failed    int `json:"failed"`
	Killed    int `json:"killed"`
	// Superseded tasks were copies, and ended as another copy of the same task had
	// finished.
	Superseded int `json:"superseded,omitempty"`
	// Running, Pending and Unplaceable count tasks at the end. Running ones
	// hold room, even if they have yet to start or are leaving; Pending ones
	// wait for room; Unplaceable ones are those of the Pending that would fit
	// on no node even if all were empty.
	Running     int `json:"running"`
	Pending     int `json:"pending"`
	Unplaceable int `json:"unplaceable"`
	// Preempted, Migrated and Evicted count events, several for one task if it
	// happened to it several times. Preempted made room for another task;
	// Migrated moved a task to another node; Evicted is every loss of a place,
	// for these reasons and for others such as a lost node.
	Preempted int `json:"preempted"`
	Migrated  int `json:"migrated"`
	Evicted   int `json:"evicted"`
	// WithoutPlacement counts those of the Preempted and Migrated that left for nobody:
	// none of the tasks for which they did was placed by that, as it had ended, say, or its
	// run was refused. Where nothing like that happens it is 0.
	WithoutPlacement int `json:"without_placement,omitempty"`
	// EvictionsRefused counts evictions that were decided and not carried out, as a budget of
	// disruption wants the task to be there, or by a fault.
	EvictionsRefused int `json:"evictions_refused,omitempty"`
}

// Class says what became of the tasks of one service class. Its fields mean
// what those of Tasks and Run mean.
type Class struct {
	Submitted        int           `json:"submitted"`
	Placed           int           `json:"placed"`
	Finished         int           `json:"finished"`
	Pending          int           `json:"pending"`
	Preempted        int           `json:"preempted"`
	PlacementLatency *Distribution `json:"placement_latency_s,omitempty"`
	Availability     *Availability `json:"availability,omitempty"`
	*Promise
	*Bill
	*Shortfall // nil in results of versions of fairlead that did not record it
	*Deadlines // nil where no job was due
	*Lasting   // nil where no run was promised to last
}

// Deadlines says how the jobs of a class kept their deadlines: those that are over, however they have ended, and those that
// are there at the end and whose deadline has passed.
type Deadlines struct {
	Due           int `json:"due"`
	KeptDeadlines int `json:"kept_deadlines"`
	// Worth is what all of them would have been worth by their deadlines, and Gained what they were worth when they were done.
	Worth  Number `json:"worth"`
	Gained Number `json:"gained"`
}

// Lasting says what became of a class whose runs are promised to last.
type Lasting struct {
	LeastRun     Number `json:"least_run_s"`
	EvictedRuns  int    `json:"evicted_runs"`  // told to leave, for other tasks or to run elsewhere
	EvictedEarly int    `json:"evicted_early"` // of them, before they had lasted as promised
	MeanWait     Number `json:"waited_s"`      // in the mean over its tasks, all times that one waited together
}

// Promise says how a class's target of availability was kept. Tasks that are there at the
// end count as they stand; those that were not there for any time do not count. It is nil
// where none counts, and where the class has no target.
type Promise struct {
	// Target is the availability that was promised.
	Target Number `json:"target"`
	// Fulfilment is the share of tasks whose availability was at least that. Where it
	// is 1, a task may have waited for a second all the same, and its first start may
	// have taken time.
	Fulfilment Number `json:"slo_fulfilment"`
	// Deficit is by how much the others missed it, in the mean over them; 0 if there
	// are none.
	Deficit Number `json:"deficit"`
	// Gini says how unequal the availability was of tasks that arrived in the same
	// hour: 0 is all alike (Equity).
	Gini Number `json:"gini"`
	// Penalties is what tasks that missed it get back, by the table of credits.
	Penalties Number `json:"penalties"`
}

// Bill is what the tasks of a class used, and what it costs. Money is in units of a
// currency without a name, exact to a millionth. It is nil in results of versions of
// fairlead that did not record it.
type Bill struct {
	// Overhead is the share of the tasks' time in which they were starting or leaving.
	Overhead Number `json:"overhead"`
	// Cores is how many units of the priced kind, such as cores, a task worked with:
	// the mean over tasks that worked, each counted once.
	Cores Number `json:"cores"`
	// Revenue is what all of it costs, penalties not taken off.
	Revenue Number `json:"revenue"`
}
