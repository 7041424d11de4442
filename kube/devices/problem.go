// Package devices assigns devices to the claims of several pods at once.
//
// In Kubernetes a pod asks for devices by resource claims (dynamic resource allocation). Upstream allocates them pod by pod and takes the first devices
// that fit, so that the first pod of a gang may take what a later one cannot do without, although there is an assignment for all of them
// (kubernetes/kubernetes#138765). Here all pods are looked at together: Solve searches nodes for the pods and devices for their claims, and answers with an
// assignment, with a proof that there is none and the claims that are in each other's way, or, where the budget ended, that nothing is proven.
//
// A problem has no selectors: whoever poses it says for each alternative of a request which devices of a node it may have. Effort is counted in ticks,
// which are devices looked at, so that the answer is the same on any machine.
//
// The files: problem.go is what is asked and answered, solve.go the frame of it, search.go the search, bound.go what shows early that a branch has no
// assignment, alike.go which branches are the same, check.go an assignment held against the problem, by code that the search has no part in; group.go is the bound by devices that have to stand together.
package devices

// MostResults is how many devices one claim may have in Kubernetes.
const MostResults = 32

// Problem is pods that are to be placed all at once, with devices for their claims.
type Problem struct {
	Nodes    []Node
	Devices  []Device
	Counters []Counter
	Claims   []Claim
	Pods     []Pod
}

// Node is where pods stand.
type Node struct {
	Room []int64 // that is left of each resource; nil where room does not matter
}

// Pod stands on one node, from which all devices of its claims can be reached. Pods may share a claim: its devices are given once, and can be reached
// from the nodes of all of them.
type Pod struct {
	Nodes  []int   // where it may stand, in the order in which they are tried
	Demand []int64 // of each resource
	Claims []int   // that have no devices yet
}

// Device is given to one request, or shared by several.
type Device struct {
	Taken  bool    // by a claim that is no part of the problem; a shared device never is
	Shared bool    // by as many requests as Left has capacity for
	Left   []int64 // the capacity of a shared device that is not consumed
	Draws  []Draw  // what it takes of counters while it is in use
	Drawn  bool    // it is shared and in use, so that its counters have been drawn on
}

// Counter is something that several devices draw on, as memory of one card by its partitions.
type Counter struct {
	Left int64
	Kind int // equal for counters of one name
}

// Draw is what a device takes of a counter.
type Draw struct {
	Counter int
	Amount  int64
}

// Claim asks for devices by its requests, all of them.
type Claim struct {
	Requests    []Request
	Constraints []Constraint
}

// Request has devices by one of its alternatives; the first is liked best.
type Request struct{ Alternatives []Alternative }

// Alternative is one way to satisfy a request.
type Alternative struct {
	Count   int        // how many devices; 0 means all options of the node, of which there must be one, and the same ones on the nodes of all pods that share the claim
	Options [][]Option // by node: the devices that it may have there, in their order. Lists that are equal should be one slice, as those of a pod's nodes and a constraint's values: by that it is known what is alike
}

// Option is a device that an alternative may have, in the same way on all nodes from which it can be reached.
type Option struct {
	Device int
	Takes  []int64 // of a shared device's capacity
	Barred bool    // it belongs to all, but cannot be had
}

// Constraint wants the devices of a claim to agree on an attribute, or to differ in it.
type Constraint struct {
	Distinct bool
	Covers   [][]bool // by request and alternative
	Values   []int    // of the attribute, by device; 0 where a device has none, and so cannot be had
}

// Outcome says what is known of a problem.
type Outcome uint8

// The outcomes.
const (
	NotProven  Outcome = iota // the budget ended, or the search does not cover all
	Assigned                  // Nodes and Grants are an assignment
	Impossible                // there is none
)

// Answer is what Solve found.
type Answer struct {
	Outcome  Outcome
	Nodes    []int     // by pod
	Grants   [][]Grant // by claim
	Conflict Conflict  // of what is impossible
	Ticks    int64
}

// Grant is one device that a claim gets.
type Grant struct{ Request, Alternative, Device int }

// Conflict is claims that cannot all be satisfied, of which none can be left out, as far as was found.
type Conflict struct {
	Over   Scarcity
	Claims []int
	Pods   []int // whose claims these are
	// Needs is what they take at least, and Has what there is.
	Needs, Has int64
	Counter    int // one of the counters that are too small, if that is it
}

// Scarcity is what there is too little of.
type Scarcity uint8

// What there may be too little of.
const (
	Combined   Scarcity = iota // no way to combine them was left
	OfDevices                  // fewer devices than are needed
	OfCounters                 // less left of counters than the devices draw
	OfNodes                    // fewer pods fit on the nodes
	OfGroups                   // devices that stand together, on one node or with one value of an attribute, for fewer of the pods or claims
)
