// Package world reports to the core what happens in a Kubernetes cluster.
//
// It takes in nodes and pods as they are seen, and emits the same in the
// core's words: events. It keeps the judge, which is upstream's scheduling
// framework, in step. A slot of an owner's replicas is a task, a pod is one of
// its attempts. Nothing here starts a goroutine, reads a clock or calls the API
// server; the loop in package scheduler does.
//
// What a pod requests splits in three. What depends on the pod and one node alone
// (selectors, taints) is a node set, worked out by upstream's filters once for
// all pods that request the same, and corrected for what changes (nodeset.go).
// Resources and host ports are vectors (kinds.go, columns.go), and so are disks that drivers attach (disks.go). Volumes of claims that are bound are part of the
// node set (volumes.go, reach.go). What it requires of other
// pods are constraints (rules.go), and so is what it prefers of them, where the policy has that in its price
// (wishes.go), and what objects of the cluster say of pods (standing.go). Other preferences, volumes that are not settled and claims of devices need a full-filter query: all filters are run for such
// pods, one by one, just before they are decided (query.go).
//
// A World is made of parts, and each part of those before it: the journal of what is
// reported; what the core has, which are Columns, nodes, shapes with their node sets, and
// slots with their classes, and the Ledger of how their replicas have spent their time (ledger.go); Pods, their stages and how they grow and shrink (sizes.go); where pods wait, which are queue, queries
// and waiting; where they are placed, or have room kept by other schedulers, which are nominations; what comes of
// decisions, which are Exits and Binds, or of a shadow's, which are Notes (noted.go); PodGroups, whose pods are placed together (gangs.go, arrange.go); and the Contest with other schedulers (contested.go).
// Each keeps its own, and World has what concerns several.
package world

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	promises "fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/judge"
)

// World is the cluster as it is reported to the core. It has one owner.
type World struct {
	owns    func(schedulerName string) bool
	journal *journal
	columns *Columns
	nodes   *nodes
	rules   *rules
	shapes  *shapes
	slots   *slots
	pods    *Pods
	queue   *queue
	queries *queries
	waiting *waiting
	placed  *placed
	exits   *Exits
	binds   *Binds
	groups  *PodGroups
}

// Options are what a world is made of.
type Options struct {
	// Owns says which pods are ours by their schedulerName.
	Owns func(schedulerName string) bool
	// Devices are the resources that come in devices.
	Devices []v1.ResourceName
	// RackLabel is the label of nodes that names their rack. Without one they stand
	// in none.
	RackLabel string
	// Backoff is how long pods back off after a refusal, one to ten seconds if it is zero.
	Backoff Backoff
	// Prices says by schedulerName what policies have in the price of a place.
	Prices map[string]Prices
	// Handling is called with each pod, and each constraint that an object says, just before it is dealt with, also in
	// the midst of dealing with others. Nil is nobody.
	Handling func(metav1.Object)
	// NoClaims says why no claim of devices is ever seen, so that pods that have some are held; empty if they are.
	NoClaims string
	// NoSizes says why no pod is resized; empty if those are whose class has sizes.
	NoSizes string
	// Times is what accounts of workloads are kept by; none are without it.
	Times Times
	// Reputation is a moment of the API server's clock, by which the reputation of nodes is learned; nil learns none.
	Reputation func(metav1.Time) cluster.Time
	// Shadow says that nothing is carried out: decisions are noted (noted.go).
	Shadow bool
}

// Prices is what a policy has in the price of a place beside room, so that the core is told of it. Of what is not in it upstream's scores
// decide which nodes the core is shown.
type Prices struct {
	Nodes   bool // that tasks prefer
	Company bool // that tasks prefer, or shun
}

