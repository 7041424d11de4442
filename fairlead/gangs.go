package fairlead

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file places gangs. One stands in line where the first of its tasks stands, as a demand as large as all that it lacks; when its turn
// comes, its tasks are placed one by one, each where it costs least with those before it in place: the largest first, and if too few
// find room by that, the smallest first. Where the gang would still have fewer than its number, others may have to leave, until it has that:
// all in one bundle, so that nobody leaves for a half of it. Otherwise everything is as it was, and it sleeps until one of its tasks
// could find a place, and all nodes together have as much room, or others may give up as much, as it asks for at least. So with many gangs
// that wait on full nodes a step costs a comparison for each. Of one that must stand in one domain see domains.go.
//
// Gangs claim no nodes and have nobody moved out of their way: one that needs much of the cluster among many small tasks of its own rank
// may wait for as long as these keep coming.

// mostSpared bounds the victims of a gang that are looked at for whether they have to leave.
const mostSpared = 64

// joinGangs lets those wait who may only be placed with others, and wakes them: that one of them has come, or come back, may be what their gang
// has waited for.
func joinGangs(p *policy, s *cluster.View, c *sched.Changed) {
	for _, t := range c.Gangs {
		p.join(s, t)
		if g := p.waiting.Of(t); g.Asleep() {
			p.enter(s, g)
		}
	}
}

// mayStand reports whether the group, of a gang that lacks some, may find a place on the node beside others of its gang, though none of its
// tasks does alone: a hard constraint concerns them.
func mayStand(s *cluster.View, g *group, n cluster.NodeID) bool {
	return s.Constrained(g.Shape) && s.RoomLater(g.Shape, n) && g.Short(s)
}

// sizeAtOnce is the size of what the group asks for at once.
func sizeAtOnce(p *policy, s *cluster.View, g *group) int64 {
	size := p.worth.SizeOf(s, g.Shape)
	if g.Short(s) {
		lacks := int64(cluster.GangLacks(s, g.Job))
		size = min(size, math.MaxInt64/lacks) * lacks
	}
	return size
}

// asking is what a gang that sleeps asked for when it was tried last. It is forgotten when one of its tasks changes. So a gang for which
// there cannot be room, whatever is tried, costs a comparison when a node changes, and not a search.
type asking struct {
	least cluster.Vector // in all
	may   bool           // it can be placed, if there is room
	first rank           // none of its tasks comes before that, however long it waits
}

// asks is what the gang of these groups asks for.
func (p ganging) asks(job cluster.JobID, groups []*group) *asking {
	s, a := p.t.View(), &asking{first: nobodyYet}
	a.least, a.may = cluster.GangAsks(s, job)
	for _, g := range groups {
		a.first = min(a.first, p.who.highest(s, s.Task(p.waiting.First(g))))
	}
	return a
}

// within reports whether there is as much room as the gang asks for, if it can be placed at all.
func (a *asking) within(room, more cluster.Vector) bool {
	for k, q := range a.least {
		if q > room[k]+more[k] {
			return false
		}
	}
	return a.may
}

// mayMakeRoom reports whether there may be room for the gang with what leaves and what others give up. It takes all nodes together for one, and
// all who run for what they may give up, if anybody may have to.
func mayMakeRoom(p *policy, s *cluster.View, a *asking) bool {
	total := s.Totals()
	if a.within(total.Free, total.Leaving) {
		return true
	}
	return a.within(total.Free, total.Used) && (p.grants.some || !p.without.lacks(WithoutEvictions) && p.victims.anyAfter(s, a.first))
}

// ganging is a pass in which gangs are placed.
type ganging struct {
	*policy
	t       *sched.Trial
	out     *sched.Plan
	returns bool   // the gang runs, and has lost some
	proof   *proof // how few have to leave for these
}

// newGanging is for one gang.
func newGanging(p *policy, t *sched.Trial, out *sched.Plan, job cluster.JobID) ganging {
	return ganging{p, t, out, cluster.GangReturns(t.View(), job), &proof{}}
}

// point is where the search for a bundle goes back to when it leads to none.
type point struct {
	mark   int
	bucket bucket
	proof  proof
}

