package judge

// A Case is a full-filter query for pods that all filters judge alike, with the PreFilter state computed once and kept current; see upkeep.go for how.

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Case runs every filter on pods that are alike: the same namespace, labels and spec, names and UIDs aside. The pods it is for must not be on a node
// of the judge themselves.
type Case struct {
	judge *Judge
	// pod stands for all pods of the case.
	pod *v1.Pod
	// personal means that the result depends on objects outside the judge or on the single pod, so that no state can be kept.
	personal bool
	// among says on which nodes there are pods that matter to the case; nil is all.
	among func() map[string]bool
	// choice is the devices that were chosen for the pod; nil leaves that to upstream.
	choice *Choice
	// passed is what the state, if it is one pod's alone, was last found right for.
	passed passage
	upkeep upkeep
	prefilter
}

// passage is that a pod passed every filter on a node, after so many reservations.
type passage struct {
	pod          types.UID
	node         string
	reservations int
}

// prefilter is what PreFilter found out about one pod.
type prefilter struct {
	state fwk.CycleState
	// owner is the pod that the state was computed for.
	owner types.UID
	// names limits the nodes, or is nil; limiters are the plugins that did.
	names    sets.Set[string]
	limiters sets.Set[string]
	// refusal is PreFilter's status for every node, or nil.
	refusal *fwk.Status
}

// Case opens the query for the pod and runs PreFilter. The status is PreFilter's: when it is not a success the pod fits nowhere at present, and there
// is no case. An open case is kept current at some cost for every added pod, so it should be closed when it is not needed any more. Among is nil, or says on which
// nodes there are pods that the pod's rules count, or whose rules count the pod: upstream's plugins look at the pods of these alone. It is asked
// again whenever the state has to be computed anew.
func (j *Judge) Case(pod *v1.Pod, among func() map[string]bool) (*Case, *fwk.Status) {
	c := &Case{judge: j, pod: pod, personal: j.personal(pod) || hasEmptySpread(pod), among: among}
	c.compute(pod)
	if c.refusal != nil {
		return nil, c.refusal
	}
	c.upkeep.at = len(j.open)
	j.open = append(j.open, c)
	return c, nil
}

// Lasts reports whether the case may be kept open beyond a round: nothing but nodes and pods can change what it says.
func (c *Case) Lasts() bool { return !c.personal && c.refusal == nil }

// Close ends the upkeep of the case. A closed case must not be used again; closing it twice is harmless.
func (c *Case) Close() {
	open := c.judge.open
	if c.upkeep.closed {
		return
	}
	c.upkeep.closed = true
	last := open[len(open)-1]
	open[c.upkeep.at], last.upkeep.at = last, c.upkeep.at
	open[len(open)-1] = nil
	c.judge.open = open[:len(open)-1]
}

// Feasible returns nodes that pass every filter now: all of them, or, where enough is more than 0, at least as many as that if there are so many. It begins to look
// where the last search ended that was content with some, so that each node has its turn, and goes through them in the order in which they first reached the judge.
func (c *Case) Feasible(enough int) []string {
	c.renew(c.pod)
	if c.refusal != nil {
		return nil
	}
	nodes := c.left(c.judge.view.all)
	if enough <= 0 || len(nodes) <= enough {
		return c.feasible(c.state, nodes, nil)
	}
	var feasible []string
	from := c.judge.next % len(nodes)
	for looked := 0; looked < len(nodes) && len(feasible) < enough; {
		at := (from + looked) % len(nodes)
		some := nodes[at:min(at+max(enough-len(feasible), fewestAtOnce), at+len(nodes)-looked, len(nodes))]
		feasible = c.feasible(c.state, some, feasible)
		looked += len(some)
		c.judge.next = at + len(some)
	}
	return feasible
}

// fewestAtOnce are as many nodes as are worth looking at side by side.
const fewestAtOnce = 64

// feasible appends the names of the nodes that pass every filter that the state does not skip.
func (c *Case) feasible(state fwk.CycleState, nodes []fwk.NodeInfo, to []string) []string {
	for i, status := range c.judge.sweep(state, c.pod, nodes) {
		if status.IsSuccess() {
			to = append(to, nodes[i].Node().Name)
		}
	}
	return to
}

// LastWord is the status of every filter for one pod of the case and one node, against the state with everything assumed. A success is nil. The pod must be
// alike to the pod of the case. The status names the refusing plugin and its reasons.
func (c *Case) LastWord(pod *v1.Pod, node string) *fwk.Status {
	c.renew(pod)
	c.passed = passage{}
	status := c.verdict(c.judge, c.judge.full, pod, node)
	if c.personal && status.IsSuccess() {
		c.passed = passage{pod.UID, node, c.judge.reservations}
	}
	return status
}

// left are those of the nodes that PreFilter left, in the same order.
func (p *prefilter) left(nodes []fwk.NodeInfo) []fwk.NodeInfo {
	if p.names == nil {
		return nodes
	}
	var left []fwk.NodeInfo
	for _, info := range nodes {
		if p.names.Has(info.Node().Name) {
			left = append(left, info)
		}
	}
	return left
}

// absent is the status of nodes that PreFilter left out, in upstream's words.
func (p *prefilter) absent() *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(p.limiters)))
}

// verdict is the framework's status for the pod and one node, given what PreFilter found out.
func (p *prefilter) verdict(j *Judge, filters framework.Framework, pod *v1.Pod, node string) *fwk.Status {
	info, known := j.view.byName[node]
	switch {
	case !known:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node %q is not known", node))
	case p.refusal != nil:
		return p.refusal
	case p.names != nil && !p.names.Has(node):
		return p.absent()
	}
	return filters.RunFilterPlugins(j.ctx, p.state, pod, info)
}

// prefilter runs every PreFilter plugin of the framework for the pod.
func (j *Judge) prefilter(filters framework.Framework, pod *v1.Pod) prefilter {
	p := prefilter{state: framework.NewCycleState(), owner: pod.UID}
	result, status, limiters := filters.RunPreFilterPlugins(j.ctx, p.state, pod)
	p.limiters = limiters
	if !status.IsSuccess() {
		p.refusal = status
	} else if !result.AllNodes() {
		p.names = result.NodeNames
	}
	return p
}

// sweep runs every filter for the pod over the nodes. The results have the order of the nodes, however many goroutines found them.
func (j *Judge) sweep(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) []*fwk.Status {
	results := make([]*fwk.Status, len(nodes))
	j.evaluations += int64(len(nodes))
	var fault fault
	j.full.Parallelizer().Until(j.ctx, len(nodes), func(i int) {
		defer fault.keep()
		results[i] = j.full.RunFilterPlugins(j.ctx, state, pod, nodes[i])
	}, "Filter")
	fault.raise()
	return results
}
