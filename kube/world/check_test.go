package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/sizes"
)

// This file holds the world to the truth. After each turn the rig's record,
// the world, the judge and the core must all agree on who is where, and every
// pod that is to be placed must be in somebody's hands.

func (r *rig) check() {
	r.tb.Helper()
	for _, check := range []func() error{
		r.core.View().Check, r.checkStale, r.checkPlaces, r.checkStages, r.checkGroups, r.checkComposites, r.checkExits, r.checkGuards, r.checkSets, r.checkRules, r.checkQueries, r.checkColumns, r.checkDisks, r.checkLedger, r.checkSizes,
	} {
		if err := check(); err != nil {
			r.tb.Fatalf("at %v: %v", r.now, err)
		}
	}
}

// checkSizes holds the core to what pods were granted, and the judge to the same.
func (r *rig) checkSizes() error {
	for name, n := range r.world.nodes.byName {
		sum := int64(0)
		for uid, p := range n.pods {
			info, _ := p.read()
			sum += judge.Requests(info).MilliCPU
			if p.slot == nil || p.growth == nil {
				continue
			}
			has, want := r.core.View().Demand(p.slot.task), p.elastic.takes(p.growth.wants)
			if got := (sizes.Amount{CPU: has[cpuColumn], Memory: has[memoryColumn]}); got != want {
				return fmt.Errorf("pod %s has %+v, and the core counts %+v", uid, want, got)
			}
			if within := p.elastic.within(p.growth.wants); within != p.growth.wants {
				return fmt.Errorf("pod %s was granted %+v, want %+v", uid, p.growth.wants, within)
			}
		}
		if judged := judgedNodes(r.judge)[name].GetRequested().GetMilliCPU(); judged != sum {
			return fmt.Errorf("the judge counts %d thousandths of cores on node %s, its pods %d", judged, name, sum)
		}
	}
	return nil
}

// checkStale holds the world to emitting nothing that the core takes for late:
// what it emits late is lost.
func (r *rig) checkStale() error {
	if c := r.core.Counts(); c.Stale > 0 || c.Orphans > 0 || c.Refused > 0 {
		return fmt.Errorf("the core took %d events for late, %d for runs of tasks that had moved on, and refused %d plans", c.Stale, c.Orphans, c.Refused)
	}
	return nil
}

// places lists the pods on each node.
type places map[string][]string

func (p places) add(node string, uid types.UID) { p[node] = append(p[node], string(uid)) }

func (p places) sorted() places {
	for _, pods := range p {
		slices.Sort(pods)
	}
	return p
}

// checkPlaces compares the record, the world, the judge and the core.
func (r *rig) checkPlaces() error {
	record, known, judged, held := places{}, places{}, places{}, places{}
	for _, pod := range r.placed() {
		record.add(pod.Spec.NodeName, pod.UID)
	}
	for _, pod := range r.nominated() {
		record.add(pod.Spec.NodeName, pod.UID)
	}
	for name, n := range r.world.nodes.byName {
		for uid := range n.pods {
			known.add(name, uid)
		}
		for _, t := range r.core.View().TasksOn(n.row) {
			if task := r.core.View().Task(t); task.Phase == cluster.Reserved || task.Node != n.row {
				continue // room that others have yet to leave
			}
			if s := r.world.slots.byTask[t]; s == nil || s.pod == nil {
				held.add(name, types.UID(fmt.Sprintf("nobody in task row %d", t)))
			} else {
				held.add(name, s.pod.object.UID)
			}
		}
	}
	for name, info := range judgedNodes(r.judge) {
		for _, pod := range info.GetPods() {
			judged.add(name, pod.GetPod().UID)
		}
	}
	want := record.sorted()
	for who, has := range map[string]places{"world": known, "judge": judged, "core": held} {
		if !maps.EqualFunc(has.sorted(), want, slices.Equal[[]string]) {
			return fmt.Errorf("the %s has pods %v, where %v are", who, has, want)
		}
	}
	return nil
}

