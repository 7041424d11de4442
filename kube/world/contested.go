package world

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
)

// This file yields to other schedulers that place on the same nodes. Each counts the other's pods only once it has seen them bound, so that both may
// take the last room of a node. Where a pod of another scheduler arrives while binds of ours are under way to the same node, and the node is more than half full
// with all of them, ours yields: binds that were not sent yet are called back, and the node is left alone for a while, that is, to the other scheduler. To wait until
// there is no room left would be too late, as more of its pods have been bound than were seen. Pods of DaemonSets and static pods do not choose their nodes, and are no sign of that:
// for them as many binds are called back as have no room, of the least important pods first and of the last that came among these.
//
// What was sent may have been done and is not called back, and nobody is evicted for it: of pods that a node has no room for, the kubelet refuses
// those that it sees last, before they run. The longer binds are under way, the more of what others do is noticed in time.

// contestLasts is for how long a node is left alone.
const contestLasts = 5 * cluster.Second

// Contest keeps the nodes on which other schedulers took the room that pods of ours were to have. A node that is left alone is in no node set of pods that
// wait, and in no result of a query.
type Contest struct {
	journal *journal
	pods    *Pods
	nodes   *nodes
	columns *Columns
	sets    *nodeSets
	// arrivals are the nodes on which pods of others have arrived since Yield, each once.
	arrivals []*node
	left     []*node // that are left alone, in the order in which that ends
	count    int     // of contests
	idle     bool    // in a shadow, which has no binds under way
}

// contest is where a node stands in it.
type contest struct {
	arrived []*Pod       // of others, since Yield
	until   cluster.Time // when it is open again; 0 if it is
}

// arrived takes in that a pod has come to the node.
func (c *Contest) arrived(p *Pod, n *node) {
	if c.idle || p.Ours || c.pods.stages[Assumed] == 0 {
		return
	}
	if len(n.contest.arrived) == 0 {
		c.arrivals = append(c.arrivals, n)
	}
	n.contest.arrived = append(n.contest.arrived, p)
}

// Yield calls back binds to nodes on which others have taken the room. CallBack says whether a bind had not been sent; it is not, then, and
// Binds hears of it as of any other outcome.
func (c *Contest) Yield(callBack func(*Pod) bool) {
	arrivals := c.arrivals
	c.arrivals = nil
	for _, n := range arrivals {
		arrived := n.contest.arrived
		n.contest.arrived = nil
		if c.nodes.byName[n.object.Name] != n {
			continue // it is gone
		}
		flying := underWay(n)
		if len(flying) == 0 {
			continue
		}
		capacity := c.columns.capacity(n)
		lacks := excessOf(n, capacity)
		tight := slices.ContainsFunc(arrived, func(p *Pod) bool { return chooses(p.object) && filling(p, lacks, capacity) })
		if !tight && !slices.ContainsFunc(lacks, positive) {
			continue
		}
		for _, p := range flying {
			if (tight || eases(p, lacks)) && callBack(p) {
				p.calledBack = true
				subtract(lacks, p)
			}
		}
		c.leave(n)
	}
}

// underWay are the pods of ours whose binds to the node are under way and may be called back, those first that are to yield first. Pods of a gang
// are bound together.
func underWay(n *node) []*Pod {
	var list []*Pod
	for _, p := range n.pods {
		if p.Ours && p.Stage == Assumed && !p.calledBack && p.gang() == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Pod) int { return before(b, a) })
	return list
}

// excessOf is how much more the pods on the node take than its capacity, by column; negative where there is room. Who was called back takes nothing.
func excessOf(n *node, capacity cluster.Vector) cluster.Vector {
	lacks := make(cluster.Vector, len(capacity))
	for i, q := range capacity {
		lacks[i] = -q
	}
	for _, p := range n.pods {
		if p.calledBack {
			continue
		}
		for i, q := range p.slot.shape.demand {
			lacks[i] += q
		}
	}
	return lacks
}

// chooses reports whether somebody has chosen the node for the pod, where it could have chosen another.
func chooses(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return !isMirror(pod) && (owner == nil || owner.Kind != "DaemonSet")
}

// filling reports whether more than half of something that the pod takes is in use.
func filling(p *Pod, lacks, capacity cluster.Vector) bool {
	for i, q := range p.slot.shape.demand {
		if q > 0 && -lacks[i] < capacity[i]/2 {
			return true
		}
	}
	return false
}

func positive(q int64) bool { return q > 0 }

// eases reports whether the pod takes some of what there is too little of.
func eases(p *Pod, lacks cluster.Vector) bool {
	for i, q := range p.slot.shape.demand {
		if lacks[i] > 0 && q > 0 {
			return true
		}
	}
	return false
}

func subtract(lacks cluster.Vector, p *Pod) {
	for i, q := range p.slot.shape.demand {
		lacks[i] -= q
	}
}

// leave leaves the node alone, from now on for a while; unless pods were told to leave it for one of ours, whose place there would be lost with what they have done.
func (c *Contest) leave(n *node) {
	c.count++
	for _, p := range n.pods {
		if p.exit.leaving {
			return
		}
	}
	c.left = slices.DeleteFunc(c.left, func(other *node) bool { return other == n })
	c.left = append(c.left, n)
	n.contest.until = c.journal.now + contestLasts
	c.sets.update(n)
}

// due opens nodes again that were left alone for long enough.
func (c *Contest) due() {
	for len(c.left) > 0 && c.left[0].contest.until <= c.journal.now {
		n := c.left[0]
		c.left = c.left[1:]
		n.contest.until = 0
		if c.nodes.byName[n.object.Name] == n {
			c.sets.update(n)
			c.journal.changes++
		}
	}
}

// wake is when the next node is open again.
func (c *Contest) wake() cluster.Time {
	if len(c.left) == 0 {
		return cluster.Never
	}
	return c.left[0].contest.until
}

// LeftAlone are the names of the nodes that are left alone now, in order, and how often one was since the beginning.
func (c *Contest) LeftAlone() (names []string, times int) {
	for _, n := range c.left {
		names = append(names, n.object.Name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names, c.count
}