// here is the point at which the search is.
func (p ganging) here() point { return point{p.t.Mark(), p.victims.bucket, *p.proof} }

// back goes back to a point. What was placed since has to be touched.
func (p ganging) back(to point) {
	p.t.Rollback(to.mark)
	p.victims.bucket, *p.proof = to.bucket, to.proof
}

// serve places the gang of the group, or lets all of it sleep.
func (p ganging) serve(g *group) {
	s, job := p.t.View(), g.Job
	var groups []*group
	var tasks []cluster.TaskID
	for _, t := range cluster.GangTasks(s, job) {
		if other := p.waiting.Of(t); other != nil && other.Job == job {
			tasks = append(tasks, t)
			if !slices.Contains(groups, other) {
				groups = append(groups, other)
			}
		}
	}
	p.table.Ticks += int64(len(tasks))
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Compare(s.Task(p.waiting.First(a)).Seq, s.Task(p.waiting.First(b)).Seq)
	})
	asks := p.asks(job, groups)
	bundle := p.place(job, tasks, asks)
	p.wakeBehind(bundle)
	p.prove(tasks, bundle)
	for _, a := range bundle {
		p.out.Add(a)
		if a.Kind == sched.Place {
			p.users.look(s, a.Task)
			p.claims.placed(s, a.Task)
			p.waiting.Leave(a.Task)
		}
	}
	p.out.Close()
	if cluster.GangLacks(s, job) == 0 {
		asks = nil
	}
	for _, other := range groups {
		switch other.Own.asks = asks; {
		case other.Len() == 0:
		case p.returns && !cluster.GangReturns(s, job): // the others come as all tasks do
			p.enter(s, other)
		default:
			p.sleep(s, other)
		}
	}
}

// place is a bundle that brings the gang to its number, and is tried; nil, with nothing tried, where there is none.
func (p ganging) place(job cluster.JobID, tasks []cluster.TaskID, asks *asking) []sched.Action {
	s := p.t.View()
	if cluster.GangLacks(s, job) == 0 {
		return p.comeBack(job, tasks)
	}
	if len(tasks) < cluster.GangLacks(s, job) || !mayMakeRoom(p.policy, s, asks) {
		return nil
	}
	total, size := s.Totals(), func(t cluster.TaskID) int64 { return p.worth.SizeOf(s, s.Task(t).Shape) }
	free := asks.within(total.Free, make(cluster.Vector, len(total.Free)))
	largest := slices.Clone(tasks)
	slices.SortStableFunc(largest, func(a, b cluster.TaskID) int { return cmp.Compare(size(b), size(a)) })
	smallest := slices.Clone(tasks)
	slices.SortStableFunc(smallest, func(a, b cluster.TaskID) int { return cmp.Compare(size(a), size(b)) })
	mixed := size(largest[0]) != size(smallest[0])
	ways := []way{{tasks: largest, off: !free}, {tasks: smallest, off: !free || !mixed}, {tasks: largest, instead: true}, {tasks: smallest, instead: true, off: !mixed}}
	if free { // nobody leaves for the sake of a preference
		if bundle := p.near(job, tasks, ways); bundle != nil {
			return bundle
		}
	}
	domains, bound := sched.GangDomains(s, tasks)
	for _, instead := range []bool{false, true} {
		var bundle []sched.Action
		if bound {
			bundle = p.inOneDomain(job, tasks, domains, ways, instead)
		} else {
			bundle = p.oneOf(job, ways, instead)
		}
		if bundle != nil {
			return bundle
		}
	}
	return p.together(tasks)
}

// way is in which order tasks are placed, and whether others leave for them.
type way struct {
	tasks        []cluster.TaskID
	instead, off bool
}

// oneOf is a bundle by the first of the ways that leads to one.
func (p ganging) oneOf(job cluster.JobID, ways []way, instead bool) []sched.Action {
	for _, w := range ways {
		if w.off || w.instead != instead {
			continue
		}
		if bundle := p.gather(job, w.tasks, instead); bundle != nil {
			return bundle
		}
	}
	return nil
}

