package world

import (
	"slices"

	"fairlead.dev/fairlead/kube/judge"
)

// This file shares devices out among the pods of a gang. Each of them was asked about by itself, and could have devices if it were alone. Before they are let
// through to the core, nodes and devices are found for all of them together, each pod is left the one node where its devices are, and these are
// what its claims get in the end, if upstream's filters agree. Where there are too few devices for the gang none of it is let through, and it is said which claims are in each
// other's way. Where none is proven, or what was found came to nothing, as upstream refused it or a rule that is not posed keeps a pod off its node, its pods go by upstream's
// first fit once, as pods without a gang do.

// shareTicks bounds the search for one gang in one turn, in all its domains: some 50 ms.
const shareTicks = 500_000

// mostAsked is in how many domains at most devices are looked for, for a gang that is to stand in one.
const mostAsked = 32

// mostOfSome is how many members a gang has at most of which some are enough, for devices to be looked for here.
const mostOfSome = 64

// sharing is what devices are shared out by.
type sharing struct {
	qs        *queries
	gang      *Gang
	list      []*query
	claimants []*query        // whose pods are given devices
	members   []*query        // of these, whose pods could have some by themselves
	needs     int             // of the claimants have to have some, so that the gang has its number
	theirs    []*judge.Choice // what was chosen for others
}

// share narrows the results of a gang's queries to nodes with devices for all, or has others leave for it. It returns the pods that have to wait for some.
func (qs *queries) share(g *Gang, list []*query) []*Pod {
	claimants, members, doubted := claimantsOf(qs, list)
	if len(claimants) == 0 || doubted {
		return nil
	}
	others := g.Pods() - g.Placed() - len(claimants)
	for _, q := range list {
		if q.judged == nil { // no node takes its pods
			others -= len(q.pods)
		}
	}
	s := sharing{
		qs: qs, gang: g, list: list, claimants: claimants, members: members, needs: max(g.Least()-g.Placed()-others, 1),
		theirs: slices.Concat(qs.chosen, keptChoices(qs, g, claimants[0].pods[0])),
	}
	if len(members) < s.needs {
		pods, _ := s.evict("")
		return pods
	}
	if len(members) == 1 && len(s.theirs) == len(qs.chosen) {
		return nil
	}
	return s.out()
}

// evict has others leave for devices, or waits for those that are about to be given back, and returns the pods that have to wait, which are all where that would not do. It is not done where that is not known.
func (s *sharing) evict(why string) (pods []*Pod, done bool) {
	if s.needs > len(s.claimants) {
		return nil, false
	}
	found, soon, lacks := clearTogether(s.qs, s.gang, s.claimants[:s.needs], s.theirs)
	switch {
	case found:
		return s.qs.lack(s.claimants[s.needs:], why), true
	case soon:
		return s.qs.lack(s.list, why), true
	case lacks != "" && why == "":
		return s.qs.lack(s.list, lacks), true
	}
	return nil, false
}

// out shares devices out among the members, or has others leave where there are too few.
func (s *sharing) out() []*Pod {
	qs, members, ticks := s.qs, s.members, int64(shareTicks)
	found, room := qs.together(s.gang, members, s.theirs, &ticks)
	if found == nil {
		return nil
	}
	why, kept := found.Why, members
	if !found.Found() && s.needs < len(members) {
		found, kept = qs.some(s.gang, members, s.needs, s.theirs, &ticks)
		room = onceOthersLeave
	}
	if found == nil || found.Impossible() || found.Found() && room == unsure {
		if pods, done := s.evict(why); done {
			return pods
		}
	}
	switch {
	case found == nil:
		return nil
	case found.Impossible():
		return qs.lack(s.list, why)
	case !found.Found():
		for _, q := range members {
			q.shortage = why
		}
		return nil
	}
	atOnce := room == asItIs && outBeside(qs, s.gang) == placeKept // for another: nobody has to leave for this one
	for i, q := range kept {
		q.names, q.pods[0].choice = []string{found.Nodes[i]}, found.Choices[i]
		q.evicting = q.evicting && !atOnce
	}
	qs.chosen = append(qs.chosen, found.Choices...)
	return qs.lack(slices.DeleteFunc(members, func(q *query) bool { return slices.Contains(kept, q) }), why)
}

// claimantsOf are the queries of pods that are given devices, those first, the members, whose pods could have some by themselves. Doubted says that upstream has refused what was chosen for one, and
// is to choose this time.
func claimantsOf(qs *queries, list []*query) (claimants, members []*query, doubted bool) {
	var lacking []*query
	for _, q := range list {
		if q.judged == nil || len(q.pods) != 1 || !judge.ClaimsDevices(qs.judge, q.pods[0].object) {
			continue
		}
		p := q.pods[0]
		doubted = doubted || p.doubted
		p.choice, p.doubted = nil, false
		if len(q.names) > 0 {
			members = append(members, q)
		} else {
			lacking = append(lacking, q)
		}
	}
	return slices.Concat(members, lacking), members, doubted
}

