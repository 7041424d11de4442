package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// This file is the scheduler's loop without clock and API server: a world, its
// judge and a core, driven a turn at a time. It keeps its own simple record of
// the cluster, as an API server would, and holds the world to it after each
// turn (check_test.go).

const ours = "fairlead"

// failer is what a test and a property have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

type rig struct {
	*bench
	tb    failer
	world *World
	core  *sched.Core
	now   cluster.Time

	nodes map[string]*v1.Node
	pods  map[types.UID]*v1.Pod // the latest that was reported to the world of each
	// flying are the pods whose bind is out, and where to.
	flying map[types.UID]flight
	// version is the latest resource version.
	version  int
	restarts int
	// beforeStep is called when the core knows what it may choose from, and has not
	// chosen yet.
	beforeStep func()

	others bool // pods of other schedulers may be evicted as well
	// reserves says that what was set aside stays so. The rival knows nothing of that.
	reserves bool
	policy   string
	options  policies.Options
	// leaving are the pods that the API server was asked to evict, in order, and
	// has not answered.
	leaving []*Pod
	// callBack says whether a bind was not sent yet, and is called back; nil is that all are sent. The pods
	// of which it was are in back until the next turn, as their outcome comes then.
	callBack func(*Pod) bool
	back     []*Pod
	// kept are the nodes of places that were kept for pods when the turn began.
	kept map[types.UID]string
	// groups and composites are the pod groups that there are, by name.
	groups     map[string]*schedulingv1beta1.PodGroup
	composites map[string]*schedulingv1alpha3.CompositePodGroup
	trees      int                 // of composite pod groups that were placed
	first      map[string][]*Pod   // below the roots of whom only places were kept by the turn before
	overdue    map[*Composite]bool // that were to be arranged anew at once after the turn before
	saying     saying
	// budgets are the PodDisruptionBudgets that there are, by name.
	budgets map[string]*policyv1.PodDisruptionBudget
}

type flight struct {
	pod  *Pod
	node string
	// object is the pod that was decided. What is seen of it while its bind is
	// out counts only once the outcome is known, here as upstream.
	object *v1.Pod
}

func newRig(tb failer, b *bench) *rig {
	tb.Helper()
	for name := range maps.Clone(judgedNodes(b.judge)) {
		b.judge.RemoveNode(name)
	}
	r := &rig{
		bench: b, tb: tb,
		policy: "kube", options: policies.Options{Seed: 1},
		nodes: map[string]*v1.Node{}, pods: map[types.UID]*v1.Pod{}, flying: map[types.UID]flight{},
		groups: map[string]*schedulingv1beta1.PodGroup{}, composites: map[string]*schedulingv1alpha3.CompositePodGroup{}, budgets: map[string]*policyv1.PodDisruptionBudget{},
	}
	r.world = New(b.judge, Options{Owns: func(name string) bool { return name == ours }, Times: Times{
		Account: r.account,
		At:      func(metav1.Time) cluster.Time { return 0 },
	}})
	for _, n := range b.namespaces {
		SeeNamespace(r.world, n)
	}
	r.restoreStorage()
	r.restart()
	return r
}

// account is that of a task as the core has it, and its phase.
func (r *rig) account(row cluster.TaskID, seq cluster.Seq) (*cluster.Account, cluster.Phase) {
	if r.core == nil || int(row) >= r.core.View().TaskRows() {
		return nil, cluster.Absent
	}
	task := r.core.View().Task(row)
	if task.Seq != seq || task.Phase == cluster.Absent {
		return nil, cluster.Absent
	}
	account := task.Account.At(max(r.now, task.Account.Since), task.Phase)
	return &account, task.Phase
}

