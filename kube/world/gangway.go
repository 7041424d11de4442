package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"fairlead.dev/fairlead/kube/judge"
)

// This file has others leave for a gang that lacks devices: those with whose devices, once their claims are given back, there is an assignment for as many of its pods as it needs, and nobody otherwise.
//
// Who may leave is taken away least important first, twice as many each time, until there is an assignment (judge.TogetherWithout). Then those stay again without whose devices there is one as well, the most
// important first, as upstream does it: who leaves in the end is who would if all who may had been taken away at first, as long as one more device never ends an assignment. Nodes are counted
// with the room that they have without all who are less important; the core finds out who has to leave for that. Each pod is left the node that was found, and one rule says for all of the gang
// that they come to no node where one of those stays, so that the core has all of these leave in one bundle with its placements, or nobody.
//
// Who leaves makes room for pods on its own node: where a device is reached from several, and those whose user would have to leave come to other nodes, nobody leaves.

// mostLeaving is how many pods are taken away at most in the search for who leaves for one gang.
const mostLeaving = 1024

// clearTicks bounds the search for one gang in one turn: some 200 ms. Where it ends by that nobody leaves.
const clearTicks = 4 * shareTicks

// clearing is a search for who has to leave for pods of a gang.
type clearing struct {
	qs      *queries
	members []*query
	of      *Pod              // the least important of their pods: who leaves is less important than all
	way     *judge.Way        // of all of them
	nodes   [][]string        // by member, those that take it, room and devices aside
	now     []map[string]bool // by member, those that take it with the devices that are free, room aside
	wide    bool              // all nodes are looked at, and not only those of the gone
	gone    map[types.UID]*framework.PodInfo
	on      map[string]int // how many of them are on a node
	search  judge.Search
	found   *judge.Joint // without them
	lacks   *judge.Joint // the latest that was none
	why     string       // there is proven to be no assignment without all who may leave
}

// cleared is what a search came to.
type cleared struct {
	units [][]*Pod // who leaves
	found *judge.Joint
}

// clearTogether finds who would have to leave so that there are devices for all of the members, lets the core know, and leaves each its node. Soon says that there are devices for all as soon
// as claims are given back that nobody uses any more; then nobody leaves. Why says which devices are too few even without all who may leave.
func clearTogether(qs *queries, g *Gang, members []*query, others []*judge.Choice) (found, soon bool, why string) {
	if outBeside(qs, g) >= evictorOut || slices.ContainsFunc(members, func(q *query) bool { return !q.evicting }) {
		return false, false, ""
	}
	c := newClearing(qs, members, others)
	if c == nil {
		return false, false, ""
	}
	may := c.mayLeave()
	if len(may) == 0 && !c.way.Idle() || !c.takenBy() {
		return false, false, ""
	}
	if c.way.Idle() {
		if c.wide = true; c.inDomains(g, c.enough) {
			for i, q := range members {
				qs.ways.keep(q.pods[0], qs.nodes.byName[c.found.Nodes[i]])
			}
			return false, true, ""
		}
		c.wide = false
	}
	var best *cleared
	c.inDomains(g, func() bool {
		if one := c.least(may); one != nil && (best == nil || slices.Compare(one.measure(), best.measure()) < 0) {
			best = one
		}
		return false
	})
	if best == nil {
		return false, false, c.why
	}
	c.settle(best)
	return true, false, ""
}

// newClearing begins a search; it is nil where it is not known who uses which claims.
func newClearing(qs *queries, members []*query, others []*judge.Choice) *clearing {
	c := &clearing{qs: qs, members: members, of: leastOfAll(members), gone: map[types.UID]*framework.PodInfo{}, on: map[string]int{}}
	c.search = judge.Search{Others: others, Leaves: qs.ways.leaves(c.of), Budget: clearTicks}
	c.way = &judge.Way{Known: func(uid types.UID) bool { return qs.ways.stays(uid, c.of) }}
	var pods []*v1.Pod
	for _, q := range members {
		pods = append(pods, q.pods[0].object)
	}
	if !c.way.Read(qs.judge, pods...) {
		return nil
	}
	return c
}

// takenBy finds the nodes that take each of the members, and reports whether there are some.
func (c *clearing) takenBy() bool {
	for _, q := range c.members {
		nodes := slices.DeleteFunc(q.judged.FeasibleBut(q.asItIs(), names.DynamicResources), func(name string) bool { return c.qs.ways.closed(q, name) })
		if len(nodes) == 0 {
			return false
		}
		now := map[string]bool{}
		for _, name := range q.names {
			now[name] = true
		}
		c.nodes, c.now = append(c.nodes, nodes), append(c.now, now)
	}
	return true
}

// asItIs are the resources of which enough have to be there as it is.
func (q *query) asItIs() (stays []v1.ResourceName) {
	for _, n := range q.uncounted {
		stays = append(stays, n.resource)
	}
	return stays
}

// inDomains does something with the nodes of each domain in which the gang may stand, until that is enough.
func (c *clearing) inDomains(g *Gang, do func() bool) bool {
	all := c.nodes
	defer func() { c.nodes = all }()
	domains := c.qs.domainsOf(g, all)
	for _, value := range domains[:min(len(domains), mostAsked)] {
		c.nodes = nil
		for _, nodes := range all {
			c.nodes = append(c.nodes, c.qs.within(g, value, nodes))
		}
		if do() {
			return true
		}
	}
	return false
}

