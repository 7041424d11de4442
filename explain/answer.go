package explain

import (
	"fairlead.dev/fairlead/report"
)

// This file is answers as values, which print as JSON as they are, and as text in text.go.

// Answer is what was asked about at a moment.
type Answer struct {
	At report.Number `json:"at_s"`
	// Task is the task that was asked about; otherwise Waiting are those that wait, by
	// reason, and Worth what one more node is worth to the policies. Of an owner Waiting are its
	// own, and Task one of these, or of its tasks if none waits.
	Task    *Task   `json:"task,omitempty"`
	Waiting []Group `json:"waiting,omitempty"`
	Worth   []Worth `json:"one_more_node,omitempty"`
	// Placed are the tasks that waited where the run began, and have found a place, of those that are asked about; whoever
	// knows where it began adds them.
	Placed []Place `json:"placed,omitempty"`
}

// Place is where a task has come to stand.
type Place struct {
	Task string `json:"task"`
	Node string `json:"node"`
}

// Task is what a task could have.
type Task struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Phase  string `json:"phase"`
	Node   string `json:"node,omitempty"`
	// Gate says what keeps it from being placed for now; empty where nothing does, or nobody says.
	Gate  string   `json:"gate,omitempty"`
	Needs []Amount `json:"needs"`
	// Standing is how the task stands with the policy, and what would change that, in sentences; of policies that say
	// so.
	Standing []string `json:"standing,omitempty"`
	// Price is nil where the policy has none.
	Price *Price `json:"price,omitempty"`
	// Takers are nodes that would take the task, where they have no price: some of
	// so many.
	Takers []string `json:"takers,omitempty"`
	Nodes  int      `json:"candidates"`
	Others Others   `json:"others"`
}

// Amount is a quantity of a kind, in its unit, which is said where the name of the kind does not.
type Amount struct {
	Kind   string `json:"kind"`
	Amount string `json:"amount"`
	Unit   string `json:"unit,omitempty"`
}

// Price is what a task pays for what.
type Price struct {
	// Wait is nil where waiting has no price.
	Wait        *int64         `json:"wait,omitempty"`
	WaitChanges *report.Number `json:"wait_changes_s,omitempty"`
	// WaitParts are the parts of Wait; HoldParts those of what it costs to evict the task,
	// where it runs. Both are left out where the policy does not name them.
	WaitParts  []Part      `json:"wait_parts,omitempty"`
	HoldParts  []Part      `json:"hold_parts,omitempty"`
	Candidates []Candidate `json:"nodes"`
}

// Candidate is a node that would take the task. More is by how much its parts
// exceed those of the node that others are compared with, which has none.
type Candidate struct {
	Node  string `json:"node"`
	Here  bool   `json:"here"`
	Full  bool   `json:"full"`
	Cost  int64  `json:"cost"`
	Parts []Part `json:"parts"`
	More  []Part `json:"more,omitempty"`
}

// Part is a part of a price.
type Part struct {
	Name string `json:"name"`
	Cost int64  `json:"cost"`
}

// Others says how many nodes do not take a task, and why.
type Others struct {
	Nodes       int      `json:"nodes"`
	Unplaceable bool     `json:"unplaceable"`
	Gated       bool     `json:"gated"`
	Whys        []string `json:"whys"`
	// Copies says how many nodes could hold one of the task's copies, if too few could.
	Copies string `json:"copies,omitempty"`
	// Help says what would let it come to one of them; empty where nothing is known.
	Help string `json:"help,omitempty"`
	// Application says why that of the task has no place, if it is placed whole.
	Application string `json:"application,omitempty"`
}

// Group is tasks that wait for the same reason, of one owner where somebody says whose they are.
type Group struct {
	Tasks   int      `json:"tasks"`
	Owner   string   `json:"owner,omitempty"`
	Example string   `json:"example"`
	Names   []string `json:"names"` // of all of them
	Policy  string   `json:"policy"`
	Needs   []Amount `json:"needs"`
	Code    string   `json:"code"` // the reason in a word or a few, to count by
	Why     string   `json:"why"`
	// Help is what would let one of them come to a node; empty where nothing is known.
	Help string `json:"help,omitempty"`
}

// Worth is what one more node of a kind is worth to a policy: how many tasks it would let run, and by how much less they
// would cost, where waiting has a price.
type Worth struct {
	Policy   string   `json:"policy"`
	Like     string   `json:"like"`
	Nodes    int      `json:"nodes"`
	Capacity []Amount `json:"capacity"`
	Tasks    int      `json:"tasks"`
	Least    *int64   `json:"saves_at_least,omitempty"`
	Most     *int64   `json:"saves_at_most,omitempty"`
}
