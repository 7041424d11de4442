package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
)

// This file places a gang that must stand in one domain of nodes (cluster.GangDomains): a zone, say. The gang is tried in one domain after the other, as
// other gangs are in all nodes, the fullest first, so that the others stay open for gangs that need more. The first is taken
// that holds all of its tasks; or else that which holds most, if these are enough. Only where no domain has room for it, others have to
// leave: in the domain where the fewest violate a budget that guards them, then where the fewest leave, and of several in the one that holds most.
//
// A gang that would rather stand in one domain (cluster.GangPreferences) is tried in these first: in one of the narrowest that holds all of it, if nobody has to leave for
// that. Where none does, it stands where it costs least, of which distance is a part. What else tasks prefer counts within a domain, and not for which one is taken.
//
// Where a gang looks for room, its domain's nodes are looked at one by one: so for each task all domains together cost as much as one look at
// each node. Domains that have too few places for tasks like these, even if all are gone who are there, cost nothing.

// near is a bundle that brings all tasks of the gang to a domain where they would rather stand (sched.GangPreferences), nobody leaving for them, and is tried: of the
// narrowest ones that hold all of it. It is nil, with nothing tried, where there is none.
func (p ganging) near(job cluster.JobID, tasks []cluster.TaskID, ways []way) []sched.Action {
	from := p.here()
	for _, domains := range sched.GangPreferences(p.t.View(), tasks) {
		bundle := p.inOneDomain(job, tasks, domains, ways, false)
		if count(bundle, sched.Place) == len(tasks) {
			return bundle
		}
		if bundle != nil {
			p.back(from)
			p.touch(bundle)
		}
	}
	return nil
}

// inOneDomain is a bundle that brings the gang to its number in one of the domains, instead of others or not, and is tried; nil where there is none.
func (p ganging) inOneDomain(job cluster.JobID, tasks []cluster.TaskID, domains []sched.Domain, ways []way, instead bool) (best []sched.Action) {
	s := p.t.View()
	lacks, alike := int64(cluster.GangLacks(s, job)), !slices.ContainsFunc(tasks, func(t cluster.TaskID) bool { return s.Task(t).Shape != s.Task(tasks[0]).Shape })
	from := p.here()
	after, violations := from, 0 // of the best
	defer func() { p.claims.within = nil }()
	for i := range domains {
		d := &domains[i]
		if alike && (!instead && d.Room < lacks || d.Freed < lacks) {
			continue
		}
		p.claims.within = d
		bundle := p.oneOf(job, ways, instead)
		if bundle == nil {
			continue
		}
		spent := p.here()
		p.back(from)
		violates := evict.Violations(s, bundle)
		if best == nil || cmp.Or(cmp.Compare(violates, violations), compare(bundle, best)) < 0 {
			best, after, violations = bundle, spent, violates
		}
		p.touch(bundle)
		if count(best, sched.Place) == len(tasks) && count(best, sched.Evict) == 0 {
			break
		}
	}
	if best == nil {
		return nil
	}
	if p.redo(from, after, best); len(domains) > 1 {
		p.proof.void() // fewer may suffice in another one
	}
	return best
}

// redo tries anew what led from one point to the other.
func (p ganging) redo(from, after point, bundle []sched.Action) {
	p.t.Gather()
	if !p.again(from.mark, bundle) {
		panic("fairlead: a gang cannot be placed in a domain as it was")
	}
	p.t.Gathered()
	p.victims.bucket, *p.proof = after.bucket, after.proof
	p.touch(bundle)
}

// compare is less than 0 if fewer have to leave for the first bundle than for the second, or as many, and it places more.
func compare(a, b []sched.Action) int {
	return cmp.Or(cmp.Compare(count(a, sched.Evict), count(b, sched.Evict)), cmp.Compare(count(b, sched.Place), count(a, sched.Place)))
}

// count is how many of the actions are of that kind.
func count(bundle []sched.Action, kind sched.Kind) (n int) {
	for _, a := range bundle {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// touch has the nodes of the actions looked at anew, which were tried or undone.
func (p ganging) touch(bundle []sched.Action) {
	for _, a := range bundle {
		moving{policy: p.policy, t: p.t}.touch(a)
	}
}

// inDomain is for a task of a gang that looks for room in one domain.
func (p finding) inDomain(d *sched.Domain) (best cluster.NodeID, ok, beside bool) {
	order, least := &p.table.Order, beyond
	p.table.Ticks += int64(len(d.Nodes))
	for _, n := range d.Nodes {
		score := p.x.Leaves()[order.Rank[n]]
		if score == book.None {
			continue
		}
		price := p.surcharges.ofTask(p.s, p.task, n) - score
		if price > least || price == least && order.Rank[n] > order.Rank[best] {
			continue
		}
		refusal := p.s.Admits(p.task, n)
		beside = beside || refusal.Code == cluster.NotApart
		if !refusal.Refused() && !p.claims.keepsOff(n, p.task, p.own) {
			best, least = n, price
		}
	}
	return best, least < beyond, beside
}

// inDomain is sparing for a task of a gang that looks for room in one domain.
func (p preempting) inDomain(but sparing) (on cluster.NodeID, placed, beside bool) {
	s, v, task, d := p.t.View(), &p.victims, p.task, p.claims.within
	id, own := s.Task(task).Shape, p.who.waiting(s, s.Task(task))
	type bid struct {
		node  cluster.NodeID
		score int64
	}
	var bids []bid
	for _, n := range d.Nodes {
		if first, ok := v.choose(s, id, n, but); ok && first > own {
			bids = append(bids, bid{n, v.offered(first)})
		}
	}
	p.table.Ticks += int64(len(d.Nodes))
	rank := p.table.Order.Rank
	slices.SortFunc(bids, func(a, b bid) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(rank[a.node], rank[b.node]))
	})
	for _, b := range bids {
		if p.claims.keepsOff(b.node, task, own) {
			continue
		}
		v.choose(s, id, b.node, but)
		if v.lossOfEquals(s, task) > v.bucket.level {
			return 0, false, beside
		}
		if p.replace(b.node) {
			return b.node, true, beside
		}
		beside = true
	}
	return 0, false, beside
}
