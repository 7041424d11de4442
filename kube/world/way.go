package world

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// This file has others leave for pods that are asked about (for those of gangs see gangway.go), and that the core would have nobody leave for by what it counts: for devices, for disks in their own
// specs, for rules that the core has no words for. Upstream's filters say, node by node, who would have to leave (judge.MakeWay). A rule stands for that as long
// as the pod waits: it may not come to a node where one of those stays. So policies choose the node as for any rule, and who else has to leave for room.
//
// Claims are given back a little later than the pods that used them are gone. Until then nobody else leaves for the pod. As long as a place is kept for it, nobody who asks for something as it is and is no more
// important is let through to the nodes of which one has that place, and then to the one where it has been. Room is not kept then.

// mostTries is after how many tries no further node is asked who would have to leave, and mostFound after how many that were found.
const (
	mostTries = 24
	mostFound = 4
)

// way is what others have that a pod asks for, or pods of a gang do together.
type way struct {
	pods    []*Pod
	holders []*Pod // who have it, on all nodes that were found
	nodes   []*node
	kept    bool   // a place is kept for one of the pods on one of the nodes
	number  uint64 // no other has it
}

// ways keeps them, in the order in which they were found, and nodes for a while where nobody has to leave any more.
type ways struct {
	journal *journal
	pods    *Pods
	nodes   *nodes
	rules   *rules
	list    []*way
	kept    []keptNode
	opens   cluster.Time // when the next of them is not kept any more
	made    uint64       // how many ways there have been
	// yields says of a pod whether it may be evicted now, for another.
	yields func(p, by *Pod) bool
}

// keptNode is a node that is kept for a pod until what it asks for has been given back. It stays in the list after that time, if it has not been: nobody leaves for the pod then.
type keptNode struct {
	pod   *Pod
	node  *node
	until cluster.Time
}

// clear finds nodes but those that would take the first of the query's pods if others left, and lets the core know who: one where those leave anyway, if there is any, and else some. It begins
// where the least important pod is that may leave, and further down where nobody has left by that before. Soon says that a node takes the pod as soon as claims are given back that nobody uses any more.
func (ws *ways) clear(q *query, judged *judge.Case, but []string, taken []v1.ResourceName, counted []string) (names []string, soon bool) {
	p := q.pods[0]
	may := map[string][]*framework.PodInfo{}
	w := &judge.Way{Taken: taken, Counted: counted, Known: func(uid types.UID) bool { return ws.stays(uid, p) }}
	w.May = func(node string) []*framework.PodInfo {
		if _, known := may[node]; !known {
			may[node] = mayLeave(ws.nodes.byName[node], p, ws.yields)
		}
		return may[node]
	}
	for _, name := range judged.Soon(w) {
		if !slices.Contains(but, name) && !ws.closed(q, name) {
			return nil, ws.keep(p, ws.nodes.byName[name])
		}
	}
	ws.kept = slices.DeleteFunc(ws.kept, func(k keptNode) bool { return k.pod == p })
	nodes := slices.DeleteFunc(judged.Clearable(w), func(name string) bool { return slices.Contains(but, name) || ws.closed(q, name) })
	found := &way{pods: []*Pod{p}}
	for _, name := range ws.inTurn(nodes, q.vain*mostFound, w) {
		if w.Tries >= mostTries || len(names) == mostFound {
			break
		}
		must, ok := judged.MakeWay(name, w)
		if !ok || len(must) == 0 {
			continue
		}
		var holders []*Pod
		for _, info := range must {
			holders = append(holders, ws.pods.byUID[info.Pod.UID])
		}
		if !slices.ContainsFunc(holders, func(o *Pod) bool { return !o.goes() }) {
			names, found.nodes, found.holders = []string{name}, []*node{ws.nodes.byName[name]}, holders
			break
		}
		names, found.nodes, found.holders = append(names, name), append(found.nodes, ws.nodes.byName[name]), append(found.holders, holders...)
	}
	if len(names) > 0 {
		ws.declare(found)
	}
	return names, false
}

