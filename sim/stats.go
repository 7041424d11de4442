package sim

import (
	"fmt"
	"maps"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// stats gathers in fixed memory what the report says of a run.
type stats struct {
	kinds  []cluster.Kind
	priced int // of the kinds, the one with a price
	table  *class.Table
	tasks  report.Tasks

	latency, response, jobs report.Histogram
	classes                 []classStats // by cluster.ClassID
	invoices                invoices

	// Sums over time: quantity × µs, as floats because they outgrow int64.
	last                cluster.Time
	capacity, used, run []float64
	busy                cluster.Vector // demand of what works now
	peak                []float64      // largest share of the capacity that worked
	arrived             []wide.Number  // demand of all tasks so far
	reads               reads
	gaps                *gaps

	charged, wall cluster.Time // what the planner took, in the simulation and really
	reasons       map[string]int
	examples      map[string]string // a sentence with numbers for each reason
}

func newStats(kinds []cluster.Kind, classes *class.Table) stats {
	n := len(kinds)
	return stats{
		kinds: kinds, table: classes, classes: make([]classStats, len(classes.Classes)),
		capacity: make([]float64, n), used: make([]float64, n), run: make([]float64, n),
		busy: make(cluster.Vector, n), peak: make([]float64, n), arrived: make([]wide.Number, n),
		reasons: map[string]int{}, examples: map[string]string{},
	}
}

// advance adds the time until now to the sums over time.
func (a *stats) advance(now cluster.Time, t cluster.Totals) {
	spent := float64(now - a.last)
	a.last = now
	for k := range a.kinds {
		a.capacity[k] += float64(spent * float64(t.Capacity[k]))
		a.used[k] += float64(spent * float64(t.Used[k]))
		a.run[k] += float64(spent * float64(a.busy[k]))
		if spent > 0 && t.Capacity[k] > 0 {
			a.peak[k] = max(a.peak[k], float64(a.busy[k])/float64(t.Capacity[k]))
		}
	}
}

// working adds sign times the demand to what works now.
func (a *stats) working(demand cluster.Vector, sign int64) {
	for k, q := range demand {
		a.busy[k] += sign * q
	}
}

// submitted counts a task.
func (a *stats) submitted(service cluster.ClassID, demand cluster.Vector) {
	a.tasks.Submitted++
	a.classes[service].Submitted++
	for k, q := range demand {
		a.arrived[k] = a.arrived[k].Plus(wide.Of(q))
	}
}

// placed counts a task that ran for the first time. One that ran when the
// trace began has no latency.
func (a *stats) placed(service cluster.ClassID, latency cluster.Time, measured bool) {
	a.tasks.Placed++
	c := &a.classes[service]
	c.Placed++
	if measured {
		a.latency.Add(latency)
		c.latency.Add(latency)
	}
}

// evicted counts a run that had to leave.
func (a *stats) evicted(t *cluster.Task) {
	a.tasks.Evicted++
	if t.Phase != cluster.Leaving {
		return
	}
	if t.Next != cluster.NoNode {
		a.tasks.Migrated++
		return
	}
	a.tasks.Preempted++
	a.classes[t.Class].Preempted++
}

// ended counts a task that is done, with its final account.
// One that was not needed in the end was promised nothing by itself, but is paid for.
func (a *stats) ended(t *task, account cluster.Account, why cause) {
	switch {
	case why == superseded:
		a.tasks.Superseded++
		a.charges(t, 0)
		return
	case why == killed:
		a.tasks.Killed++
	case t.fails:
		a.tasks.Failed++
	default:
		a.tasks.Finished++
		a.classes[t.service].Finished++
		a.response.Add(account.Since - account.Submitted)
	}
	a.settled(t, account)
}

// result fills in the report. Pending tasks have been explained by then.
func (a *stats) result(setup report.Setup, state *cluster.View, counts sched.Counts) report.Run {
	totals := state.Totals()
	r := report.Run{
		Setup: setup, Nodes: totals.Nodes, Simulated: report.Seconds(a.last), Tasks: a.tasks,
		PlacementLatency: a.latency.Distribution(), TaskResponse: a.response.Distribution(), JobResponse: a.jobs.Distribution(),
		Utilisation: map[string]report.Utilisation{}, Allocation: map[string]report.Allocation{}, Classes: map[string]report.Class{},
		Planner: report.NewPlanner(int(counts.Rounds), int(decisions(counts)), a.charged, a.wall.Seconds()),
		Reasons: maps.Clone(a.reasons), Examples: maps.Clone(a.examples),
	}
	r.Reads = a.reads.result(r.Simulated)
	r.Planner.Gap = a.gaps.result()
	a.countNodes(&r, state)
	for k, kind := range a.kinds {
		r.Utilisation[kind.Name] = report.Utilisation{Mean: report.Ratio(a.run[k], a.capacity[k]), Max: report.Number(a.peak[k])}
		r.Allocation[kind.Name] = report.Allocation{
			Mean:  report.Ratio(a.used[k], a.capacity[k]),
			Final: report.Ratio(float64(totals.Used[k]), float64(totals.Capacity[k])),
		}
	}
	a.curves(&r)
	for i := range a.table.Classes {
		c := &a.classes[i]
		if c.Submitted == 0 {
			continue
		}
		r.Classes[a.table.Classes[i].Name] = c.result(&a.table.Classes[i], a.kinds[a.priced].PerUnit)
	}
	return r
}

// curves fills in the latency of each class, and of all tasks, and the availability of
// each class.
func (a *stats) curves(r *report.Run) {
	for i := range a.table.Classes {
		if c := a.classes[i].availability.Curve(); c != nil {
			if r.Availabilities == nil {
				r.Availabilities = map[string]report.Curve{}
			}
			r.Availabilities[a.table.Classes[i].Name] = c
		}
	}
	if a.latency.Count() == 0 {
		return
	}
	r.Latencies = map[string]report.Curve{"all": a.latency.Curve()}
	for i := range a.table.Classes {
		if c := a.classes[i].latency.Curve(); c != nil {
			r.Latencies[a.table.Classes[i].Name] = c
		}
	}
}

// countNodes counts the nodes that have something to do, and those that have
// too much of it. Only the world can bring that about: a node shrinks, or holds
// what nobody here placed.
func (a *stats) countNodes(r *report.Run, state *cluster.View) {
	for i := range state.NodeRows() {
		n := cluster.NodeID(i)
		if !state.NodeLive(n) {
			continue
		}
		if len(state.TasksOn(n)) > 0 {
			r.NodesActive++
		}
		if !state.Overfull(n) {
			continue
		}
		r.NodesOverfull++
		if r.NodesOverfull == 1 {
			r.Examples[report.Overfull] = a.overfull(state, n)
		}
	}
}

// overfull says in a sentence what the node holds too much of.
func (a *stats) overfull(state *cluster.View, n cluster.NodeID) string {
	used, limit := state.Used(n), state.Limit(n)
	for k, kind := range a.kinds {
		if used[k] > limit[k] {
			return fmt.Sprintf("node %s holds %s of %s, over its limit of %s",
				state.NodeSpec(n).Name, kind.Format(used[k]), kind.Name, kind.Format(limit[k]))
		}
	}
	device, held, over := state.DeviceOver(n)
	if !over {
		panic("sim: an overfull node holds no more than its limit of anything")
	}
	kind := a.kinds[state.DeviceKind()]
	if device >= len(state.Devices(n)) {
		return fmt.Sprintf("node %s holds %s of %s on device %d, which it has lost",
			state.NodeSpec(n).Name, kind.Format(held), kind.Name, device)
	}
	return fmt.Sprintf("node %s holds %s of %s on device %d, over its limit of %s",
		state.NodeSpec(n).Name, kind.Format(held), kind.Name, device, kind.Format(state.DeviceLimit(n)))
}