// some finds devices for as many of the first members as can be had at once, at least so many. It is nil where that is left to upstream: where there are none for these, or
// so many members that the search would not end.
func (qs *queries) some(g *Gang, members []*query, least int, others []*judge.Choice, ticks *int64) (found *judge.Joint, kept []*query) {
	if len(members) > mostOfSome {
		return nil, nil
	}
	for few, many, count := least, len(members)-1, least; few <= many; count = (few + many + 1) / 2 {
		joint, _ := qs.together(g, members[:count], others, ticks)
		if joint != nil && joint.Found() {
			found, kept, few = joint, members[:count], count+1
		} else {
			many = count - 1
		}
	}
	return found, kept
}

// lack has the pods of the queries wait for devices.
func (qs *queries) lack(list []*query, why string) []*Pod {
	var pods []*Pod
	for _, q := range list {
		if q.judged == nil {
			continue // no node takes its pods
		}
		q.close()
		qs.open = slices.DeleteFunc(qs.open, func(other *query) bool { return other == q })
		if q.names, q.shortage = nil, why; !qs.ways.awaits(q.pods[0]) {
			qs.postpone(q)
		}
		pods = append(pods, q.pods...)
	}
	return pods
}

// together finds nodes and devices for the members, in one domain if the gang is to stand in one: where there is room for all, or else, if others may
// leave for them, where there is once all have left who are less important, or else wherever there are devices. It is nil where that is left to upstream.
func (qs *queries) together(g *Gang, members []*query, others []*judge.Choice, ticks *int64) (found *judge.Joint, room roomFor) {
	found = qs.togetherIn(g, members, judge.Search{Others: others}, ticks)
	if found == nil || found.Found() || !slices.ContainsFunc(members, func(q *query) bool { return q.evicting }) {
		return found, asItIs
	}
	found = qs.togetherIn(g, members, judge.Search{Others: others, Leaves: qs.ways.leaves(leastOfAll(members))}, ticks)
	if found == nil || found.Found() {
		return found, onceOthersLeave
	}
	return qs.togetherIn(g, members, judge.Search{Others: others, Roomless: true}, ticks), unsure
}

// roomFor is whether there is room where devices were found.
type roomFor int

const (
	asItIs          roomFor = iota
	onceOthersLeave         // who are less important
	unsure
)

// leastOfAll is the least important pod of the queries.
func leastOfAll(list []*query) *Pod {
	least := list[0].pods[0]
	for _, q := range list {
		if p := q.pods[0]; p.priority() < least.priority() {
			least = p
		}
	}
	return least
}

// togetherIn is together by one such search.
func (qs *queries) togetherIn(g *Gang, members []*query, s judge.Search, ticks *int64) *judge.Joint {
	var best *judge.Joint
	var nodes [][]string
	for _, q := range members {
		nodes = append(nodes, q.names)
	}
	domains := qs.domainsOf(g, nodes)
	for _, value := range domains[:min(len(domains), mostAsked)] {
		if *ticks <= 0 {
			return nil
		}
		var list []judge.Member
		for _, q := range members {
			list = append(list, judge.Member{Pod: q.pods[0].object, Nodes: qs.within(g, value, q.names)})
		}
		s.Budget = *ticks
		joint := judge.Together(qs.judge, list, s)
		if joint == nil {
			return nil
		}
		if *ticks -= joint.Ticks; joint.Found() {
			return joint
		}
		if best == nil || !joint.Impossible() {
			best = joint
		}
	}
	if len(domains) > mostAsked {
		return nil
	}
	return best
}

// domainsOf are the values of the label by which the gang is to stand together, of these nodes, which take its members; of others that are placed, theirs. A gang that may stand anywhere
// has one domain.
func (qs *queries) domainsOf(g *Gang, nodes [][]string) []string {
	if g.domain() == "" {
		return []string{""}
	}
	values := map[string]bool{}
	for _, p := range g.Members() {
		if p.node != nil {
			return []string{p.node.object.Labels[g.domain()]}
		}
	}
	for _, names := range nodes {
		for _, name := range names {
			if n := qs.nodes.byName[name]; n != nil && n.object.Labels[g.domain()] != "" {
				values[n.object.Labels[g.domain()]] = true
			}
		}
	}
	return sortedKeys(values)
}

// domain is the innermost label of nodes by which all pods of the gang stand together; empty if there is none.
func (of *Gang) domain() string {
	for _, t := range of.groups[0].topology {
		if t.key != "" && !slices.ContainsFunc(of.groups, func(g *Group) bool { return !slices.Contains(g.topology[:], t) }) {
			return t.key
		}
	}
	return ""
}

// within are the nodes of the domain.
func (qs *queries) within(g *Gang, value string, names []string) []string {
	if g.domain() == "" {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		n := qs.nodes.byName[name]
		return n == nil || n.object.Labels[g.domain()] != value
	})
}

// Shortage says which devices are too few for the pod's gang; empty if that is not why it waits.
func (p *Pod) Shortage() string {
	if p.query == nil || p.Stage != AwaitingQuery {
		return ""
	}
	return p.query.shortage
}