// together is a bundle for a gang whose hard constraints hold for all of it alone: by itself each of its tasks is refused. It is found
// without a look at prices, and evicts nobody.
func (p ganging) together(tasks []cluster.TaskID) []sched.Action {
	s := p.t.View()
	bundle, looks := p.t.TryGang(tasks, func(t cluster.TaskID, n cluster.NodeID) bool {
		return !p.claims.keepsOff(n, t, p.who.waiting(s, s.Task(t)))
	})
	p.table.Ticks += looks
	p.touch(bundle)
	return bundle
}

// gather places one task after the other, in that order; and then, as long as the gang has too few, those who found no room instead of others.
func (p ganging) gather(job cluster.JobID, tasks []cluster.TaskID, instead bool) []sched.Action {
	s, from := p.t.View(), p.here()
	p.t.Gather()
	defer p.t.Gathered()
	bundle := p.fill(job, tasks, instead)
	whole := cluster.GangLacks(s, job) == 0 && !slices.ContainsFunc(bundle, func(a sched.Action) bool {
		return a.Kind == sched.Evict && s.Task(a.Task).Job == job // where ranks go by slack one may come after another of its gang
	})
	tried := bundle
	if whole {
		bundle = p.spare(from.mark, bundle)
	} else {
		p.back(from)
	}
	p.touch(tried)
	if !whole {
		return nil
	}
	return bundle
}

// fill places the tasks part by part: a part that has to stand in one domain in the first that holds all of it, if others do not have to leave another one for that.
func (p ganging) fill(job cluster.JobID, tasks []cluster.TaskID, instead bool) (bundle []sched.Action) {
	parts := cluster.GangParts(p.t.View(), tasks)
	if len(parts) == 1 {
		return p.fillPart(job, tasks, instead)
	}
	outer := p.claims.within
	defer func() { p.claims.within = outer }()
	for _, part := range parts {
		domains := outer.Split(p.t.View(), part)
		if len(domains) == 0 {
			bundle = append(bundle, p.fill(job, part, instead)...)
			continue
		}
		some, most := p.fillOne(job, part, domains, false)
		if some == nil && instead {
			some, most = p.fillOne(job, part, domains, true)
		}
		if some == nil && most != nil { // of a gang that has more tasks than it needs
			p.claims.within = most
			some = p.fill(job, part, instead)
		}
		if len(domains) > 1 {
			p.proof.void() // fewer may suffice in another one
		}
		bundle = append(bundle, some...)
		p.claims.within = outer
	}
	return bundle
}

// fillOne places all tasks of a part in the first of the domains that holds them, or as many as the gang needs. Where none does it returns nil, with nothing tried, and the domain that
// holds the most of them.
func (p ganging) fillOne(job cluster.JobID, part []cluster.TaskID, domains []sched.Domain, instead bool) (some []sched.Action, most *sched.Domain) {
	best := 0
	for i := range domains {
		from := p.here()
		p.claims.within = &domains[i]
		some := p.fill(job, part, instead)
		placed := count(some, sched.Place)
		if placed == len(part) || cluster.GangLacks(p.t.View(), job) == 0 {
			return some, nil
		}
		if placed > best {
			best, most = placed, &domains[i]
		}
		p.back(from)
		p.touch(some)
	}
	return nil, most
}

// fillPart places tasks that go one by one.
func (p ganging) fillPart(job cluster.JobID, tasks []cluster.TaskID, instead bool) []sched.Action {
	s := p.t.View()
	var plan sched.Plan
	var left []cluster.TaskID
	for _, task := range tasks {
		own := s.Task(task)
		if slices.ContainsFunc(left, func(t cluster.TaskID) bool { return s.Task(t).Shape == own.Shape }) {
			left = append(left, task) // room only shrinks
			continue
		}
		x := p.index(s, own.Shape, p.surcharges.tierOf(&s.Classes()[own.Class]))
		if placed, _ := placeFree(p.policy, p.t, x, task, &plan); !placed {
			left = append(left, task)
		}
		p.table.Unhide(x)
	}
	if instead && p.returns {
		left = p.fewestLeave(left, &plan)
	}
	for i, none := 0, cluster.NoTask; i < len(left) && instead && (cluster.GangLacks(s, job) > 0 || p.returns && cluster.GangReturns(s, job)); i++ {
		if none != cluster.NoTask && s.Task(left[i]).Shape == s.Task(none).Shape {
			continue
		}
		if _, placed, _ := placeInstead(p.policy, p.t, left[i], &plan); !placed {
			none = left[i]
		}
	}
	return actions(&plan)
}