// checkStages compares each pod's stage with its task's phase, and the counts
// with what they count.
func (r *rig) checkStages() error {
	var stages [Bound + 1]int
	onNodes, unplaced, ranks := len(r.nominated()), map[int32]int{}, map[int32]int{}
	for _, room := range r.nominated() {
		ranks[priority(room)]++
	}
	for uid, p := range r.world.pods.byUID {
		if r.pods[uid] == nil {
			return fmt.Errorf("the world still knows pod %s", uid)
		}
		if p.Ours {
			stages[p.Stage]++
		}
		if p.Ours && (p.Stage == Queued || p.Stage == Waiting || p.Stage == AwaitingQuery) {
			unplaced[p.priority()]++
		}
		if p.node != nil {
			onNodes++
			ranks[p.priority()]++
		}
		if theirs := !p.Ours && p.Stage != Gated && p.Stage != Bound && p.Stage != UnknownNode; theirs {
			return fmt.Errorf("pod %s is not ours to place, and has the stage %q", p.object.Name, p.Stage)
		}
		if p.calledBack && !slices.Contains(r.back, p) {
			return fmt.Errorf("pod %s counts as called back, and nothing will be heard of that", p.object.Name)
		}
		if p.slot == nil {
			continue
		}
		if phase := r.core.View().Task(p.slot.task).Phase; !stands(p.Stage, phase) {
			return fmt.Errorf("pod %s has the stage %q, its task is %s", p.object.Name, p.Stage, phase)
		}
	}
	if stages != r.world.pods.stages || onNodes != r.world.placed.onNodes {
		return fmt.Errorf("counted %v pods in stages and %d on nodes, the world says %v and %d", stages, onNodes, r.world.pods.stages, r.world.placed.onNodes)
	}
	if !maps.Equal(ranks, r.world.placed.ranks) {
		return fmt.Errorf("by priority, %v are on nodes, and the world counts %v", ranks, r.world.placed.ranks)
	}
	if !maps.Equal(unplaced, r.world.pods.unplaced) {
		return fmt.Errorf("by priority, %v wait for a node, and the world counts %v", unplaced, r.world.pods.unplaced)
	}
	for uid := range r.pods {
		if r.world.pods.byUID[uid] == nil {
			return fmt.Errorf("the world does not know pod %s", uid)
		}
	}
	return nil
}

// checkGroups compares what is known of pod groups with the groups and pods that there are, and with the core's jobs.
func (r *rig) checkGroups() error {
	pods, jobs := 0, 0
	for key, g := range r.world.groups.byName {
		pods, jobs = pods+len(g.pods), jobs+len(g.own.jobs)
		if there := key.source == ofPodGroup && r.groups[key.Name] != nil; there != (g.Object != nil) || !there && g.members == nil && len(g.pods)+len(g.own.jobs) == 0 {
			return fmt.Errorf("it is %t that group %s is there, and the world knows of it: %t", there, key.Name, g.Object != nil)
		}
		if g.own.least != g.least {
			return fmt.Errorf("group %s is of %d, and its pods are a gang of %d", key.Name, g.least, g.own.least)
		}
		if err := r.checkJobs(&g.own); err != nil {
			return err
		}
	}
	for _, c := range r.world.groups.forest.byName {
		jobs += len(c.gang.jobs)
		if err := r.checkJobs(&c.gang); err != nil {
			return err
		}
	}
	for _, p := range r.world.pods.byUID {
		if p.group != nil {
			pods--
			if p.group.pods[p.object.UID] != p {
				return fmt.Errorf("pod %s is of a group that does not have it", p.object.Name)
			}
		}
	}
	for _, j := range r.world.slots.jobs {
		if j.key.gang != nil {
			jobs--
		}
	}
	if pods != 0 || jobs != 0 {
		return fmt.Errorf("groups have %d pods and %d jobs more than there are", pods, jobs)
	}
	return nil
}

// checkJobs compares a gang with its jobs in the core.
func (r *rig) checkJobs(of *Gang) error {
	for _, j := range of.jobs {
		if has := r.core.View().Job(j.row); r.world.slots.jobs[j.key] != j || j.key.gang != of || has.Gang != of.least || has.Disruption != r.world.slots.disruption(j) {
			return fmt.Errorf("gang %s is one of %d, and its job %+v", of.name, of.least, has)
		}
	}
	return nil
}

// checkExits holds evictions to their budget, and the world and the core to
// agreeing on who leaves.
func (r *rig) checkExits() error {
	type asked struct {
		profile string
		moves   bool
	}
	requested := map[asked]int{}
	for _, p := range r.world.pods.byUID {
		if p.slot == nil {
			continue
		}
		task := r.core.View().Task(p.slot.task)
		if leaves := p.exit.leaving || p.exit.ending; leaves != (task.Phase == cluster.Leaving) {
			return fmt.Errorf("it is %t that pod %s leaves, and its task is %s", leaves, p.object.Name, task.Phase)
		}
		if spared := p.node != nil && p.exit.protectedUntil > r.world.journal.now; spared && task.Protection().Until != p.exit.protectedUntil {
			return fmt.Errorf("pod %s is not to be evicted before %v, and the core knows of %v", p.object.Name, p.exit.protectedUntil, task.Protection().Until)
		} else if why := task.Protection().Reason; spared && (why == "" || strings.Contains(why, p.object.Name)) {
			return fmt.Errorf("pod %s is not to be evicted as %q; recordings have reasons, and no names of pods", p.object.Name, why)
		}
		name := p.object.Spec.SchedulerName
		if !p.Ours { // that of the profile for which others are evicted
			name = ours
		}
		if p.exit.requested {
			requested[asked{name, p.exit.moves}]++
		}
		if yields := p.Ours || r.others && !isMirror(p.object) && r.world.exits.of(p) != nil; p.exit.leaving && (!yields || r.world.exits.budgets[name] == nil && p.object.DeletionTimestamp == nil) {
			return fmt.Errorf("pod %s is to leave, and may not be evicted", p.object.Name)
		}
		if seen := p.Stage == Bound && p.object.Spec.NodeName != ""; seen && task.Priority != p.priority() {
			return fmt.Errorf("pod %s has priority %d in the core, want %d", p.object.Name, task.Priority, p.priority())
		}
	}
	for name, e := range r.world.exits.budgets {
		for _, l := range e.departures() {
			if is := (asked{name, l == &e.moves}); l.out != requested[is] || l.out > l.AtOnce {
				return fmt.Errorf("%d pods were asked to leave (%+v), counted %d of at most %d", requested[is], is, l.out, l.AtOnce)
			}
		}
	}
	return nil
}

