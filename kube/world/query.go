package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// This file runs full-filter queries: it finds the nodes of pods whose nodes
// depend on more than themselves and one node: on other pods, on volumes, on
// claims. All pods that request the same share one query. Its result, by all of
// upstream's filters, holds for the moment only, so it is given to the core just
// before a round, for as many pods as are likely to get through on it: one at
// first, twice as many each time that all did, one again when one did not. With
// preferences the result is the nodes that upstream's scores like best, for one
// pod at a time. Of a gang all that wait are let through together, to all nodes that take them.

const maxWindow = 64

// enoughNodes that take a pod are enough to choose from, as for kube-scheduler some hundreds are: to ask of each of thousands of nodes would take longer than what a
// better one is worth.
const enoughNodes = 256

// query is a full-filter query, of all pods that request the same.
type query struct {
	key     string
	set     *nodeSet // its result, not kept up to date; nil until it has one
	pods    []*Pod   // that await its result, in their order
	prefers bool
	// uncounted is what its pods request that their vectors do not say.
	uncounted []need
	// asIs says that some of what its pods ask for has to be free as it is: no vector says it and no rule, or it is a device.
	asIs bool
	vain int // how often others could have left for one of its pods, by upstream's filters, and none did
	// prepares says that volumes or devices are set aside for its pods.
	prepares bool
	result
	ranAt uint64       // the changes when it was last run
	after cluster.Time // not to be run again before
	// lastRun is when it was last run; 0 if it never was, or had a result that all used.
	lastRun  cluster.Time
	failures int
	window   int
	refused  bool // one that was let through was refused in this round
}

// result is what the latest run of a query found.
type result struct {
	names    []string    // of nodes, until they are offered
	shortage string      // why its pods have no devices beside others of their gang; empty if that is not known
	judged   *judge.Case // open while some of the pods are in the core's hands
	// evicting says that they are nodes where others would have to leave.
	evicting bool
	kept     int // nodes that take its pods, and are left to others for whom a place is kept there
	// passedOver says that it was not asked where, as others may leave for another's pod in this round.
	passedOver bool
}

// queries keeps the queries that pods await, by what these request. A query lives as long
// as pods await it or its result is with the core; results are open until the end of the
// round.
type queries struct {
	journal   *journal
	judge     *judge.Judge
	backoff   Backoff
	pods      *Pods
	nodes     *nodes
	shapes    *shapes
	slots     *slots
	queue     *queue
	byKey     map[string]*query
	open      []*query // that have a result in this round
	recheckAt cluster.Time
	// preparations is for how many of the pods that are let through volumes and devices may
	// be set aside.
	preparations int
	ways         *ways
	chosen       []*judge.Choice // devices, in this turn, for pods that do not have them yet
	out          hands           // as of the latest survey, and what was let through since
}

// hands is who of the pods that want something as it is are in the core's hands. None of them sees what another is about to take, as that is set aside with the last
// word, so that others would leave for two of them where there is a device for one.
type hands int

const (
	noneOut    hands = iota
	someOut          // for whom nobody leaves
	evictorOut       // for whom others may, in this round
	placeKept        // for one, until those have left
)

// handsOf finds out, of pods that the core has from rounds before, whether a place is kept for one who wants something as it is.
func handsOf(offered []*Pod, pods *Pods) hands {
	for _, p := range offered {
		if p.Stage == Waiting && p.query != nil && p.query.asIs && pods.has(p) {
			return placeKept
		}
	}
	return noneOut
}

// collide reports whether pods of the query are not to be let through beside those that are out.
func (h hands) collide(q *query) bool {
	return q.asIs && len(q.names) > 0 && (h == evictorOut || q.evicting && h != noneOut)
}

// outBeside is who is out beside pods of the gang itself, for which places may be kept while others of it are asked about again.
func outBeside(qs *queries, g *Gang) hands {
	if g == nil || qs.out != placeKept {
		return qs.out
	}
	return handsOf(slices.DeleteFunc(slices.Clone(qs.queue.offered), func(p *Pod) bool { return p.gang() == g }), qs.pods)
}

// outwait reports whether others would have to leave for the query's pods, as of late, and may not, as a place is kept.
func (h hands) outwait(q *query, now cluster.Time) bool {
	return q.asIs && q.evicting && h == placeKept && now < q.lastRun+recheckEvery
}

