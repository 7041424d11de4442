package recording

import (
	"fmt"
	"math"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file turns events and decisions as they are written into what they are.

// wireEvent is any event as it is written. What names a thing is a pointer, as
// 0 is a row too, and what is missing is an error.
type wireEvent struct {
	Event      string            `json:"e"`
	Node       *uint32           `json:"node,omitempty"`
	Name       text              `json:"name,omitempty"`
	Capacity   cluster.Vector    `json:"capacity,omitzero"`
	Overcommit cluster.Vector    `json:"overcommit,omitzero"`
	Labels     []wireLabel       `json:"labels,omitempty"`
	Groups     []wireLabel       `json:"groups,omitempty"`
	Tier       int32             `json:"tier,omitempty"`
	Set        *uint32           `json:"set,omitempty"`
	Nodes      []cluster.NodeID  `json:"nodes,omitempty"`
	Eligible   bool              `json:"eligible,omitempty"`
	Shape      *uint32           `json:"shape,omitempty"`
	Demand     cluster.Vector    `json:"demand,omitzero"`
	PerNode    int32             `json:"per_node,omitempty"`
	Job        *uint32           `json:"job,omitempty"`
	User       text              `json:"user,omitempty"`
	Foreign    bool              `json:"foreign,omitempty"`
	Task       *uint32           `json:"task,omitempty"`
	Seq        *uint64           `json:"seq,omitempty"`
	Attempt    *uint32           `json:"attempt,omitempty"`
	Class      uint8             `json:"class,omitempty"`
	Priority   int32             `json:"priority,omitempty"`
	Gated      bool              `json:"gated,omitempty"`
	Together   bool              `json:"together,omitempty"`
	Usage      cluster.Vector    `json:"usage,omitzero"`
	Input      []wireBlock       `json:"input,omitempty"`
	Devices    cluster.DeviceSet `json:"devices,omitempty"`
	Max        cluster.Vector    `json:"max,omitzero"`
	FirstEnds  bool              `json:"first_ends,omitempty"`
	Grant      cluster.Vector    `json:"grant,omitzero"`
	Finished   bool              `json:"finished,omitempty"`
	Account    wireAccount       `json:"account,omitempty"`

	Constraint  *uint32         `json:"constraint,omitempty"`
	Spec        *wireConstraint `json:"spec,omitempty"`
	Tags        []text          `json:"tags,omitempty"`
	LongRunning bool            `json:"long_running,omitempty"`
	Promise     *wireClass      `json:"promise,omitempty"`
	wireProtection
}

// wireProtection is until when a run is not to be evicted, and why, which budgets guard it, and what a budget can spare; of a job, how its runs are, that it is a service, and how many
// tasks are placed together or not at all; and of a shape, that nobody is for its tasks, where these would rather be, and usually can; and of a task, how long it lasts or has waited. Coming is of a shape that room is, and of a task that it comes for another.
type wireProtection struct {
	Until      cluster.Time `json:"until,omitempty"`
	Reason     text         `json:"reason,omitempty"`
	Disruption string       `json:"disruption,omitempty"`
	Service    bool         `json:"service,omitempty"`
	Loose      bool         `json:"loose,omitempty"`
	Never      bool         `json:"never_preempts,omitempty"`
	Coming     bool         `json:"coming,omitempty"`
	Stays      bool         `json:"stays,omitempty"`
	Gang       int32        `json:"gang,omitempty"`
	Due        cluster.Time `json:"due,omitempty"`

	Usual   uint32           `json:"usual,omitempty"`
	Prefers []wirePreference `json:"prefers,omitempty"`

	Yields  uint8              `json:"yields,omitempty"`
	Budget  *uint32            `json:"budget,omitempty"`
	Spare   int32              `json:"spare,omitempty"`
	Budgets []cluster.BudgetID `json:"budgets,omitempty"`

	Lasts cluster.Time `json:"lasts,omitempty"`
}

// wireLabel is a key and its value.
type wireLabel [2]text

// wireBlock is a block's bytes, and the nodes that hold it.
type wireBlock []int64

// check says why these are no block.
func (w wireBlock) check() error {
	if most := 1 + len(cluster.Block{}.Replicas); len(w) < 1 || len(w) > most {
		return fmt.Errorf("%d numbers, want its bytes and at most %d nodes", len(w), most-1)
	}
	for _, n := range w[1:] {
		if n < 0 || n > int64(cluster.NoNode) {
			return fmt.Errorf("%d is no row of a node", n)
		}
	}
	return nil
}

func (w wireBlock) block() cluster.Block {
	b := cluster.Block{Bytes: w[0]}
	for i := range b.Replicas {
		b.Replicas[i] = cluster.NoNode
		if i+1 < len(w) {
			b.Replicas[i] = cluster.NodeID(w[i+1])
		}
	}
	return b
}

// wirePreference is a set of nodes and the weight with which a shape prefers it.
type wirePreference []int64

// preferences are those of a shape, and what is wrong with them.
func preferences(list []wirePreference) (all []cluster.Preference, err error) {
	for i, w := range list {
		if len(w) != 2 || w[0] < 0 || w[0] > math.MaxUint32 || w[1] < math.MinInt32 || w[1] > math.MaxInt32 {
			return nil, fmt.Errorf("preference %d is %d, want the row of a set and a weight", i, w)
		}
		all = append(all, cluster.Preference{Set: cluster.SetID(w[0]), Weight: int32(w[1])})
	}
	return all, nil
}

// wireAccount is when a task was submitted and first ran, and how much of its time it
// was waiting, starting or leaving, that since its first run, and running.
type wireAccount []cluster.Time

func (w wireAccount) account() *cluster.Account {
	if len(w) == 0 {
		return nil
	}
	return &cluster.Account{Submitted: w[0], FirstRun: w[1], Waiting: w[2], Overhead: w[3], Restarting: w[4], Running: w[5]}
}

// wireDecision is a decision as it is written.
type wireDecision struct {
	Decision string            `json:"d"`
	Task     cluster.TaskID    `json:"task"`
	Seq      cluster.Seq       `json:"seq"`
	Attempt  uint32            `json:"attempt"`
	Node     cluster.NodeID    `json:"node"`
	Devices  cluster.DeviceSet `json:"devices,omitempty"`
	Grant    cluster.Vector    `json:"grant,omitzero"`
}

// needs says which names each event must have, and thereby which events there
// are.
func needs() map[string]string {
	return map[string]string{
		"node": "node", "node_changed": "node", "node_lost": "node", "usage": "node",
		"set": "set", "set_forgotten": "set", "eligible": "set node",
		"shape": "shape set", "shape_forgotten": "shape", "room": "shape", "constraint": "constraint", "constraint_forgotten": "constraint", "class": "", "class_forgotten": "", "solver_ready": "", "budget": "budget", "job": "job", "job_changed": "job", "job_forgotten": "job",
		"task": "task seq job shape", "ungated": "task seq", "gated": "task seq", "reshaped": "task seq shape",
		"found": "task seq node", "started": "task attempt node", "refused": "task attempt", "left": "task attempt",
		"stays": "task attempt", "protected": "task attempt", "guarded": "task attempt", "leaving": "task attempt", "ended": "task seq",
	}
}

// check says what is missing for the event to be one.
func (w *wireEvent) check(needs map[string]string) error {
	names, known := needs[w.Event]
	if !known {
		return fmt.Errorf("unknown event %q", w.Event)
	}
	if w.Disruption != disruptionWord(disruptionOf(w.Disruption)) {
		return fmt.Errorf("disruption is %q, want %q, %q or nothing", w.Disruption, disruptionWord(cluster.DisruptTogether), disruptionWord(cluster.DisruptNever))
	}
	for name := range strings.FieldsSeq(names) {
		missing := false
		switch name {
		case "node":
			missing = w.Node == nil
		case "set":
			missing = w.Set == nil
		case "shape":
			missing = w.Shape == nil
		case "constraint":
			missing = w.Constraint == nil
		case "job":
			missing = w.Job == nil
		case "task":
			missing = w.Task == nil
		case "seq":
			missing = w.Seq == nil
		case "budget":
			missing = w.Budget == nil
		case "attempt":
			missing = w.Attempt == nil
		}
		if missing {
			return fmt.Errorf("event %q has no %s", w.Event, name)
		}
	}
	if n := len(w.Account); n != 0 && n != 6 {
		return fmt.Errorf("event %q: the account has %d numbers, want 6", w.Event, n)
	}
	for i, b := range w.Input {
		if err := b.check(); err != nil {
			return fmt.Errorf("event %q: block %d of the input: %w", w.Event, i, err)
		}
	}
	if _, err := preferences(w.Prefers); err != nil {
		return fmt.Errorf("event %q: %w", w.Event, err)
	}
	return nil
}

// event returns what a checked event is.
func (w *wireEvent) event() cluster.Event {
	switch w.Event {
	case "node":
		return cluster.NodeAdded{Node: cluster.NodeID(*w.Node), Spec: w.spec()}
	case "node_changed":
		return cluster.NodeChanged{Node: cluster.NodeID(*w.Node), Spec: w.spec()}
	case "node_lost":
		return cluster.NodeLost{Node: cluster.NodeID(*w.Node)}
	case "usage":
		return cluster.UsageReported{Node: cluster.NodeID(*w.Node), Usage: w.Usage}
	case "set":
		return cluster.SetDefined{Set: cluster.SetID(*w.Set), Nodes: w.Nodes}
	case "set_forgotten":
		return cluster.SetForgotten{Set: cluster.SetID(*w.Set)}
	case "eligible":
		return cluster.EligibilityChanged{Set: cluster.SetID(*w.Set), Node: cluster.NodeID(*w.Node), Eligible: w.Eligible}
	case "shape":
		prefers, _ := preferences(w.Prefers)
		return cluster.ShapeDefined{Shape: cluster.ShapeID(*w.Shape), Spec: cluster.Shape{Demand: w.Demand, Max: w.Max, Eligible: cluster.SetID(*w.Set), Usual: cluster.SetID(w.Usual), Prefers: prefers, PerNode: w.PerNode, Tags: namesOf(w.Tags), NeverPreempts: w.Never, Stays: w.Stays}}
	case "shape_forgotten":
		return cluster.ShapeForgotten{Shape: cluster.ShapeID(*w.Shape)}
	case "room":
		return cluster.RoomComing{Shape: cluster.ShapeID(*w.Shape), Coming: w.Coming}
	case "constraint":
		return cluster.ConstraintDefined{Constraint: cluster.ConstraintID(*w.Constraint), Spec: w.Spec.constraint()}
	case "constraint_forgotten":
		return cluster.ConstraintForgotten{Constraint: cluster.ConstraintID(*w.Constraint)}
	case "class":
		return cluster.ClassDefined{Class: cluster.ClassID(w.Class), Spec: w.Promise.class()}
	case "class_forgotten":
		return cluster.ClassForgotten{Class: cluster.ClassID(w.Class)}
	case "solver_ready":
		return cluster.SolverReady{}
	case "budget":
		return cluster.BudgetChanged{Budget: cluster.BudgetID(*w.Budget), Spare: w.Spare}
	case "job":
		return cluster.JobSubmitted{Job: cluster.JobID(*w.Job), Name: string(w.Name), User: string(w.User), Foreign: w.Foreign, Yields: w.Yields, Together: w.Together, FirstEnds: w.FirstEnds, LongRunning: w.LongRunning, Loose: w.Loose, Service: w.Service, Disruption: disruptionOf(w.Disruption), Gang: w.Gang, Due: w.Due}
	case "job_changed":
		return cluster.JobChanged{Job: cluster.JobID(*w.Job), Disruption: disruptionOf(w.Disruption), Gang: w.Gang}
	case "job_forgotten":
		return cluster.JobForgotten{Job: cluster.JobID(*w.Job)}
	}
	return w.taskEvent()
}

// disruptionWord is how a recording says how runs may be evicted: nothing where each may by itself.
func disruptionWord(d cluster.Disruption) string {
	switch d {
	case cluster.DisruptTogether:
		return "together"
	case cluster.DisruptNever:
		return "never"
	case cluster.DisruptSingly:
	}
	return ""
}

// disruptionOf is what the word says.
func disruptionOf(word string) cluster.Disruption {
	for _, d := range []cluster.Disruption{cluster.DisruptTogether, cluster.DisruptNever} {
		if disruptionWord(d) == word {
			return d
		}
	}
	return cluster.DisruptSingly
}

// taskEvent is event for what happens to a task.
func (w *wireEvent) taskEvent() cluster.Event {
	task := cluster.TaskID(*w.Task)
	switch w.Event {
	case "task":
		return cluster.TaskSubmitted{
			Task: task, Seq: cluster.Seq(*w.Seq), Job: cluster.JobID(*w.Job), Shape: cluster.ShapeID(*w.Shape),
			Class: cluster.ClassID(w.Class), Priority: w.Priority, Gated: w.Gated, Input: w.input(), Account: w.Account.account(), Lasts: w.Lasts, Displaced: w.Coming,
		}
	case "ungated":
		return cluster.TaskUngated{Task: task, Seq: cluster.Seq(*w.Seq), Waited: w.Lasts}
	case "gated":
		return cluster.TaskGated{Task: task, Seq: cluster.Seq(*w.Seq)}
	case "reshaped":
		return cluster.TaskReshaped{Task: task, Seq: cluster.Seq(*w.Seq), Shape: cluster.ShapeID(*w.Shape), Priority: w.Priority}
	case "found":
		return cluster.TaskFound{Task: task, Seq: cluster.Seq(*w.Seq), Node: cluster.NodeID(*w.Node), Devices: w.Devices, Grant: w.Grant}
	case "started":
		return cluster.TaskStarted{Task: task, Attempt: *w.Attempt, Node: cluster.NodeID(*w.Node), Devices: w.Devices, Grant: w.Grant}
	case "refused":
		return cluster.BindRefused{Task: task, Attempt: *w.Attempt}
	case "left":
		return cluster.TaskLeft{Task: task, Attempt: *w.Attempt}
	case "stays":
		return cluster.EvictRefused{Task: task, Attempt: *w.Attempt}
	case "protected":
		return cluster.TaskProtected{Task: task, Attempt: *w.Attempt, Until: w.Until, Reason: string(w.Reason)}
	case "guarded":
		return cluster.TaskGuarded{Task: task, Attempt: *w.Attempt, Budgets: w.Budgets}
	case "leaving":
		return cluster.TaskLeaving{Task: task, Attempt: *w.Attempt}
	case "ended":
		return cluster.TaskEnded{Task: task, Seq: cluster.Seq(*w.Seq), Finished: w.Finished}
	}
	panic("recording: event " + w.Event + " was checked, and is none")
}

func (w *wireEvent) spec() cluster.NodeSpec {
	return cluster.NodeSpec{
		Name: string(w.Name), Capacity: w.Capacity, Overcommit: w.Overcommit,
		Labels: labelsOf(w.Labels), Groups: labelsOf(w.Groups), Tier: w.Tier,
	}
}

func (w *wireEvent) input() []cluster.Block {
	var blocks []cluster.Block
	for _, b := range w.Input {
		blocks = append(blocks, b.block())
	}
	return blocks
}

func labelsOf(pairs []wireLabel) []cluster.Label {
	var labels []cluster.Label
	for _, p := range pairs {
		labels = append(labels, cluster.Label{Key: string(p[0]), Value: string(p[1])})
	}
	return labels
}

func (w *wireDecision) decision() (sched.Decision, error) {
	d := sched.Decision{Task: w.Task, Seq: w.Seq, Attempt: w.Attempt, Node: w.Node, Devices: w.Devices, Grant: w.Grant}
	for _, kind := range []sched.Kind{sched.Place, sched.Evict, sched.Resize, sched.End} {
		if w.Decision == kind.String() {
			d.Kind = kind
			return d, nil
		}
	}
	return d, fmt.Errorf("unknown decision %q", w.Decision)
}