// New returns an empty world.
func New(j *judge.Judge, o Options) *World {
	if o.Backoff == (Backoff{}) {
		o.Backoff = Backoff{Initial: cluster.Second, Max: 10 * cluster.Second}
	}
	if o.Handling == nil {
		o.Handling = func(metav1.Object) {}
	}
	journal, columns := &journal{changes: 1}, &Columns{}
	pods := &Pods{byUID: map[types.UID]*Pod{}, ranks: map[int32]int{}, unplaced: map[int32]int{}, handling: o.Handling, readings: readings{}}
	nodes := &nodes{journal: journal, judge: j, columns: columns, byName: map[string]*node{}, rackLabel: o.RackLabel, reputations: newReputations(journal, o.Reputation)}
	nodes.domains = &domains{nodes: nodes}
	sets := &nodeSets{journal: journal, judge: j, nodes: nodes}
	rules := &rules{journal: journal, domains: nodes.domains, spaces: map[string]*namespace{}}
	for _, p := range o.Prices {
		rules.wishes = rules.wishes || p.Company
	}
	shapes := &shapes{journal: journal, judge: j, columns: columns, nodes: nodes, sets: sets, rules: rules, prices: func(schedulerName string) Prices { return o.Prices[schedulerName] }, autoscalers: newAutoscalers()}
	slots := &slots{journal: journal, classes: &classes{journal: journal, promises: promises.Open(nil), labelsOf: rules.labelsOf, ledger: &Ledger{journal: journal, times: o.Times, workloads: map[Workload]*workload{}, idle: map[string]int{}}}, shapes: shapes, services: services{}}
	rules.retag, rules.standing.rules, rules.standing.handling = slots.retag, rules, o.Handling
	queue := &queue{journal: journal, pods: pods, sets: sets, room: math.MaxInt}
	queries := &queries{
		journal: journal, judge: j, backoff: o.Backoff, pods: pods, nodes: nodes, shapes: shapes, slots: slots, queue: queue,
		byKey: map[string]*query{}, preparations: math.MaxInt,
	}
	queries.ways = &ways{journal: journal, pods: pods, nodes: nodes, rules: rules, opens: cluster.Never}
	waiting := &waiting{
		journal: journal, judge: j, backoff: o.Backoff, pods: pods, nodes: nodes, shapes: shapes, slots: slots, queue: queue, queries: queries,
		closed: map[string]bool{}, noClaims: o.NoClaims,
	}
	exits := &Exits{journal: journal, backoff: o.Backoff, pods: pods, slots: slots, guards: guards{journal: journal, budgets: map[string][]*guard{}}}
	exits.guards.leaves = func(p *Pod) bool { return exits.of(p) != nil }
	slots.evictable, slots.yieldsTo = exits.allows, exits.yieldsTo
	queries.ways.yields = func(p, by *Pod) bool {
		e := exits.of(p)
		return e != nil && (p.exit.protectedUntil <= journal.now || p.goes()) && (p.Ours || e == exits.of(by))
	}
	placed := &placed{
		journal: journal, judge: j, pods: pods, nodes: nodes, shapes: shapes, slots: slots, exits: exits,
		unknownNode: map[string]map[types.UID]*Pod{}, ranks: map[int32]int{},
	}
	placed.nominations = &nominations{placed: placed, of: map[types.UID]*nomination{}}
	placed.contest = &Contest{journal: journal, pods: pods, nodes: nodes, columns: columns, sets: sets, idle: o.Shadow}
	binds := &Binds{
		journal: journal, judge: j, pods: pods, nodes: nodes, shapes: shapes, slots: slots, waiting: waiting, placed: placed, rules: rules,
		cases: map[string]*openCase{}, companies: map[*Gang]*judge.Company{},
	}
	shapes.released = binds.closeCase
	if o.Shadow {
		binds.notes = &Notes{journal: journal, pods: pods, slots: slots, waiting: waiting, placed: placed}
	}
	placed.sizes = &Sizes{journal: journal, judge: j, shapes: shapes, slots: slots, placed: placed, busy: map[types.UID]*Pod{}}
	shapes.classOf, shapes.fixed, nodes.resized = slots.classes.rowOf, o.NoSizes, placed.sizes.roomCame
	groups := &PodGroups{journal: journal, waiting: waiting, slots: slots, byName: map[groupKey]*Group{}, claims: judge.SharesClaims()}
	groups.forest = forest{byName: map[compositeKey]*Composite{}, touched: map[*Composite]bool{}, tried: map[*Composite]bool{}, left: map[*Group]bool{}}
	groups.recount = placed.recount
	slots.abandoned, pods.moved = groups.abandoned, func(p *Pod) { groups.forest.touch(p.group) }
	volumes := newVolumes()
	volumes.journal, volumes.nodes, volumes.sets, volumes.shapes, volumes.slots, volumes.waiting = journal, nodes, sets, shapes, slots, waiting
	placed.volumes = volumes
	w := &World{
		owns: o.Owns, journal: journal, columns: columns, nodes: nodes, rules: rules, shapes: shapes, slots: slots, pods: pods,
		queue: queue, queries: queries, waiting: waiting, placed: placed, exits: exits, binds: binds, groups: groups,
	}
	w.begin(newColumns(o.Devices, nil, o.Devices))
	return w
}