// beside is who is out once pods of the query are let through as well.
func (h hands) beside(q *query) hands {
	switch {
	case q.asIs && q.evicting:
		return evictorOut
	case q.asIs && h == noneOut:
		return someOut
	}
	return h
}

// begin gives up all queries, for a new core.
func (qs *queries) begin() {
	for _, q := range qs.byKey {
		q.close()
	}
	clear(qs.byKey)
	qs.open = qs.open[:0]
	qs.ways.begin()
}

// has reports whether the query was not given up.
func (qs *queries) has(q *query) bool { return qs.byKey[q.key] == q }

// await puts the pod into the queue of those whose nodes have to be worked out.
func (qs *queries) await(p *Pod, demand cluster.Vector, uncounted []need) {
	key := qs.keyOf(p)
	q := qs.byKey[key]
	if q == nil {
		q = &query{key: key, window: 1, prepares: qs.judge.SetsAside(p.object)}
		qs.byKey[key] = q
	}
	qs.slots.take(p, qs.shapes.waiting(p, qs.setOf(q), demand))
	qs.pods.move(p, AwaitingQuery)
	p.query, p.Why = q, ""
	q.uncounted = uncounted
	q.asIs = q.wantsAsIs(qs, p)
	q.insert(p)
	q.ranAt = 0 // a new pod wants a result at once
}

// setOf is the set for the result of the query; another one than before if nobody has that any more, and so it is forgotten.
func (qs *queries) setOf(q *query) *nodeSet {
	if q.set == nil || q.set.forgotten {
		q.set = qs.shapes.sets.result(q.key)
	}
	return q.set
}

// wantsAsIs reports whether some of what the query's pod asks for is in no vector, and in no rule of the core's. Others leave for a gang by room alone, so that only devices count.
func (q *query) wantsAsIs(qs *queries, p *Pod) bool {
	return len(q.uncounted) > 0 || judge.ClaimsDevices(qs.judge, p.object) || p.gang() == nil && len(qs.countedByCore(p)) < len(judge.AboutOthers())
}

// claimsInGang reports whether the query is of one pod of a gang, which is given devices.
func (q *query) claimsInGang(qs *queries) bool {
	return len(q.pods) == 1 && q.pods[0].gang() != nil && judge.ClaimsDevices(qs.judge, q.pods[0].object)
}

// insert keeps the pods in the order of priority and arrival.
func (q *query) insert(p *Pod) {
	at, _ := slices.BinarySearchFunc(q.pods, p, before)
	q.pods = slices.Insert(q.pods, at, p)
}

func before(a, b *Pod) int {
	return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.order, b.order))
}

// leave takes the pod out of its query.
func (qs *queries) leave(p *Pod) {
	qs.ways.lift(p)
	q := p.query
	p.query = nil
	q.pods = slices.DeleteFunc(q.pods, func(other *Pod) bool { return other == p })
	if len(q.pods) == 0 && q.judged == nil && qs.has(q) {
		delete(qs.byKey, q.key)
	}
}

func (q *query) close() {
	if q.judged != nil {
		q.judged.Close()
		q.judged = nil
	}
}

// admit runs queries until enough says that it has taken long enough, lets pods through on
// their results, and returns the pods that no node would take.
func (qs *queries) admit(enough func() bool) []*Pod {
	var unplaced []*Pod
	qs.chosen = qs.chosen[:0]
	qs.out = handsOf(qs.queue.offered, qs.pods)
	for _, q := range qs.due() {
		if enough() {
			break
		}
		if q.judged != nil || !qs.worthRunning(q) { // its gang was run, or those before it took the room to prepare
			continue
		}
		gang := q.pods[0].gang()
		if gang == nil {
			unplaced = append(unplaced, qs.run(q)...)
			continue
		}
		list := append([]*query{q}, qs.othersOf(gang, q)...)
		for _, of := range list {
			unplaced = append(unplaced, qs.ask(of)...)
		}
		unplaced = append(unplaced, qs.share(gang, list)...)
		unplaced = append(unplaced, qs.lack(slices.DeleteFunc(slices.Clone(list), func(q *query) bool { return len(q.names) > 0 }), "")...)
		qs.offer(list...)
	}
	return unplaced
}