// stands reports whether a task in the phase may be that of a pod in the
// stage. After a restart an assumed pod's task counts as running.
func stands(stage Stage, phase cluster.Phase) bool {
	switch stage {
	case Waiting:
		return phase == cluster.Waiting || phase == cluster.Reserved
	case Assumed:
		return phase == cluster.Starting || phase == cluster.Running || phase == cluster.Leaving
	case Bound:
		return phase == cluster.Running || phase == cluster.Leaving
	default:
		return phase == cluster.Gated
	}
}

// checkSets works the set of every waiting pod out anew.
func (r *rig) checkSets() error {
	s := r.core.View()
	for _, p := range r.world.pods.byUID {
		if p.Stage != Waiting || r.reserved(p.slot.task) {
			continue
		}
		c := p.slot.shape.set
		if c.local == nil {
			return fmt.Errorf("pod %s waits on the result of a query in an earlier round", p.object.Name)
		}
		local := r.judge.Local(p.object)
		for name, n := range r.world.nodes.byName {
			want := local.Admits(name) && (p.stock == nil || p.stock.reach.admits(n)) && (p.second || !avoids(p, n)) && n.contest.until <= r.world.journal.now
			if has := s.Eligible(c.id, n.row); has != want {
				return fmt.Errorf("pod %s, node %s: it is %t that the set has it, want %t", p.object.Name, name, has, want)
			}
		}
	}
	return nil
}

// avoids reports whether the node has a soft taint that the pod does not
// tolerate.
func avoids(p *Pod, n *node) bool {
	for i := range n.object.Spec.Taints {
		taint := &n.object.Spec.Taints[i]
		tolerated := false
		for j := range p.object.Spec.Tolerations {
			tolerated = tolerated || tolerates(&p.object.Spec.Tolerations[j], taint)
		}
		if isSoft(*taint) && !tolerated {
			return true
		}
	}
	return false
}

// checkQueries makes sure that each pod that awaits a query is queued for it, and that
// nobody who might be placed is forgotten.
func (r *rig) checkQueries() error {
	for _, p := range r.world.pods.byUID {
		awaits := p.Stage == AwaitingQuery
		switch {
		case awaits && (p.query == nil || r.world.queries.byKey[p.query.key] != p.query):
			return fmt.Errorf("pod %s awaits a query that nobody will run", p.object.Name)
		case awaits && !slices.Contains(p.query.pods, p):
			return fmt.Errorf("pod %s is not queued for its query", p.object.Name)
		case !awaits && p.query != nil && slices.Contains(p.query.pods, p):
			return fmt.Errorf("pod %s has the stage %q and is queued for a query", p.object.Name, p.Stage)
		}
	}
	for key, q := range r.world.queries.byKey {
		if q.judged != nil || len(q.pods) == 0 {
			return fmt.Errorf("query %q is open, or nobody's, between rounds", key)
		}
	}
	return nil
}

