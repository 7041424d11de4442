// Package world reports to the core what happens in a Kubernetes cluster.
//
// It takes in nodes and pods as they are seen, and emits the same in the
// core's words: events. It keeps the judge, which is upstream's scheduling
// framework, in step. A slot of an owner's replicas is a task, a pod is one of
// its attempts. Nothing here starts a goroutine, reads a clock or calls the API
// server; the loop in package scheduler does.
//
// What a pod requests splits in two. What depends on the pod and one node alone
// (selectors, taints) is a node set, worked out by upstream's filters once for
// all pods that request the same, and corrected for what changes (nodeset.go).
// Resources and host ports are vectors (kinds.go, columns.go). Pods that look at
// other pods or at volumes and claims need a full-filter query: all filters are
// run for them, one by one, just before they are decided (query.go).
package world

import (
	"cmp"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	promises "fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/kube/judge"
)

// World is the cluster as it is reported to the core. It has one owner.
type World struct {
	judge *judge.Judge
	owns  func(schedulerName string) bool
	// handling is called with each pod just before it is dealt with.
	handling func(*v1.Pod)
	now      cluster.Time
	kinds    kinds
	events   []cluster.Event

	nodes map[string]*node
	byRow []*node // by node row
	pods  map[types.UID]*Pod
	// unknownNode are the pods that are bound to a node that is not known, by its name.
	unknownNode map[string]map[types.UID]*Pod
	// softTaints counts the nodes with a PreferNoSchedule taint.
	softTaints int

	jobs     map[jobKey]*job
	foreign  *job
	tasks    []*slot // by task row
	runs     []uint32
	nodeSets map[string]*nodeSet
	idle     []*nodeSet // nobody waits for them; the longest idle first
	shapes   map[string]*shape

	seq           cluster.Seq
	arrivals      uint64
	backoffBounds Backoff
	stages        [Bound + 1]int         // how many pods of ours stand in each
	onNodes       int                    // pods on nodes, of anybody
	cases         map[string]*judge.Case // open in this round, of pods without a query
	changes       uint64                 // grows with everything that may let a pod with a query through
	queries       map[string]*query
	open          []*query      // that have a result in this round
	ranks         map[int32]int // how many pods of each priority wait in the core without a query
	recheckAt     cluster.Time
	offered       []*Pod // in the core's hands since the last Settle, or kept room for; each once
	backingOff    heap.Heap[backoffEntry]
	exits         map[string]*exits
	table         *promises.Table // what is promised to whom
	// rackLabel is the label of nodes that names their rack.
	rackLabel string
	queue     heap.Heap[queuePlace]
	room      int // for so many pods to be let through
	// preparations is for how many of them volumes and devices may be set aside.
	preparations int
	vacant       []vacancy

	nodeRows, taskRows, jobRows, setRows, shapeRows cluster.Rows
}

// New returns an empty world. Owns says which pods are ours by their
// schedulerName.
func New(j *judge.Judge, owns func(schedulerName string) bool) *World {
	w := &World{
		judge: j, owns: owns, table: NoClasses(), handling: func(*v1.Pod) {},
		nodes:       map[string]*node{},
		pods:        map[types.UID]*Pod{},
		unknownNode: map[string]map[types.UID]*Pod{},
		queries:     map[string]*query{},
		ranks:       map[int32]int{},
		cases:       map[string]*judge.Case{},
		changes:     1,
		room:        math.MaxInt, preparations: math.MaxInt,
		backoffBounds: Backoff{Initial: cluster.Second, Max: 10 * cluster.Second},
	}
	w.begin(newKinds(nil, nil))
	return w
}

// SetHandling sets what is called with each pod just before it is dealt with, also in
// the midst of dealing with others.
func (w *World) SetHandling(call func(*v1.Pod)) { w.handling = call }

// InHands are the pods that the core may place at this moment.
func (w *World) InHands() []*v1.Pod {
	var pods []*v1.Pod
	for _, p := range inOrder(w.pods) {
		if p.Stage == Waiting {
			pods = append(pods, p.object)
		}
	}
	return pods
}

// Advance sets the time that what follows happens at.
func (w *World) Advance(now cluster.Time) { w.now = max(w.now, now) }

// Take returns the events since it was last called. The slice is valid until
// the next one is appended.
func (w *World) Take() []cluster.Event {
	events := w.events
	w.events = w.events[len(w.events):]
	if cap(w.events) < 64 {
		w.events = nil
	}
	return events
}

func (w *World) emit(e cluster.Event) { w.events = append(w.events, e) }

// begin forgets all that concerns one core.
func (w *World) begin(k kinds) {
	w.kinds, w.events, w.offered, w.idle, w.vacant, w.queue = k, nil, nil, nil, nil, nil
	w.nodeRows, w.taskRows, w.jobRows, w.setRows, w.shapeRows = cluster.Rows{}, cluster.Rows{}, cluster.Rows{}, cluster.Rows{}, cluster.Rows{}
	w.setRows.Take() // cluster.AllNodes
	w.byRow, w.tasks, w.runs = nil, nil, nil
	w.jobs, w.foreign = map[jobKey]*job{}, nil
	w.nodeSets, w.shapes = map[string]*nodeSet{}, map[string]*shape{}
	for _, q := range w.queries {
		q.close()
	}
	clear(w.queries)
	w.open = w.open[:0]
	for _, e := range w.exits {
		e.queue = nil
	}
}

// Restart begins a new core: it forgets every row and returns all that is known
// as events. Binds under way are reported as pods found on their nodes. Slots that
// lost their pod are forgotten; the others bring along how they have spent their time,
// which accounts returns for a task of the core before, nil if it does not know. It may
// itself be nil.
func (w *World) Restart(accounts func(cluster.TaskID, cluster.Seq) *cluster.Account) []cluster.Event {
	for _, p := range w.pods {
		if p.slot != nil && accounts != nil {
			p.past = accounts(p.slot.task, p.slot.seq)
		}
	}
	w.begin(w.nextKinds())
	for _, name := range sortedKeys(w.nodes) {
		w.enterNode(w.nodes[name])
	}
	pods := make([]*Pod, 0, len(w.pods))
	for _, p := range w.pods {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *Pod) int { return cmp.Compare(a.order, b.order) })
	for _, p := range pods {
		w.reenter(p)
	}
	return w.Take()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