// othersOf are the other queries that pods of a gang await. It is their turn with the first of them, however long that takes, as nobody of a gang
// is placed without the others.
func (qs *queries) othersOf(gang *Gang, but *query) []*query {
	var list []*query
	for _, p := range gang.Members() {
		q := p.query
		if q == nil || q == but || q.judged != nil || len(q.pods) == 0 || q.prepares && qs.preparations <= 0 || slices.Contains(list, q) {
			continue
		}
		list = append(list, q)
	}
	return list
}

// claimsCome is how long a pod's claims may take to be made after it.
const claimsCome = 10 * cluster.Second

// due lists the queries that are worth running now: those that were not run for
// the longest time first, so that many without a result do not keep the others,
// and then in the order of their first pods.
func (qs *queries) due() []*query {
	var due []*query
	for _, q := range qs.byKey {
		if qs.worthRunning(q) && q.judged == nil && qs.nextRun(q) <= qs.journal.now {
			due = append(due, q)
		}
	}
	slices.SortFunc(due, func(a, b *query) int {
		return cmp.Or(cmp.Compare(a.lastRun, b.lastRun), before(a.pods[0], b.pods[0]))
	})
	return due
}

// worthRunning reports whether the query is worth running, now or later: something has
// changed, its pods could be prepared for, and others need not leave for them while a place is kept for one that wants something as it is.
func (qs *queries) worthRunning(q *query) bool {
	return len(q.pods) > 0 && q.ranAt != qs.journal.changes && (!q.prepares || qs.preparations > 0) && !outBeside(qs, q.pods[0].gang()).outwait(q, qs.journal.now)
}

// nextRun is when the query may be run again. One that is more important than
// a pod that waits in the core does not leave to it what room appears.
func (qs *queries) nextRun(q *query) cluster.Time {
	at := q.after
	for rank := range qs.pods.ranks {
		if rank < q.pods[0].priority() {
			return min(at, q.lastRun+outrankingBackoff)
		}
	}
	return at
}

// outrankingBackoff is how long a query that outranks what waits backs off at least.
const outrankingBackoff = 100 * cluster.Millisecond

// run runs one query and lets pods through on its result.
func (qs *queries) run(q *query) []*Pod {
	unplaced := qs.ask(q)
	qs.offer(q)
	return unplaced
}

// ask asks which nodes take the query's pods, and returns these if there is none. Of a pod of a gang that is to be given devices it is not known by that alone.
func (qs *queries) ask(q *query) []*Pod {
	qs.pods.handling(q.pods[0].object)
	for _, p := range q.pods {
		qs.ways.lift(p)
	}
	q.asIs = q.wantsAsIs(qs, q.pods[0])
	q.ranAt, q.lastRun, q.shortage, q.kept = qs.journal.changes, qs.journal.now, "", 0
	q.prefers = judge.Prefers(q.pods[0].object) || qs.nodes.softTaints > 0
	judged, refusal := qs.judge.Case(q.pods[0].object, nil)
	if refusal.IsSuccess() {
		q.names = qs.nodesFor(q, judged)
	}
	if len(q.names) > 0 || judged != nil && q.evicting && q.claimsInGang(qs) {
		q.judged, q.refused = judged, false
		qs.open = append(qs.open, q)
		return nil
	}
	if judged != nil {
		judged.Close()
	}
	if first := q.pods[0]; !refusal.IsSuccess() && len(first.object.Spec.ResourceClaims) > 0 && qs.journal.now < first.Ready+claimsCome {
		// The claims are not there yet: no reason to back off, or to report it.
		qs.recheckAt = min(qs.recheckAt, first.Ready+claimsCome)
		return nil
	}
	switch {
	case q.passedOver: // it is the first to be asked a little later
		q.passedOver, q.ranAt, q.lastRun, q.after = false, 0, 0, qs.journal.now+cluster.Second
		return nil
	case !qs.ways.awaits(q.pods[0]):
		qs.postpone(q)
	}
	return slices.Clone(q.pods)
}

// offer lets pods of the queries, which are one or a gang's, through to the nodes that take them, if there are any; or none of them.
func (qs *queries) offer(list ...*query) {
	out := outBeside(qs, list[0].pods[0].gang())
	collide := slices.ContainsFunc(list, out.collide)
	for _, q := range list {
		switch {
		case len(q.names) == 0:
		case collide:
			qs.ways.lift(q.pods[0])
			q.holdBack(out)
		default:
			qs.let(q)
		}
	}
}