// restart begins a new core, as the loop does.
func (r *rig) restart() {
	r.tb.Helper()
	r.restarts++
	snapshot := r.world.Restart(r.accounts())
	policy, err := policies.New(r.policy, r.options)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.core, err = sched.New(cluster.NewState(r.world.Columns().Kinds(), r.world.Classes()), sched.Lane{Name: ours, Policy: policy})
	if err != nil {
		r.tb.Fatal(err)
	}
	r.core.SetFilters(Filters(r.world))
	if _, err := r.core.Observe(r.now, snapshot, nil); err != nil {
		r.tb.Fatalf("a new core: %v", err)
	}
}

// accounts says how tasks have spent their time, as the scheduler does.
func (r *rig) accounts() func(cluster.TaskID, cluster.Seq) *cluster.Account {
	if r.core == nil {
		return nil
	}
	state, now := r.core.View(), r.now
	return func(row cluster.TaskID, seq cluster.Seq) *cluster.Account {
		if int(row) >= state.TaskRows() || state.Task(row).Seq != seq || state.Task(row).Phase == cluster.Absent {
			return nil
		}
		account := state.Task(row).Account.At(now, state.Task(row).Phase)
		return &account
	}
}

func (r *rig) seeNode(node *v1.Node) {
	r.nodes[node.Name] = node
	r.world.SeeNode(node)
}

// seeGroup reports a pod group of which so many pods are placed together.
func (r *rig) seeGroup(g *schedulingv1beta1.PodGroup) {
	r.groups[g.Name] = g
	r.world.PodGroups().See(g)
}

// seeComposite reports a composite pod group.
func (r *rig) seeComposite(c *schedulingv1alpha3.CompositePodGroup) {
	r.composites[c.Name] = c
	r.world.PodGroups().SeeComposite(c)
}

func (r *rig) loseComposite(name string) {
	delete(r.composites, name)
	r.world.PodGroups().LoseComposite("default", name)
}

func (r *rig) loseGroup(name string) {
	delete(r.groups, name)
	r.world.PodGroups().Lose("default", name)
}

// checkWhole wants of a group of which pods are bound although others were refused that as many are on nodes, have room kept for them there, or are done, as the group asks for. Who is
// done, the core alone knows: slots that were vacant for long are.
func (r *rig) checkWhole(of *Gang) {
	r.tb.Helper()
	has, v := 0, r.core.View()
	for _, j := range of.jobs {
		has += cluster.GangHas(v, j.row)
		for _, t := range cluster.GangTasks(v, j.row) {
			if phase := v.Task(t).Phase; phase >= cluster.Reserved && phase <= cluster.Running || phase == cluster.Leaving && v.Task(t).Next != cluster.NoNode {
				has--
			}
		}
	}
	for _, p := range of.Members() {
		if p.placed() || p.slot != nil && r.reserved(p.slot.task) {
			has++
		}
	}
	want := of.Least()
	if known := r.groups[of.groups[0].Name]; known != nil && of.groups[0].source == ofPodGroup && of.composite == nil {
		if want = 0; known.Spec.SchedulingPolicy.Gang != nil {
			want = int(known.Spec.SchedulingPolicy.Gang.MinCount)
		}
	}
	if has < want {
		var all []string
		for _, p := range of.Members() {
			all = append(all, fmt.Sprintf("%s %s", p.object.Name, p.Stage))
		}
		r.tb.Fatalf("pods of group %s are bound, and %d of %d are there: %v", of.name, has, want, all)
	}
}

// inDomain reports whether the pod may come to the node, as far as the domains of its group and of those above it go: another pod below is in it, or was kept a place there, or none is in any. Of a
// gang whose places are kept another scheduler may bind a pod elsewhere meanwhile.
func (r *rig) inDomain(p *Pod, node string) bool {
	if p.group == nil {
		return true
	}
	for _, t := range p.group.topology {
		if t.key == "" {
			continue
		}
		value := func(node string) string {
			if n := r.nodes[node]; n != nil {
				return n.Labels[t.key]
			}
			return ""
		}
		some, here := false, false
		for _, other := range r.world.pods.byUID {
			if other == p || other.group == nil || other.object.Namespace != p.object.Namespace || !slices.Contains(other.group.topology[:], t) {
				continue
			}
			if on := cmp.Or(other.Node(), r.kept[other.object.UID]); value(on) != "" {
				some, here = some || other.placed(), here || value(on) == value(node)
			}
		}
		if value(node) == "" || some && !here {
			return false
		}
	}
	return true
}