// Advance sets the time that what follows happens at.
func (w *World) Advance(now cluster.Time) { w.journal.advance(now) }

// Take returns the events since it was last called. The slice is valid until
// the next one is appended.
func (w *World) Take() []cluster.Event { return w.journal.take() }

// Columns says what the columns of the core's vectors stand for.
func (w *World) Columns() *Columns { return w.columns }

// Pods says of pods where they stand.
func (w *World) Pods() *Pods { return w.pods }

// Binds takes decisions to place pods, and their outcomes.
func (w *World) Binds() *Binds { return w.binds }

// Exits takes decisions to evict pods, and their outcomes.
func (w *World) Exits() *Exits { return w.exits }

// PodGroups takes in the pod groups that are seen.
func (w *World) PodGroups() *PodGroups { return w.groups }

// Pod returns the pod with the uid, nil if it is not known.
func (w *World) Pod(uid types.UID) *Pod { return w.pods.byUID[uid] }

// MarkDirty takes in that something changed which the results of queries may depend
// on.
func (w *World) MarkDirty() { w.journal.changes++ }

// Changes grows with everything that may let a pod through that was refused.
func (w *World) Changes() uint64 { return w.journal.changes }

// Pending reports whether there are events that were not taken yet.
func (w *World) Pending() bool { return len(w.journal.events) > 0 }

// Of is the pod of a task in the core; nil if it has none.
func (w *World) Of(t cluster.TaskID) *Pod {
	return w.slots.podOf(t)
}

// SetRoom says how many pods may be let through by the next Admit, and how many of
// those that await a query and have volumes or devices set aside, which take their
// time to be prepared. At first there is no limit.
func (w *World) SetRoom(pods, preparations int) {
	w.queue.room, w.queries.preparations = pods, preparations
}

// Admit lets pods wait in the core: those that are queued, and then those that
// await a query. It runs queries until enough says that it has taken long enough,
// and returns the pods that no node would take.
func (w *World) Admit(enough func() bool) []*Pod {
	w.queue.admit()
	return w.queries.admit(enough)
}

// Settle ends a round: it returns the pods that the core was given and could
// not place. Those with a query will await it again; the others go on waiting.
// Reserved says whether the core holds room for a task that others have yet to
// leave; such pods stay in its hands, and each costs one call of it a round.
func (w *World) Settle(reserved func(cluster.TaskID) bool) []*Pod {
	unplaced := w.waiting.settle(reserved)
	w.queries.settle()
	w.binds.CloseCases()
	return unplaced
}

// Reconsider finds out anew which pods need a query, after what that depends on beside
// the pods has changed.
func (w *World) Reconsider() {
	w.MarkDirty()
	for _, p := range inOrder(w.pods.byUID) {
		if p.Ours && (p.Stage == Waiting || p.Stage == Queued) {
			w.waiting.again(p)
		}
	}
}