// holdBack keeps the query's pods for another round: the next, unless a place is kept until then.
func (q *query) holdBack(out hands) {
	q.names, q.refused = nil, true
	if out < placeKept {
		q.ranAt, q.lastRun = 0, 0
	}
}

// let lets pods through to the nodes that take them.
func (qs *queries) let(q *query) {
	qs.out = qs.out.beside(q)
	rows := make([]cluster.NodeID, 0, len(q.names))
	for _, name := range q.names {
		if n := qs.nodes.byName[name]; n != nil {
			rows = append(rows, n.row)
		}
	}
	q.names = nil
	slices.Sort(rows)
	qs.shapes.sets.define(qs.setOf(q), rows)
	window := q.window
	switch {
	case q.pods[0].gang() != nil:
		window = len(q.pods)
	case q.prefers, q.evicting:
		window = 1
	}
	through := min(window, len(q.pods))
	if q.prepares {
		through = min(through, qs.preparations)
		qs.preparations -= through
	}
	for _, p := range slices.Clone(q.pods[:through]) {
		if q.asIs || p.slot.shape.set != q.set { // whether others may leave is in the shape
			qs.slots.take(p, qs.shapes.waiting(p, q.set, p.slot.shape.demand))
		}
		qs.queue.offer(p)
		q.set.waiting++
	}
	q.pods = slices.Delete(q.pods, 0, through)
}

// nodesFor are the names of nodes to choose from for pods of the query: some that take one now, or those where others would have to leave, if they may. A gang may need many, and
// more than the best.
func (qs *queries) nodesFor(q *query, judged *judge.Case) []string {
	gang, enough := q.pods[0].gang() != nil, enoughNodes
	if gang {
		enough = 0
	}
	closed := func(name string) bool { return qs.ways.closed(q, name) }
	list := judged.Feasible(enough)
	list = slices.DeleteFunc(list, qs.nodes.leftAlone)
	q.kept = len(list)
	list = slices.DeleteFunc(list, closed)
	q.kept -= len(list)
	if q.evicting = qs.mayEvict(q) && (len(list) == 0 || gang) && !qs.ways.awaits(q.pods[0]); q.evicting {
		var counted []string
		if !gang { // whose devices are looked for on nodes where nobody has to leave for a rule
			counted = qs.countedByCore(q.pods[0])
		}
		var stays []v1.ResourceName
		for _, n := range q.uncounted {
			stays = append(stays, n.resource)
		}
		list = slices.DeleteFunc(judged.FeasibleBut(stays, counted...), closed)
		switch {
		case gang || !q.asIs:
		case qs.out < evictorOut:
			cleared, soon := qs.ways.clear(q, judged, list, stays, counted)
			if list = append(list, cleared...); soon {
				return nil
			}
		case len(list) == 0: // who would have to leave is not asked, as others may leave for one at a time
			q.passedOver = qs.out == evictorOut
		}
	}
	if q.prefers && len(list) > 1 && !gang && !q.evicting { // where others leave is for the core to choose
		list = judged.Preferred(list)
	}
	return list
}

// countedByCore are those of judge.AboutOthers of which the core counts all that they say of the pod by itself: where it stands to other pods, if each of its rules is one of the core's and
// nobody else has one that is not; the disks that drivers attach, if all of its own are in its vector, and no driver has to be there; and claims for one pod at a time, which are rules.
func (qs *queries) countedByCore(p *Pod) (filters []string) {
	rules := qs.shapes.rules
	if rules.of(p).whole {
		filters = append(filters, names.PodTopologySpread)
		if rules.gaps == 0 {
			filters = append(filters, names.InterPodAffinity)
		}
	}
	if p.stock == nil || len(p.stock.holds) == len(p.stock.takes) && !p.stock.strict {
		filters = append(filters, names.NodeVolumeLimits)
	}
	if !judge.ExcludesDisks(p.object) {
		filters = append(filters, names.VolumeRestrictions)
	}
	return filters
}