func (r *rig) loseNode(name string) {
	delete(r.nodes, name)
	r.world.LoseNode(name)
}

// seePod reports the pod under a new resource version.
func (r *rig) seePod(pod *v1.Pod) {
	r.version++
	pod.ResourceVersion = fmt.Sprint(r.version)
	r.pods[pod.UID] = pod
	if over(pod) {
		delete(r.pods, pod.UID)
		delete(r.flying, pod.UID)
	}
	if pod.Spec.NodeName != "" && r.flying[pod.UID].node != pod.Spec.NodeName {
		delete(r.flying, pod.UID)
	}
	r.world.SeePod(pod)
}

func (r *rig) losePod(uid types.UID) {
	pod := r.pods[uid]
	delete(r.pods, uid)
	delete(r.flying, uid)
	r.world.LosePod(pod)
}

// started is the API server's answer that the pod is bound.
func (r *rig) started(f flight) { r.world.Binds().Started(f.pod) }

// failed is its answer that it is not.
func (r *rig) failed(f flight) {
	delete(r.flying, f.pod.Object().UID)
	r.world.Binds().Failed(f.pod)
}

// arrived shows the world that the pod is bound where its bind went.
func (r *rig) arrived(f flight) {
	bound := r.pods[f.pod.Object().UID].DeepCopy()
	bound.Spec.NodeName, bound.Status.Phase = f.node, v1.PodRunning
	r.seePod(bound)
	delete(r.flying, bound.UID)
}