// inTurn are the nodes where somebody leaves anyway, and then the others, those first where the least important pod is that may leave, from so many on.
func (ws *ways) inTurn(nodes []string, from int, w *judge.Way) []string {
	going, others := []string(nil), []string(nil)
	for _, name := range nodes {
		if slices.ContainsFunc(w.May(name), func(info *framework.PodInfo) bool { return ws.pods.byUID[info.Pod.UID].goes() }) {
			going = append(going, name)
		} else {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		slices.SortStableFunc(others, func(a, b string) int { return cmp.Compare(leastOf(w.May(a)), leastOf(w.May(b))) })
		at := from % len(others)
		others = slices.Concat(others[at:], others[:at])
	}
	return append(going, others...)
}

// stays reports whether the pod is there, as far as that counts for the other one: not if it is about to be gone, and nobody need ask for that.
func (ws *ways) stays(uid types.UID, of *Pod) bool {
	p := ws.pods.byUID[uid]
	return p != nil && (p.object.DeletionTimestamp == nil || ws.yields(p, of))
}

// leastOf is the least priority of the pods.
func leastOf(may []*framework.PodInfo) int32 {
	least := int32(math.MaxInt32)
	for _, info := range may {
		least = min(least, priority(info.Pod))
	}
	return least
}

// goes reports whether the pod is about to be gone.
func (p *Pod) goes() bool { return p.exit.leaving || p.object.DeletionTimestamp != nil }

// mayLeave are the pods on the node that may leave for the other pod: those first that are to stay if others may, as a budget keeps them, or they are more important, and those last that leave anyway.
func mayLeave(n *node, of *Pod, yields func(p, by *Pod) bool) []*framework.PodInfo {
	if n == nil {
		return nil
	}
	var list []*Pod
	for _, p := range n.pods {
		if mayGo(p, of, yields) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, staysFirst)
	may := make([]*framework.PodInfo, 0, len(list))
	for _, p := range list {
		may = append(may, p.info)
	}
	return may
}

// mayGo reports whether the pod may leave for the other one, or leaves anyway.
func mayGo(p, of *Pod, yields func(p, by *Pod) bool) bool {
	return p.Stage == Bound && yields(p, of) && (p.goes() || p.priority() < of.priority())
}

// leaves says of pods whether they may leave for that one.
func (ws *ways) leaves(of *Pod) func(types.UID) bool {
	return func(uid types.UID) bool {
		p := ws.pods.byUID[uid]
		return p != nil && mayGo(p, of, ws.yields)
	}
}

// staysFirst puts those first that are to stay if others may leave.
func staysFirst(a, b *Pod) int {
	first := func(a, b bool) int {
		switch {
		case a && !b:
			return -1
		case b && !a:
			return 1
		}
		return 0
	}
	return cmp.Or(first(!a.goes(), !b.goes()), first(a.exit.unspared(), b.exit.unspared()), cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.order, b.order))
}

// declare has the core know of a way: its pods come to no node where one of the holders stays.
func (ws *ways) declare(w *way) {
	ws.made++
	w.number = ws.made
	ws.list = append(ws.list, w)
	for _, p := range w.pods {
		p.way = w
	}
	for _, p := range w.holders {
		p.bars = append(p.bars, w.tag())
	}
	ws.rules.regroup(append(slices.Clone(w.holders), w.pods...))
}

// lift ends what the pod's way says of it to the core, if there is one.
func (ws *ways) lift(p *Pod) {
	w := p.way
	if w == nil {
		return
	}
	known := []*Pod{p}
	if p.way, w.pods = nil, slices.DeleteFunc(w.pods, func(o *Pod) bool { return o == p }); len(w.pods) == 0 {
		ws.forget(w)
		known = append(known, w.holders...)
	}
	known = slices.DeleteFunc(known, func(o *Pod) bool { return !ws.pods.has(o) })
	slices.SortFunc(known, byOrder)
	ws.rules.regroup(slices.Compact(known))
}