// delay says what a pod waits for that awaits the query, where that is not a change of what upstream's filters look at; empty if it is.
func (q *query) delay(qs *queries, p *Pod) string {
	switch at := slices.IndexFunc(qs.ways.kept, func(k keptNode) bool { return k.pod == p && k.until > qs.journal.now }); {
	case at >= 0:
		return fmt.Sprintf("what it asks for is about to be given back on node %s, which is left to it until then", qs.ways.kept[at].node.object.Name)
	case q.kept > 0:
		return fmt.Sprintf("%d of the nodes that take it are kept for pods that came before it", q.kept)
	case q.passedOver, qs.out.outwait(q, qs.journal.now):
		return "others would have to leave for it, which they do for one pod of its kind at a time: its turn is next when that has its place"
	}
	return ""
}

// Delay says what a pod waits for that is asked about node by node, where that is nothing that upstream's filters could tell; empty if it is.
func Delay(w *World, p *Pod) string {
	if p.query == nil || len(p.query.pods) == 0 {
		return ""
	}
	return p.query.delay(w.queries, p)
}

// mayEvict reports whether others may leave for pods of the query, by what the core counts: all that they request, but for resources of which enough have to be there as it is.
// A pod that was refused in the end is not for that: others would leave, and it be refused again.
func (qs *queries) mayEvict(q *query) bool {
	p := q.pods[0]
	policy := p.object.Spec.PreemptionPolicy
	never := policy != nil && *policy == v1.PreemptNever || p.group != nil && p.group.never
	beyond := slices.ContainsFunc(q.uncounted, func(n need) bool { return n.resource == "" })
	return !beyond && !never && !slices.ContainsFunc(q.pods, func(p *Pod) bool { return p.special }) && qs.slots.evictable(p.object.Spec.SchedulerName, false)
}

// keeps takes in that room is being made for one of the query's pods on the nodes of its result. They stay what they are for that pod, so that the others get a
// set of their own, and may be let through at once, unless they want something as it is.
func (qs *queries) keeps(q *query) {
	q.set, q.ranAt = nil, 0
}

// postpone lets a query that found no place back off for a while.
func (qs *queries) postpone(q *query) {
	if q.after <= qs.journal.now {
		q.failures++
		q.after = qs.journal.now + qs.backoff.After(q.failures)
	}
}

// settle closes the queries of this round. Pods that the core could not
// place await them again.
func (qs *queries) settle() {
	open := qs.open
	qs.open = qs.open[:0]
	for _, q := range open {
		q.close()
		if q.refused {
			q.window = 1
		} else {
			q.window, q.failures, q.lastRun = min(2*q.window, maxWindow), 0, 0
		}
		if len(q.pods) == 0 && qs.has(q) {
			delete(qs.byKey, q.key)
		}
	}
}

// recheck lets all queries be run again once in a while.
func (qs *queries) recheck() {
	if opened := qs.ways.prune(); opened || qs.journal.now >= qs.recheckAt {
		qs.recheckAt = qs.journal.now + recheckEvery
		qs.journal.changes++
	}
}

// recheckEvery is how often queries are run although nothing is known to have
// changed: filters keep books of their own, which may lag behind what is reported
// to the world.
const recheckEvery = cluster.Minute

// wake is when a query may next be run although nothing happens, if there is room for its pods.
func (qs *queries) wake(room bool) cluster.Time {
	qs.out = handsOf(qs.queue.offered, qs.pods)
	wake := cluster.Never
	for _, q := range qs.byKey {
		if len(q.pods) == 0 {
			continue
		}
		wake = min(wake, qs.recheckAt, qs.ways.opens)
		if room && qs.worthRunning(q) {
			wake = min(wake, qs.nextRun(q))
		}
	}
	return wake
}

// keyOf is the key of the query that the pod awaits. Of a gang each pod that is given devices has a query of its own, as these lead each to another node.
func (qs *queries) keyOf(p *Pod) string {
	if p.gang() != nil && judge.ClaimsDevices(qs.judge, p.object) {
		return string(p.object.UID)
	}
	return queryKey(p.object)
}

// queryKey is equal for pods that no filter can tell apart.
func queryKey(pod *v1.Pod) string {
	ownClaims := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Ephemeral != nil })
	if len(pod.Spec.ResourceClaims) > 0 || ownClaims {
		return string(pod.UID)
	}
	key, err := json.Marshal(struct {
		Namespace string
		Labels    map[string]string
		Spec      v1.PodSpec
	}{pod.Namespace, pod.Labels, pod.Spec})
	if err != nil {
		panic(fmt.Sprintf("world: pod %s/%s does not marshal: %v", pod.Namespace, pod.Name, err))
	}
	return string(key)
}