// Due lets pods wait again that have backed off, and ends slots that were vacant
// for too long. Once in a while it lets all queries be run again. Pods that other schedulers nominated take room by who waits, and
// composite pod groups let pods in by who has come.
func (w *World) Due() {
	w.waiting.due()
	w.queries.recheck()
	w.slots.expire()
	w.binds.notes.due()
	w.placed.contest.due()
	w.placed.sizes.due()
	w.nodes.reputations.due(w)
	w.placed.nominations.honour()
	w.groups.arrange()
}

// Stale says why a new core is to be begun; empty if none is.
func (w *World) Stale() string {
	if why := w.columns.Stale(); why != "" {
		return why
	}
	if why := w.slots.classes.stale(); why != "" {
		return why
	}
	return w.groups.Stale()
}

// Wake is when the world next has something to do although nothing happens. While there is no
// room for pods to be let through, no query is run.
func (w *World) Wake() cluster.Time {
	wake := min(w.exits.wake(), w.binds.notes.wake(), w.queries.wake(w.queue.room > 0), w.placed.contest.wake(), w.groups.forest.wake(w.journal.now))
	if len(w.waiting.backingOff) > 0 {
		wake = min(wake, w.waiting.backingOff[0].until)
	}
	if len(w.slots.vacant) > 0 {
		wake = min(wake, w.slots.vacant[0].until)
	}
	wake = min(wake, w.placed.sizes.wake(), w.nodes.reputations.next)
	return min(wake, w.slots.classes.ledger.wake())
}

// Counts are how many pods of ours stand where, and how much is known in all.
type Counts struct {
	Gated, BackingOff, Queued, AwaitingQuery, Waiting, Assumed int
	Nodes, OnNodes                                             int
}

// Counts returns how many pods of ours stand where.
func (w *World) Counts() Counts {
	return Counts{
		Gated: w.pods.stages[Gated], BackingOff: w.pods.stages[BackingOff], Queued: w.pods.stages[Queued], AwaitingQuery: w.pods.stages[AwaitingQuery], Waiting: w.pods.stages[Waiting], Assumed: w.pods.stages[Assumed],
		Nodes: len(w.nodes.byName), OnNodes: w.placed.onNodes,
	}
}

// begin forgets all that concerns one core.
func (w *World) begin(columns Columns) {
	*w.columns, w.journal.events = columns, nil
	w.nodes.begin()
	w.slots.begin()
	w.groups.begin()
	w.queue.begin()
	w.queries.begin()
	w.exits.begin()
	w.binds.begin()
}

// Restart begins a new core: it forgets every row and returns all that is known
// as events. Binds under way are reported as pods found on their nodes. Slots that
// lost their pod are forgotten; the others bring along how they have spent their time,
// which accounts returns for a task of the core before, nil if it does not know. It may
// itself be nil.
func (w *World) Restart(accounts func(cluster.TaskID, cluster.Seq) *cluster.Account) []cluster.Event {
	w.binds.notes.begin()
	for _, p := range w.pods.byUID {
		if p.slot != nil && accounts != nil {
			p.lineage.past = accounts(p.slot.task, p.slot.seq)
		}
	}
	for _, p := range w.pods.byUID {
		p.company = nil
	}
	w.begin(w.columns.next(w.pods.byUID, w.nodes.byName))
	for _, name := range sortedKeys(w.nodes.byName) {
		n, had := w.nodes.byName[name], w.nodes.softTaints
		w.nodes.enter(n)
		w.waiting.adapt(n, had)
	}
	for _, p := range inOrder(w.pods.byUID) {
		w.reenter(p)
	}
	w.slots.classes.begun()
	w.placed.nominations.reenterAll()
	w.groups.arrange()
	w.groups.forest.settle(w.pods.byUID)
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