// begin forgets all, for a new core, to which all pods are told anew.
func (ws *ways) begin() {
	for len(ws.list) > 0 {
		ws.forget(ws.list[0])
	}
	ws.kept, ws.opens = nil, cluster.Never
}

// forget takes a way out of the list, and from its pods.
func (ws *ways) forget(w *way) {
	for _, p := range w.pods {
		p.way = nil
	}
	for _, p := range w.holders {
		p.bars = slices.DeleteFunc(p.bars, func(tag string) bool { return tag == w.tag() })
	}
	ws.list = slices.DeleteFunc(ws.list, func(o *way) bool { return o == w })
}

// keep keeps the node for the pod until what it asks for has been given back, or has not for long, and reports whether it is kept.
func (ws *ways) keep(p *Pod, n *node) bool {
	at := slices.IndexFunc(ws.kept, func(k keptNode) bool { return k.pod == p })
	if at < 0 {
		at = len(ws.kept)
		ws.kept = append(ws.kept, keptNode{p, n, ws.journal.now + claimsCome})
	}
	ws.kept[at].node = n
	until := ws.kept[at].until
	if until > ws.journal.now {
		ws.opens = min(ws.opens, until)
	}
	return until > ws.journal.now
}

// awaits reports whether a node is kept for the pod until what it asks for has been given back.
func (ws *ways) awaits(p *Pod) bool {
	return slices.ContainsFunc(ws.kept, func(k keptNode) bool { return k.pod == p && k.until > ws.journal.now })
}

// closed reports whether the query's pods are not to come to the node: it is left to others, or one that is no less important has a place kept on one of those that it could have, or what it asks for is about to be given back there.
func (ws *ways) closed(q *query, name string) bool {
	if ws.nodes.leftAlone(name) {
		return true
	}
	first := q.pods[0]
	keeps := func(p *Pod, n *node) bool {
		beside := p == first || p.gang() != nil && p.gang() == first.gang()
		return q.asIs && !beside && p.priority() >= first.priority() && n.object.Name == name
	}
	return slices.ContainsFunc(ws.list, func(w *way) bool {
		return w.kept && slices.ContainsFunc(w.pods, func(p *Pod) bool {
			return p.Stage == Waiting && slices.ContainsFunc(w.nodes, func(n *node) bool { return keeps(p, n) })
		})
	}) || slices.ContainsFunc(ws.kept, func(k keptNode) bool { return k.until > ws.journal.now && keeps(k.pod, k.node) })
}

// prune forgets what was kept for pods that do not wait any more, and reports whether a node has been kept for long enough.
func (ws *ways) prune() (opened bool) {
	ws.kept = slices.DeleteFunc(ws.kept, func(k keptNode) bool { return !ws.pods.has(k.pod) || k.pod.placed() })
	if ws.opens > ws.journal.now {
		return false
	}
	ws.opens = cluster.Never
	for _, k := range ws.kept {
		if k.until > ws.journal.now {
			ws.opens = min(ws.opens, k.until)
		}
	}
	return true
}

// tag is that of those who have what the way's pods ask for.
func (w *way) tag() string {
	return fmt.Sprintf("%swhat others are to leave for, %d", tagPrefix, w.number)
}

// readWay reads that the pod stands on no node where others stay who have what it asks for.
func (rs *rules) readWay(p *Pod, c *company) {
	if p.way == nil {
		return
	}
	holders := p.way.tag()
	said := wording{fmt.Sprintf("what others have that pods of way %d ask for", p.way.number), 0} // recordings have rules by their words, and name no pods
	rs.adopt(p, c, said, nil, func(tag string) []cluster.Bound {
		return []cluster.Bound{{Subject: []string{tag}, Target: []string{holders}, Group: cluster.EachNode}}
	})
}
