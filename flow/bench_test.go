package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
)

// bed is a cluster at work, to measure rounds of a policy on: nodes of 13 and 14 slots,
// 13 and a third on average, in racks of thirty; tasks that read blocks with three
// replicas each.
type bed struct {
	tb      testing.TB
	core    *sched.Core
	chance  *rand.Rand
	now     cluster.Time
	nodes   int
	slots   int // of all nodes
	shapes  int
	inputs  bool
	live    []cluster.TaskID // that were submitted, in no order
	rows    cluster.Rows
	seq     cluster.Seq
	events  []cluster.Event
	decided []sched.Decision
	job     cluster.JobID
	jobs    cluster.Rows
}

// kinds and slots of the bed: with one shape a task takes a slot, with more they
// take cpu and memory, on average a slot's worth.
func newBed(tb testing.TB, p sched.Policy, nodes, shapes int, inputs bool) *bed {
	tb.Helper()
	b := &bed{tb: tb, chance: rand.New(rand.NewPCG(1, 2)), nodes: nodes, shapes: shapes, inputs: inputs}
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: 1000}}
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "flow", Policy: p})
	if err != nil {
		tb.Fatal(err)
	}
	b.core = core
	for i := range nodes {
		slots := 13
		if i%3 == 0 {
			slots = 14
		}
		b.slots += slots
		b.events = append(b.events, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{
			Name: fmt.Sprint("n", i), Capacity: cluster.Vector{int64(slots) * 1000, int64(slots) * 1000},
			Groups: []cluster.Label{{Key: "rack", Value: fmt.Sprint(i / 30)}},
		}})
	}
	for i := range shapes {
		demand := cluster.Vector{1000, 1000}
		if shapes > 1 {
			demand = cluster.Vector{250 + b.chance.Int64N(1500), 250 + b.chance.Int64N(1500)}
		}
		b.events = append(b.events, cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: demand}})
	}
	b.step()
	return b
}

// step lets the core see what happened, and tells it that all it decided came true.
func (b *bed) step() time.Duration {
	b.now += cluster.Second
	begun := time.Now()
	var err error
	b.decided, _, err = b.core.Step(b.now, b.events, b.decided[:0])
	took := time.Since(begun)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.events = b.events[:0]
	for _, d := range b.decided {
		if d.Kind == sched.Place {
			b.events = append(b.events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		} else {
			b.events = append(b.events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
	return took
}

// submit submits jobs of ten tasks, so many tasks in all.
func (b *bed) submit(tasks int) {
	for i := range tasks {
		if i%10 == 0 {
			b.job = cluster.JobID(b.jobs.Take())
			b.events = append(b.events, cluster.JobSubmitted{Job: b.job, Name: fmt.Sprint("j", b.job)})
		}
		t := cluster.TaskID(b.rows.Take())
		b.live = append(b.live, t)
		e := cluster.TaskSubmitted{Task: t, Seq: b.seq, Job: b.job, Shape: cluster.ShapeID(b.chance.IntN(b.shapes))}
		if b.inputs {
			e.Input = b.input()
		}
		b.events = append(b.events, e)
		b.seq++
	}
}

// input is a few blocks, each on a node and twice in another rack.
func (b *bed) input() []cluster.Block {
	blocks := make([]cluster.Block, 1+min(15, int(b.chance.ExpFloat64()*3)))
	for i := range blocks {
		near, far := b.chance.IntN(b.nodes), b.chance.IntN(b.nodes/30-1)*30
		if far/30 == near/30 {
			far += 30
		}
		blocks[i] = cluster.Block{Bytes: 1 << 30, Replicas: [3]cluster.NodeID{
			cluster.NodeID(near), cluster.NodeID(far), cluster.NodeID(far + 1 + b.chance.IntN(29)),
		}}
	}
	return blocks
}

// end ends so many tasks that run.
func (b *bed) end(tasks int) {
	for range tasks {
		i := b.chance.IntN(len(b.live))
		for b.core.View().Task(b.live[i]).Phase != cluster.Running {
			i = b.chance.IntN(len(b.live))
		}
		t := b.live[i]
		b.live[i] = b.live[len(b.live)-1]
		b.live = b.live[:len(b.live)-1]
		b.events = append(b.events, cluster.TaskEnded{Task: t, Seq: b.core.View().Task(t).Seq})
		b.rows.Give(uint32(t))
	}
}

// BenchmarkRound measures a round end to end, events, update, solve, extraction and
// commit: 12,500 nodes with 166,667 slots, nine tenths of them taken by 150,000 tasks, and
// between two rounds 100 tasks that ended and 100 new ones.
func BenchmarkRound(b *testing.B) {
	for _, bench := range []struct {
		name   string
		model  func() flow.Model
		second flow.Stage
		shapes int
		inputs bool
	}{
		{"load-spreading/1-shape", func() flow.Model { return &spread.Model{} }, flow.Pack, 1, false},
		{"load-spreading/50-shapes", func() flow.Model { return &spread.Model{} }, flow.Pack, 50, false},
		{"cpu-mem/50-shapes", func() flow.Model { return &cpumem.Model{} }, flow.Pack, 50, false},
		{"quincy/1-shape", func() flow.Model { return quincy.New(quincy.Standard()) }, flow.Preempt, 1, true},
		{"quincy/50-shapes", func() flow.Model { return quincy.New(quincy.Standard()) }, flow.Preempt, 50, true},
	} {
		for _, used := range []float64{.9, 1.03} {
			b.Run(fmt.Sprintf("%s/%.0f%%", bench.name, used*100), func(b *testing.B) {
				nodes := 12_500
				if testing.Short() {
					nodes = 600
				}
				p := flow.New(bench.model(), flow.Options{Name: bench.name, Stages: []flow.Stage{flow.Spread, bench.second}})
				bed := newBed(b, p, nodes, bench.shapes, bench.inputs)
				total := int(used * float64(bed.slots))
				first := time.Duration(0)
				for left := total; left > 0; left -= 20_000 {
					bed.submit(min(left, 20_000))
					first = max(first, bed.step())
				}
				bed.step()
				b.ReportMetric(float64(first.Milliseconds()), "fill-ms")
				var took []time.Duration
				for b.Loop() {
					bed.end(100)
					bed.submit(100)
					took = append(took, bed.step())
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(bed.core.View().InPhase(cluster.Waiting)), "waiting")
			})
		}
	}
}