// mayLeave are those who may leave for the members and have claims of devices, alone or all of a gang whose pods leave all at once, the least important first.
func (c *clearing) mayLeave() (units [][]*Pod) {
	seen := map[*Gang]bool{}
	for _, name := range sortedKeys(c.qs.nodes.byName) {
		for _, p := range c.qs.nodes.byName[name].pods {
			unit, together := []*Pod{p}, p.Gang() != nil && p.Gang().together && !p.goes()
			if !c.way.Uses(p.object.UID) || together && seen[p.Gang()] {
				continue
			}
			if together {
				seen[p.Gang()] = true
				unit = slices.DeleteFunc(p.Gang().Members(), func(o *Pod) bool { return !o.placed() })
			}
			if !slices.ContainsFunc(unit, func(o *Pod) bool { return !mayGo(o, c.of, c.qs.ways.yields) }) {
				units = append(units, unit)
			}
		}
	}
	slices.SortFunc(units, func(a, b []*Pod) int { return staysFirst(slices.MinFunc(b, staysFirst), slices.MinFunc(a, staysFirst)) })
	return units
}

// least is who has to leave at least of those who may, and nobody of whom need; nil if all would not do.
func (c *clearing) least(may [][]*Pod) *cleared {
	defer func() { clear(c.gone); clear(c.on) }()
	c.found, c.lacks = nil, nil
	for had, count := 0, len(c.members); c.found == nil; had, count = count, 2*count {
		if had >= min(len(may), mostLeaving) {
			if c.lacks != nil && had == len(may) && c.lacks.Impossible() {
				c.why = fmt.Sprintf("%s, even once all %d have left that may leave for it", c.lacks.Why, len(c.gone))
			}
			return nil
		}
		count = min(count, len(may), mostLeaving)
		c.move(may[had:count], true)
		if may := may[:count]; c.enough() {
			important := slices.Clone(may)
			slices.Reverse(important)
			judge.Spare(important, c.move, c.enough)
			return c.checked(important)
		}
	}
	return nil
}

// move has some go, or stay.
func (c *clearing) move(units [][]*Pod, goes bool) {
	for _, unit := range units {
		for _, p := range unit {
			if c.gone[p.object.UID] != nil == goes {
				continue
			}
			if name := p.node.object.Name; goes {
				c.gone[p.object.UID] = p.info
				c.on[name]++
			} else {
				delete(c.gone, p.object.UID)
				c.on[name]--
			}
		}
	}
}

// enough reports whether there is an assignment once the gone have left, and keeps it.
func (c *clearing) enough() bool {
	gone := map[types.UID]bool{}
	for uid := range c.gone {
		gone[uid] = true
	}
	var list []judge.Member
	for i, q := range c.members {
		nodes := slices.DeleteFunc(slices.Clone(c.nodes[i]), func(name string) bool { return !c.wide && !c.now[i][name] && c.on[name] == 0 })
		if len(nodes) == 0 {
			return false
		}
		list = append(list, judge.Member{Pod: q.pods[0].object, Nodes: nodes})
	}
	if c.search.Budget <= 0 {
		return false
	}
	joint := judge.TogetherWithout(c.qs.judge, c.way, gone, list, c.search)
	if joint == nil {
		return false
	}
	if c.search.Budget -= joint.Ticks; !joint.Found() {
		c.lacks = joint
		return false
	}
	c.found = joint
	return true
}

// checked is the assignment that was found last and those of the list who leave for it, if each makes room for somebody on its own node, and upstream's filters take all members by it; else nil.
func (c *clearing) checked(list [][]*Pod) *cleared {
	of := &cleared{found: c.found}
	for _, unit := range list {
		if c.gone[unit[0].object.UID] == nil {
			continue
		}
		if !slices.ContainsFunc(unit, func(p *Pod) bool { return slices.Contains(c.found.Nodes, p.node.object.Name) }) {
			return nil
		}
		of.units = append(of.units, unit)
	}
	for i, q := range c.members {
		if c.way.Taken = q.asItIs(); !q.judged.Takes(c.found.Nodes[i], c.found.Choices[i], c.way, c.gone) {
			return nil
		}
	}
	if c.search.Budget <= 0 {
		return nil // some may leave who need not
	}
	return of
}

// measure says how bad it is that these leave, in upstream's order: how many are to stay for the sake of a budget, the most important, the sum of what they are worth, and how many they are.
func (of *cleared) measure() []int64 {
	violating, worst, sum, count := int64(0), int64(-1<<32), int64(0), int64(0)
	for _, unit := range of.units {
		for _, p := range unit {
			if p.goes() {
				continue // whatever is decided
			}
			if count++; p.exit.unspared() {
				violating++
			}
			worst, sum = max(worst, int64(p.priority())), sum+int64(p.priority())+1<<32
		}
	}
	return []int64{violating, worst, sum, count}
}

// settle leaves each member its node and its devices, and has the core know who has to leave for that.
func (c *clearing) settle(of *cleared) {
	w := &way{}
	for _, unit := range of.units {
		w.holders = append(w.holders, unit...)
	}
	for i, q := range c.members {
		q.names, q.pods[0].choice = []string{of.found.Nodes[i]}, of.found.Choices[i]
		w.pods, w.nodes = append(w.pods, q.pods[0]), append(w.nodes, c.qs.nodes.byName[of.found.Nodes[i]])
	}
	c.qs.chosen = append(c.qs.chosen, of.found.Choices...)
	if len(w.holders) > 0 {
		c.qs.ways.declare(w)
	}
}

// keptChoices are the devices that were chosen for pods whose places are kept until others have left, and that are no less important, or of the same gang.
func keptChoices(qs *queries, g *Gang, p *Pod) (kept []*judge.Choice) {
	for _, o := range qs.queue.offered {
		if o.Stage == Waiting && o.choice != nil && qs.pods.has(o) && (o.gang() == g || o.priority() >= p.priority()) {
			kept = append(kept, o.choice)
		}
	}
	return kept
}
