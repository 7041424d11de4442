package shadow

import (
	"time"

	"fairlead.dev/fairlead/report"
)

// Version is that of the report: names may be added within it, and never change their meaning.
const Version = 1

// Report is what a shadow says of itself and of the scheduler that it watches. fairlead-scheduler serves it as JSON at /shadow of its secure port while it leads;
// of a recording `fairlead report recording:DIR` makes it anew, without the names of pods, which no recording has. Ours is what the shadow decided, theirs what the other scheduler did.
type Report struct {
	Version int `json:"version"` // 1
	// Schedulers are the names of those whose pods are watched, as in spec.schedulerName.
	Schedulers []string `json:"schedulers"`
	// Since and Until are when the sums begin, which is when the shadow began to lead, and how far they go.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Sums  Sums      `json:"sums"`
	// Days are the sums of the last days that are over, the latest first, each from midnight to midnight UTC; at most a week. A recording has none.
	Days []Day `json:"days,omitempty"`
	// Now is the cluster as it stands, which is as the other scheduler has made it.
	Now Now `json:"now"`
	// Differences are the last pods that were bound to another node than we had decided, or without or before a decision of ours, the latest first; at most MostDifferences.
	Differences []Difference `json:"differences,omitempty"`
}

// Day is what was summed up in a day, or in the part of it in which the shadow led.
type Day struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Sums  Sums      `json:"sums"`
}

// Sums count pods of the other scheduler. Those that had a node when they were first heard of are in none.
type Sums struct {
	// Decided is for how many pods we decided; a pod that changes, or is taken up by a new core, may be decided for again.
	Decided int64 `json:"decided"`
	// Bound is how many pods they bound: the sum of Same, Different, Unplaced and Earlier.
	Bound int64 `json:"bound"`
	// Same and Different are those for which we had decided: for that node, or for another one. They are compared.
	Same      int64 `json:"same"`
	Different int64 `json:"different"`
	// Unplaced are those for which we had found no place when they were bound.
	Unplaced int64 `json:"unplaced"`
	// Earlier are those that they bound before we looked; nothing is compared of these.
	Earlier int64 `json:"earlier"`
	// Refused is how many decisions of ours were taken back before a minute had passed and without a bind of theirs: upstream's filters refused them, the pod has changed, or is gone.
	Refused int64 `json:"refused"`
	Ours    Side  `json:"ours"`
	Theirs  Side  `json:"theirs"`
}

// Side is what one of the two did. All but Preemptors, Victims and Moves is of the pods that are compared, so that both sides are of the same pods. Our choice is seen beside what we had decided by then and is not bound
// yet, theirs beside the pods that are bound: each has its own under way.
type Side struct {
	// Latency is from when a pod came to wait to when our decision could have been carried out, or until their bind was seen: in seconds. What others take to leave for a pod is not in ours. Absent where nothing is compared.
	Latency *report.Distribution `json:"latency_s,omitempty"`
	// NodesOpened is how many pods came to a node that had no other pod.
	NodesOpened int64 `json:"nodes_opened"`
	// Fill is how full the chosen nodes are with the pod, in the mean: the largest share taken of anything that the pod asks for. More is tighter.
	Fill report.Number `json:"fill"`
	// HardViolated and SoftViolated are pods for which a required rule between pods (affinity, anti-affinity, hard spread), or a preferred one, does not hold on the node. Of theirs a rule is left out while decisions of
	// ours that are not bound yet have a part in it.
	HardViolated int64 `json:"hard_violated"`
	SoftViolated int64 `json:"soft_violated"`
	// Preemptors are pods for which others were to leave, and Victims those others. Of theirs only victims are seen.
	Preemptors int64 `json:"preemptors"`
	Victims    int64 `json:"victims"`
	// Moves are pods that were to leave so as to come to a better node; they have none.
	Moves int64 `json:"moves"`
}

// Now is the cluster as it stands.
type Now struct {
	Nodes int `json:"nodes"`
	// InUse are nodes with a pod that is bound there, and Used what pods request of what these nodes offer, by resource.
	InUse int                      `json:"nodes_in_use"`
	Used  map[string]report.Number `json:"used,omitempty"`
	// WeWait are pods that can be placed and for which we have decided nothing, TheyWait those for which we have and which are not bound.
	WeWait   int64 `json:"we_wait"`
	TheyWait int64 `json:"they_wait"`
	// Promises are the classes that promise an availability.
	Promises []Promise `json:"promises,omitempty"`
}

// Promise is how a class stands.
type Promise struct {
	Class  string        `json:"class"`
	Target report.Number `json:"target"`
	// Tasks are replicas of the class that are to run, and Broken those whose availability is below the target: theirs as it is, ours if each pod had begun when we decided.
	Tasks        int64 `json:"tasks"`
	BrokenOurs   int64 `json:"broken_ours"`
	BrokenTheirs int64 `json:"broken_theirs"`
}

// Kind says in what a pod differs.
type Kind string

// The kinds of differences.
const (
	OtherNode Kind = "node"     // they bound it to another node than ours
	Unplaced  Kind = "unplaced" // we had found no place for it when they bound it
	Earlier   Kind = "earlier"  // they bound it before we looked
)

// MostDifferences is how many of them a report has.
const MostDifferences = 256

// Difference is a pod that the two placed differently.
type Difference struct {
	Kind Kind `json:"kind"`
	// At is when it was seen to be bound.
	At time.Time `json:"at"`
	// Namespace and Pod name it; empty of a recording.
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// Job is its owner with the namespace, as recordings have it.
	Job    string `json:"job"`
	Ours   Choice `json:"ours"`
	Theirs Choice `json:"theirs"`
	// Why is, of a pod for which we found no place, what kept it off when that was last looked at; absent where nobody did, and of a recording.
	Why string `json:"why,omitempty"`
}

// Choice is where one of the two put the pod.
type Choice struct {
	// Node is empty where we had decided nothing; then all else is absent, too.
	Node string `json:"node,omitempty"`
	// Latency, Opened, Fill, HardViolated and SoftViolated are as in Side, of this pod.
	Latency      report.Number `json:"latency_s"`
	Opened       bool          `json:"opened,omitempty"`
	Fill         report.Number `json:"fill"`
	HardViolated bool          `json:"hard_violated,omitempty"`
	SoftViolated bool          `json:"soft_violated,omitempty"`
	// Victims is how many others we would have had leave for it.
	Victims int64 `json:"victims,omitempty"`
}
