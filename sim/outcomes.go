package sim

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// outcomes counts what became of the tasks, how long they waited and took, and why
// those wait that are left.
type outcomes struct {
	bystander
	tasks                   report.Tasks
	latency, response, jobs report.Histogram
	reasons                 map[string]int
	examples                map[string]string // a sentence with numbers for each reason
	pending                 map[waitingKey]*report.Pending
}

// waitingKey is what tasks have in common that are listed together.
type waitingKey struct {
	owner string
	why   explanation
}

func newOutcomes() outcomes {
	return outcomes{reasons: map[string]int{}, examples: map[string]string{}, pending: map[waitingKey]*report.Pending{}}
}

func (o *outcomes) happened(h *happening) {
	switch h.what {
	case submitted:
		o.tasks.Submitted++
	case placed:
		o.tasks.Placed++
		if h.latency != cluster.Never {
			o.latency.Add(h.latency)
		}
	case lost:
		o.tasks.Evicted++
	case evicted:
		o.tasks.Evicted++
		switch {
		case h.row.Phase != cluster.Leaving:
		case h.row.Next != cluster.NoNode:
			o.tasks.Migrated++
		default:
			o.tasks.Preempted++
		}
	case stays:
		o.tasks.EvictionsRefused++
	case ended:
		o.ended(h)
	case jobEnded:
		if j := h.job; j.done > 0 && (j.done == j.submitted || j.copied) {
			o.jobs.Add(j.slowest)
		}
	case left:
		o.left(h)
	default:
	}
}

// ended counts a task that is done.
func (o *outcomes) ended(h *happening) {
	switch {
	case h.why == superseded:
		o.tasks.Superseded++
	case h.why == killed:
		o.tasks.Killed++
	case h.task.fails:
		o.tasks.Failed++
	default:
		o.tasks.Finished++
		o.response.Add(h.account.Since - h.account.Submitted)
	}
}

// left counts a task that is there at the end, if it waits under its reason.
func (o *outcomes) left(h *happening) {
	why := h.waits
	if why.code == "" {
		o.tasks.Running++
		return
	}
	o.tasks.Pending++
	o.reasons[why.code]++
	if _, shown := o.examples[why.code]; !shown {
		o.examples[why.code] = h.task.called() + ": " + why.text()
	}
	if strings.HasPrefix(why.code, sched.UnplaceableCode) {
		o.tasks.Unplaceable++
	}
	if h.task.owner != "" {
		o.list(h.task, why)
	}
}

// list notes who waits, of tasks that somebody has made who has a name.
func (o *outcomes) list(t *task, why explanation) {
	key := waitingKey{t.owner, why}
	p := o.pending[key]
	if p == nil {
		p = &report.Pending{Owner: t.owner, Code: why.code, Why: why.sentence, Help: why.help, Names: []string{}}
		o.pending[key] = p
	}
	p.Tasks++
	if len(p.Names) < report.MostNames {
		p.Names = append(p.Names, t.listed())
	}
}

// waiting is who waits, those first of whom there are most.
func (o *outcomes) waiting() []report.Pending {
	var list []report.Pending
	for _, p := range o.pending {
		list = append(list, *p)
	}
	report.SortPending(list)
	return list[:min(len(list), report.MostPending)]
}

// result is read once, so that it may have the maps.
func (o *outcomes) result(_ *span, r *report.Run) {
	r.Tasks, r.Reasons, r.Examples, r.Pending = o.tasks, o.reasons, o.examples, o.waiting()
	r.PlacementLatency, r.TaskResponse, r.JobResponse = o.latency.Distribution(), o.response.Distribution(), o.jobs.Distribution()
	if o.latency.Count() > 0 {
		r.Latencies = map[string]report.Curve{"all": o.latency.Curve()}
	}
}

// overfull counts at the end the nodes that have something to do, and those that have
// too much of it. Only the world can bring that about: a node shrinks, or holds
// what nobody here placed.
type overfull struct {
	bystander
	kinds []cluster.Kind
	tasks *tasks
}

func (o *overfull) result(s *span, r *report.Run) {
	r.Nodes = s.state.Totals().Nodes
	for i := range s.state.NodeRows() {
		n := cluster.NodeID(i)
		if !s.state.NodeLive(n) {
			continue
		}
		if o.tasks.inUse(s.state, n) {
			r.NodesActive++
		}
		if !s.state.Overfull(n) {
			continue
		}
		r.NodesOverfull++
		if r.NodesOverfull == 1 {
			r.Examples[report.Overfull] = o.sentence(s.state, n)
		}
	}
}

// sentence says what the node holds too much of.
func (o *overfull) sentence(state *cluster.View, n cluster.NodeID) string {
	used, limit := state.Used(n), state.Limit(n)
	for k, kind := range o.kinds {
		if used[k] > limit[k] {
			return fmt.Sprintf("node %s holds %s of %s, over its limit of %s",
				state.NodeSpec(n).Name, kind.Format(used[k]), kind.Name, kind.Format(limit[k]))
		}
	}
	place, over := state.DeviceOver(n)
	for _, of := range state.DeviceKinds() {
		if !over || !of.Places().Has(place) {
			continue
		}
		kind, device := o.kinds[of.Kind], state.Devices(n)[place]
		how := "over its limit of " + kind.Format(device.Limit)
		if place-of.First >= of.Count(state.Capacity(n)) {
			how = "which it has lost"
		}
		return fmt.Sprintf("node %s holds %s of %s on device %d, %s",
			state.NodeSpec(n).Name, kind.Format(device.Used), kind.Name, place-of.First, how)
	}
	panic("sim: an overfull node holds no more than its limit of anything")
}
