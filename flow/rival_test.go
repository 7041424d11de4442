package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/bandwidth"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/slack"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
)

// drama is a stage on which anything may happen. A watched policy decides.
type drama struct {
	*stage
	t       *rapid.T
	watched *flow.Watched
	largest int64
	step    func() // lets the core decide
	live    []cluster.TaskID
	lost    []cluster.NodeID
}

// watched is a model with how many moves a round may have, and its stages.
type watched struct {
	name   string
	moves  int
	model  func() flow.Model
	stages []flow.Stage
}

// watchedModels are all of them.
func watchedModels() []watched {
	delayed := quincy.Standard()
	delayed.Delay, delayed.Threshold = true, 20
	return []watched{
		{"load-spreading", 0, func() flow.Model { return &spread.Model{} }, nil},
		{"cpu-mem", 0, func() flow.Model { return &cpumem.Model{} }, nil},
		{"network-aware", 0, func() flow.Model { return &bandwidth.Model{} }, nil},
		{"quincy", 0, func() flow.Model { return quincy.New(quincy.Standard()) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"quincy", 2, func() flow.Model { return quincy.New(delayed) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"qos-flow", 0, func() flow.Model { return slack.New(slack.Options{Period: 20 * cluster.Second}) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"qos-flow with all stages", 0, func() flow.Model { return slack.New(slack.Options{Period: 20 * cluster.Second}) }, flow.Stages()},
		{"quincy, some may move", 2, func() flow.Model { return mixed{quincy.New(delayed)} }, flow.Stages()},
	}
}

// newDrama sets up a cluster, by what is drawn.
func newDrama(t *rapid.T, m *watched, nodes int) *drama {
	w := flow.Watch(m.model, flow.Options{Name: "watched", Moves: m.moves, Stages: m.stages})
	d := newDramaOf(t, w, nodes)
	d.watched = w
	return d
}

// preferences is how many sets of nodes tasks may prefer, or avoid. One shape may use the nodes of the first alone.
const preferences cluster.SetID = 2

// newDramaOf is that of any policy.
func newDramaOf(t *rapid.T, p sched.Policy, nodes int) *drama {
	d := &drama{stage: newStage(t, p), t: t, watched: &flow.Watched{}, largest: 6}
	d.step = d.mustStep
	for i := range rapid.IntRange(1, nodes).Draw(t, "nodes") {
		d.node(d.vector(1), cluster.Label{Key: "rack", Value: fmt.Sprint(i % 2)})
	}
	for set := range preferences {
		d.events = append(d.events, cluster.SetDefined{Set: 1 + set, Nodes: []cluster.NodeID{0}})
	}
	for i := range 4 {
		shape := cluster.Shape{Demand: d.vector(0)}
		if i == 2 {
			shape.PerNode = 1
		}
		if i == 3 {
			shape.Eligible = 1
		}
		for set := range preferences {
			if weight := rapid.SampledFrom([]int32{0, 0, -100, 7, 50, 100}).Draw(t, "weight"); weight != 0 {
				shape.Prefers = append(shape.Prefers, cluster.Preference{Set: 1 + set, Weight: weight})
			}
		}
		d.shape(shape)
	}
	for range 3 {
		d.job()
	}
	d.mustStep()
	return d
}

func (d *drama) number(most int) int { return rapid.IntRange(0, most).Draw(d.t, "n") }

// vector is a capacity, or a demand of half as much.
func (d *drama) vector(least int64) cluster.Vector {
	most := d.largest
	if least == 0 {
		most /= 2
	}
	return cluster.Vector{
		rapid.Int64Range(least, most).Draw(d.t, "cpu"), rapid.Int64Range(least, most).Draw(d.t, "memory"),
		rapid.Int64Range(0, 1).Draw(d.t, "bandwidth") * most,
	}
}

// turn lets one thing happen, and sometimes the core decide.
func (d *drama) turn() {
	s := d.core.View()
	n := cluster.NodeID(d.number(s.NodeRows() - 1))
	known := int(n) < s.NodeRows() && s.NodeLive(n)
	switch d.number(15) {
	default:
		d.submit()
	case 4, 5:
		d.withTask(func(t cluster.TaskID, i int) {
			d.end(t)
			d.live = slices.Delete(d.live, i, i+1)
		})
	case 6:
		if known && len(d.lost) == 0 {
			d.lost = append(d.lost, n)
			d.events = append(d.events, cluster.NodeLost{Node: n})
		}
	case 7:
		for _, n := range d.lost {
			d.events = append(d.events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: d.vector(1)}})
		}
		d.lost = nil
	case 8:
		if known && !slices.Contains(d.lost, n) {
			d.events = append(d.events, cluster.NodeChanged{Node: n, Spec: cluster.NodeSpec{
				Name: fmt.Sprint("n", n), Capacity: d.vector(1), Groups: s.NodeSpec(n).Groups,
			}})
		}
	case 9:
		if known && !slices.Contains(d.lost, n) {
			d.events = append(d.events, cluster.EligibilityChanged{Set: 1 + cluster.SetID(d.number(1)), Node: n, Eligible: d.number(1) == 0})
		}
	case 10:
		d.withTask(func(t cluster.TaskID, _ int) {
			d.events = append(d.events, cluster.TaskGated{Task: t, Seq: s.Task(t).Seq})
		})
	case 11:
		d.withTask(func(t cluster.TaskID, _ int) {
			d.events = append(d.events, cluster.TaskUngated{Task: t, Seq: s.Task(t).Seq})
		})
	case 12:
		d.withTask(func(t cluster.TaskID, _ int) {
			d.events = append(d.events, cluster.TaskReshaped{Task: t, Seq: s.Task(t).Seq, Shape: cluster.ShapeID(d.number(3)), Priority: int32(d.number(1))})
		})
	case 13:
		d.withTask(func(t cluster.TaskID, _ int) {
			if s.Task(t).Phase == cluster.Running {
				d.events = append(d.events, cluster.TaskLeft{Task: t, Attempt: s.Task(t).Attempt})
			}
		})
	case 14:
		if known && !slices.Contains(d.lost, n) {
			d.events = append(d.events, cluster.UsageReported{Node: n, Usage: d.vector(0)})
		}
	case 15:
		d.now += cluster.Time(d.number(60)) * cluster.Second
	}
	if d.number(2) == 0 {
		d.decide()
	}
}

func (d *drama) submit() {
	for range 1 + d.number(2) {
		t := cluster.TaskID(d.tasks.Take())
		d.seq++
		e := cluster.TaskSubmitted{Task: t, Seq: d.seq, Job: cluster.JobID(d.number(2)), Shape: cluster.ShapeID(d.number(3)), Priority: int32(d.number(1)), Class: cluster.ClassID(d.number(3))}
		for range d.number(2) {
			e.Input = append(e.Input, cluster.Block{Bytes: int64(d.number(4)) << 30, Replicas: [3]cluster.NodeID{cluster.NodeID(d.number(3)), cluster.NoNode, cluster.NoNode}})
		}
		d.events = append(d.events, e)
	}
}

// withTask does something with a task that the core knows, if there is one.
func (d *drama) withTask(do func(t cluster.TaskID, i int)) {
	if len(d.live) > 0 {
		i := d.number(len(d.live) - 1)
		do(d.live[i], i)
	}
}

// decide lets the core decide, and what it decided come true or be refused.
func (d *drama) decide() {
	for _, e := range d.events {
		if e, ok := e.(cluster.TaskSubmitted); ok {
			d.live = append(d.live, e.Task)
		}
	}
	d.step()
	if d.watched.Err != nil {
		d.t.Fatalf("at %v: %v\n%s", d.now, d.watched.Err, d.core.View().Picture())
	}
	for i, e := range d.events {
		if e, ok := e.(cluster.TaskStarted); ok && d.number(9) == 0 {
			d.events[i] = cluster.BindRefused{Task: e.Task, Attempt: e.Attempt}
		}
	}
}

// looks counts over all cases of a test what was looked at.
type looks struct{ looks, compared, tried, known int }

func (l *looks) add(w *flow.Watched) {
	l.looks += w.Looks
	l.compared += w.Compared
	l.tried += w.Tried
	l.known += w.Known
}

// rival plays dramas.
func rival(m *watched, sum *looks) func(*rapid.T) {
	return func(t *rapid.T) {
		d := newDrama(t, m, []int{3, 8, 40}[rapid.IntRange(0, 2).Draw(t, "large")])
		for range rapid.IntRange(5, 60).Draw(t, "turns") {
			d.turn()
		}
		d.decide()
		sum.add(d.watched)
	}
}

// TestRival lets anything happen, and compares the network and what its solutions cost
// with those of a policy without a past, and in the smallest cases with every assignment
// there is.
func TestRival(t *testing.T) {
	for _, m := range watchedModels() {
		t.Run(fmt.Sprintf("%s/moves=%d", m.name, m.moves), func(t *testing.T) {
			var sum looks
			rapid.Check(t, rival(&m, &sum))
			t.Logf("%+v", sum)
			if !testing.Short() && (sum.compared < sum.looks/4 || sum.tried < 10) {
				t.Errorf("too little was compared: %+v", sum)
			}
		})
	}
}

// FuzzRival is TestRival from bytes, for the policy that does everything.
func FuzzRival(f *testing.F) {
	m := watchedModels()[4]
	f.Fuzz(rapid.MakeFuzz(rival(&m, &looks{})))
}