// checkColumns holds the core's vectors to what columns stand for at this moment,
// whatever they stood for before.
func (r *rig) checkColumns() error {
	k := r.world.columns
	shapes := make([]int, len(k.columns))
	for _, s := range r.world.shapes.byKey {
		for i := range k.columns {
			if i >= k.named && s.demand[firstExtended+i] > 0 {
				shapes[i]++
			}
		}
	}
	for i, c := range k.columns {
		if c.shapes != shapes[i] {
			return fmt.Errorf("column %d, %s, is asked for by %d shapes, the world counts %d", i, c.need, shapes[i], c.shapes)
		}
	}
	offers := map[v1.ResourceName]int{}
	for name, n := range r.world.nodes.byName {
		if has, want := r.core.View().Capacity(n.row), k.capacity(n); !slices.Equal(has, want) {
			return fmt.Errorf("node %s has capacity %v in the core, want %v", name, has, want)
		}
		for resource, q := range framework.NewResource(n.object.Status.Allocatable).ScalarResources {
			if q > 0 {
				offers[resource]++
			}
		}
	}
	if !maps.Equal(offers, k.offers) {
		return fmt.Errorf("nodes offer %v, the world counts %v", offers, k.offers)
	}
	for _, p := range r.world.pods.byUID {
		if p.node == nil && p.Stage != Waiting {
			continue
		}
		info, _ := p.read()
		requests := judge.Requests(info)
		has := r.core.View().Shape(r.core.View().Task(p.slot.task).Shape).Demand
		for i, c := range k.columns {
			want := requests.ScalarResources[c.need.resource]
			if c.need.resource != "" && r.judge.ProvidesDevices(c.need.resource) {
				want = 0
			}
			if p.stock != nil && c.need.driver != "" {
				for _, d := range p.stock.takes {
					if d.driver == c.need.driver {
						want++
					}
				}
			}
			for _, port := range util.GetHostPorts(p.object) {
				for _, share := range portShares(port) {
					if c.need.isPort() && share.port == c.need.port {
						want = min(wholePort, want+share.units)
					}
				}
			}
			if has[firstExtended+i] != want {
				return fmt.Errorf("pod %s takes %d of %s in the core, want %d", p.object.Name, has[firstExtended+i], c.need, want)
			}
		}
	}
	return nil
}

// checkRules holds what is kept of rules between pods to what the pods say, and the core's tags to that.
func (r *rig) checkRules() error {
	rs, pods, selectors, gaps := r.world.rules, map[*rule]int{}, map[*selector]int{}, 0
	for _, k := range rs.kins {
		for p := range k.pods {
			if p.company.kin != k && !p.regrouped || r.world.pods.byUID[p.object.UID] != p {
				return fmt.Errorf("pod %s is no kin of %s", p.object.Name, k.key)
			}
		}
	}
	for _, p := range inOrder(r.world.pods.byUID) {
		if p.company == nil {
			if p.slot != nil && len(p.slot.shape.tags) > 0 {
				return fmt.Errorf("pod %s has tags %q, and nobody knows why", p.object.Name, p.slot.shape.tags)
			}
			continue
		}
		gaps += p.company.gaps
		for _, own := range p.company.rules {
			pods[own]++
			if rs.byKey[own.key] != own {
				return fmt.Errorf("pod %s has rule %q, which is forgotten", p.object.Name, own.key)
			}
		}
		for _, s := range rs.selectors {
			selects := s.selects(p.company.kin)
			if !p.regrouped && selects != slices.Contains(p.company.tags, s.tag) {
				return fmt.Errorf("pod %s has tags %q; that it is selected by %q is %v", p.object.Name, p.company.tags, s.tag, selects)
			}
		}
		if p.slot != nil && (p.node != nil || p.Stage == Waiting) && !slices.Equal(p.slot.shape.tags, p.company.tags) {
			return fmt.Errorf("pod %s has tags %q, and its shape %q", p.object.Name, p.company.tags, p.slot.shape.tags)
		}
	}
	for key, own := range rs.byKey {
		for _, s := range own.selectors {
			selectors[s]++
		}
		if pods[own] != len(own.pods) || len(own.pods) == 0 || r.core.View().Constraint(own.row) == nil {
			return fmt.Errorf("rule %q is of %d pods, %d have it", key, len(own.pods), pods[own])
		}
	}
	for key, own := range rs.standing.made {
		for _, s := range own.selectors {
			selectors[s]++
		}
		if has := r.core.View().Constraint(own.row); has == nil || has.Arriving || has.Name != key.String() {
			return fmt.Errorf("constraint %v is %+v in the core", key, has)
		}
	}
	if len(rs.standing.made) != len(rs.standing.wanted.Constraints) {
		return fmt.Errorf("there are %d constraints, the core has %d", len(rs.standing.wanted.Constraints), len(rs.standing.made))
	}
	for tag, s := range rs.selectors {
		if selectors[s] != len(s.rules) || len(s.rules) == 0 {
			return fmt.Errorf("selector %q is of %d rules, %d have it", tag, len(s.rules), selectors[s])
		}
		for _, k := range rs.kins {
			if s.kins[k] != slices.Contains(k.tags, tag) {
				return fmt.Errorf("that selector %q selects %s is %v", tag, k.key, s.kins[k])
			}
		}
	}
	if gaps != rs.gaps {
		return fmt.Errorf("there are %d gaps, %d are counted", gaps, rs.gaps)
	}
	return nil
}