// placed are the pods that take room, each with its node in the spec: those
// that are seen there, and those whose bind is out.
func (r *rig) placed() []*v1.Pod {
	var placed []*v1.Pod
	for uid, pod := range r.pods {
		if f, out := r.flying[uid]; out && pod.Spec.NodeName == "" {
			pod = f.object.DeepCopy()
			pod.Spec.NodeName = f.node
		}
		if p := r.world.pods.byUID[uid]; p != nil && p.growth != nil { // as it will be
			pod = p.elastic.span.Pod(pod, p.growth.wants)
		}
		if r.nodes[pod.Spec.NodeName] != nil {
			placed = append(placed, pod)
		}
	}
	slices.SortFunc(placed, func(a, b *v1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return placed
}

// nominated are pods that stand for the room that other schedulers make, where it is taken. A pod takes it only where it is nominated, and nowhere else.
func (r *rig) nominated() []*v1.Pod {
	var rooms []*v1.Pod
	for uid, n := range r.world.placed.nominations.of {
		pod := r.pods[uid]
		if pod == nil || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == "" {
			r.tb.Fatalf("pod %s is not nominated, and takes room", uid)
		}
		if n.room != nil {
			room := n.room.object.DeepCopy()
			room.Spec.NodeName = pod.Status.NominatedNodeName
			rooms = append(rooms, room)
		}
	}
	slices.SortFunc(rooms, func(a, b *v1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return rooms
}

func (r *rig) nodeList() []*v1.Node {
	return slices.SortedFunc(maps.Values(r.nodes), func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
}

// verdict is what a turn came to.
type verdict struct {
	newCore   string // why one was begun
	accepted  []flight
	asked     []*Pod // to leave
	refused   []refusal
	takenBack []*Pod // as others of their gangs were refused
	back      []*Pod // that were called back, as another scheduler took the room
	freed     []*Pod // that were called back, as others are to have the room
	unplaced  []*Pod
}

// nodes are those that pods were accepted on, in order.
func (v *verdict) nodes() string {
	var nodes []string
	for _, f := range v.accepted {
		nodes = append(nodes, f.node)
	}
	slices.Sort(nodes)
	return strings.Join(nodes, " ")
}

type refusal struct {
	pod    *Pod
	node   string
	status *fwk.Status
}

// turn does what the loop does each time, and then checks everything.
func (r *rig) turn() verdict {
	r.tb.Helper()
	var v verdict
	first := r.stillFirst()
	r.prepare(&v)
	v.unplaced = r.world.Admit(func() bool { return false })
	r.carryOutAll(r.observe(), &v)
	bare := r.bare()
	unheld, refused := r.unheld(), len(v.refused)
	if r.beforeStep != nil {
		r.beforeStep()
	}
	decisions, _, err := r.core.Step(r.now, r.world.Take(), nil)
	if err != nil {
		r.tb.Fatalf("the core does not understand the world: %v", err)
	}
	r.carryOutAll(decisions, &v)
	if len(v.refused) == refused { // else who was to stand beside others may be without them
		r.checkUnheld(unheld)
	}
	v.unplaced = append(v.unplaced, r.world.Settle(r.reserved)...)
	r.world.Exits().TakeBack(r.core.Ledger(), r.core.View(), sent{})
	v.freed = r.world.Exits().CallBack(func(p *Pod) bool { return r.callBack != nil && r.callBack(p) })
	r.back = append(r.back, v.freed...)
	v.asked = r.world.Exits().Dismiss()
	r.leaving = append(r.leaving, v.asked...)
	// What came of it may let the core decide again, as a reservation whose last victim has left.
	for more := true; more; {
		decisions := r.observe()
		r.carryOutAll(decisions, &v)
		v.unplaced = append(v.unplaced, r.world.Settle(r.reserved)...) // who has lost its place by that
		more = len(decisions) > 0 || r.world.Pending()
	}
	r.world.Binds().CloseCases()
	r.checkFirst(bare)
	r.checkKept(first)
	r.checkTries()
	r.check()
	return v
}

// observe reports to the core what happened, without a round.
func (r *rig) observe() []sched.Decision {
	r.tb.Helper()
	decisions, err := r.core.Observe(r.now, r.world.Take(), nil)
	if err != nil {
		r.tb.Fatalf("the core does not understand the world: %v", err)
	}
	return decisions
}

func (r *rig) reserved(t cluster.TaskID) bool {
	return r.core.View().Task(t).Phase == cluster.Reserved
}

// leave takes decisions to evict to the world, none of which may be for a pod that preempts nobody.
func (r *rig) leave(decisions []sched.Decision) {
	for _, d := range decisions {
		if d.Kind != sched.Evict {
			continue
		}
		if t, serves := d.Purpose.Serves(); serves && t != d.Task && r.core.View().Shape(r.core.View().Task(t).Shape).NeverPreempts {
			r.tb.Fatalf("task row %d leaves for task row %d, for which nobody is to be evicted", d.Task, t)
		}
		r.world.Exits().Evict(d)
	}
}

// answered takes a pod out of those that were asked to leave.
func (r *rig) answered(p *Pod) {
	r.leaving = slices.DeleteFunc(r.leaving, func(other *Pod) bool { return other == p })
}

// granted is the API server's answer that the pod leaves: it is seen to end.
func (r *rig) granted(p *Pod) {
	r.answered(p)
	if pod := r.pods[p.Object().UID]; pod != nil {
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = &metav1.Time{}
		r.seePod(pod)
	}
}

// stays is its answer that the pod does not.
func (r *rig) stays(p *Pod) {
	r.answered(p)
	r.world.Exits().Stays(p)
}

// prepare brings the world up to now, with a new core if it needs one.
func (r *rig) prepare(v *verdict) {
	r.tb.Helper()
	r.world.Advance(r.now)
	r.recall(v)
	r.world.Due()
	if v.newCore = r.world.Stale(); v.newCore != "" {
		r.restart()
		if again := r.world.Stale(); again != "" {
			r.tb.Fatalf("the new core that was begun as %s is stale at once: %s", v.newCore, again)
		}
	}
	r.kept = map[types.UID]string{}
	for row, n := range r.world.nodes.byRow {
		if n == nil || !r.core.View().NodeLive(cluster.NodeID(row)) {
			continue
		}
		for _, t := range r.core.View().TasksOn(cluster.NodeID(row)) {
			if p := r.world.slots.podOf(t); p != nil && r.core.View().Task(t).Phase == cluster.Reserved {
				r.kept[p.object.UID] = n.object.Name
			}
		}
	}
}

// recall calls binds back, and reports what was called back in the turn before.
func (r *rig) recall(v *verdict) {
	for _, p := range r.back {
		if r.flying[p.object.UID].pod == p {
			delete(r.flying, p.object.UID)
		}
		r.world.Binds().CalledBack(p)
	}
	r.back = nil
	r.world.Binds().Contest().Yield(func(p *Pod) bool {
		if r.callBack == nil || !r.callBack(p) {
			return false
		}
		r.back = append(r.back, p)
		return true
	})
	v.back = r.back
}

// carryOutAll carries out placements first, as the loop does.
func (r *rig) carryOutAll(decisions []sched.Decision, v *verdict) {
	r.tb.Helper()
	var gangs Gangs
	for _, d := range decisions {
		switch d.Kind {
		case sched.Place:
			r.carryOut(d, v, &gangs)
		case sched.Resize:
			SizesOf(r.world).Resize(d)
		default:
		}
	}
	send, takeBack := gangs.Whole(r.core.View())
	for _, g := range gangs.list {
		if g.refused > 0 && len(g.pods) > 0 && slices.Contains(send, g.pods[0]) {
			r.checkWhole(g.pods[0].group.of)
		}
	}
	for _, p := range takeBack {
		delete(r.flying, p.object.UID)
		v.accepted = slices.DeleteFunc(v.accepted, func(f flight) bool { return f.pod == p })
		v.takenBack = append(v.takenBack, p)
		if r.reserves {
			p.Reservation().Unreserve(r.rival.ctx)
		}
		r.world.Binds().TakeBack(p)
	}
	r.leave(decisions)
}

// carryOut asks for the last word on a decision. Upstream's own framework,
// shown the cluster as it is now, must say the same.
func (r *rig) carryOut(d sched.Decision, v *verdict, gangs *Gangs) {
	r.tb.Helper()
	pod, node := r.world.slots.byTask[d.Task].pod.object, r.world.nodes.byRow[d.Node].object.Name
	fresh := r.rival.verdicts(r.nodeList(), append(r.placed(), r.nominated()...), pod)[node]
	chosen := r.world.slots.byTask[d.Task].pod.choice != nil // devices, which may have yet to be given back where others are free
	p, status := r.world.Binds().Judge(r.rival.ctx, d)
	if status.IsSuccess() != fresh.IsSuccess() && (status.IsSuccess() || !chosen) {
		r.tb.Fatalf("pod %s on node %s: the last word is %s, upstream's is %s", pod.Name, node, words(status), words(fresh))
	}
	if !r.inDomain(p, node) {
		r.tb.Fatalf("pod %s comes to node %s, where none of its group %s is", pod.Name, node, p.group.Name)
	}
	gangs.Hold(r.core.View(), d, p, status.IsSuccess())
	if !status.IsSuccess() {
		v.refused = append(v.refused, refusal{p, node, status})
		return
	}
	// The rival knows of no reservations, so that they must not count here.
	if !r.reserves {
		p.Reservation().Unreserve(r.rival.ctx)
	}
	f := flight{p, node, pod}
	r.flying[pod.UID] = f
	v.accepted = append(v.accepted, f)
}

// words spells a status out.
func words(status *fwk.Status) string {
	if status.IsSuccess() {
		return "yes"
	}
	return status.Plugin() + ": " + status.Message()
}

// sent are requests to evict that are sent at once.
type sent struct{}

func (sent) Waits(*Pod) bool    { return false }
func (sent) CallBack(*Pod) bool { return false }