// actions are all of a plan, one after the other.
func actions(plan *sched.Plan) (list []sched.Action) {
	for i := range plan.Bundles() {
		list = append(list, plan.Bundle(i)...)
	}
	return list
}

// spare leaves out those victims without whom all of the gang have their places as well: a later one has made more room than
// was wanted.
func (p ganging) spare(mark int, bundle []sched.Action) []sched.Action {
	// Who was placed first may stand in the room that a later victim leaves.
	first := slices.Clone(bundle)
	slices.SortStableFunc(first, func(a, b sched.Action) int { return cmp.Compare(turnOf(a.Kind), turnOf(b.Kind)) })
	if p.again(mark, first) {
		bundle = first
	}
	for i, looked := 0, 0; i < len(bundle) && looked < mostSpared; {
		if bundle[i].Kind != sched.Evict {
			i++
			continue
		}
		looked++
		if fewer := p.letStay(bundle, i); p.again(mark, fewer) {
			bundle = fewer
			continue
		}
		i++
	}
	if !p.again(mark, bundle) {
		panic("fairlead: a gang cannot be placed as it was")
	}
	return bundle
}

// letStay is the bundle without that eviction, and those of all who leave with it.
func (p ganging) letStay(bundle []sched.Action, i int) []sched.Action {
	s, own := p.t.View(), bundle[i].Task
	return slices.DeleteFunc(slices.Clone(bundle), func(a sched.Action) bool {
		with := s.Task(a.Task).Job == s.Task(own).Job && s.Job(s.Task(own).Job).Disruption == cluster.DisruptTogether
		return a.Kind == sched.Evict && (a.Task == own || with)
	})
}

// turnOf puts what makes room before what takes it.
func turnOf(k sched.Kind) int {
	switch k {
	case sched.Evict:
		return 0
	case sched.Resize:
		return 1
	case sched.Place, sched.End:
	}
	return 2
}

// again tries the actions anew, and reports whether all of them can be done. Who leaves all at once is tried so, too.
func (p ganging) again(mark int, bundle []sched.Action) bool {
	p.t.Rollback(mark)
	for len(bundle) > 0 {
		together := 1
		for together < len(bundle) && p.leaveTogether(bundle[0], bundle[together]) {
			together++
		}
		refused := false
		if together > 1 {
			refused = p.t.TryTogether(bundle[:together]).Refused()
		} else {
			refused = p.t.Try(bundle[0]).Refused()
		}
		if refused {
			return false
		}
		bundle = bundle[together:]
	}
	return true
}

// leaveTogether reports whether both are evictions of a job of which all leave at once.
func (p ganging) leaveTogether(a, b sched.Action) bool {
	s := p.t.View()
	job := s.Task(a.Task).Job
	return a.Kind == sched.Evict && b.Kind == sched.Evict && s.Task(b.Task).Job == job && s.Job(job).Disruption == cluster.DisruptTogether
}

// wakeBehind wakes those who may find room where somebody leaves, as that may be more than the gang takes.
func (p ganging) wakeBehind(bundle []sched.Action) {
	s := p.t.View()
	var nodes []cluster.NodeID        // where somebody leaves, and others
	leaves, first := false, nobodyYet // of the gang: victims come after all who are placed instead of them
	for _, a := range bundle {
		leaves = leaves || a.Kind == sched.Evict
		if a.Kind == sched.Place {
			nodes, first = append(nodes, a.Node), min(first, p.who.waiting(s, s.Task(a.Task)))
		}
	}
	if leaves {
		slices.Sort(nodes)
		p.wake(s, &sched.Changed{Nodes: slices.Compact(nodes)}, first)
	}
}
