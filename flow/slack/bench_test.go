package slack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// BenchmarkRound measures a second of a cluster that is too small, with all that is
// planned in it: as many nodes as the largest sample of the QoS paper's study has, with
// 60,000 slots, all of them taken, and 3,000 tasks more that wait, of three classes, some
// of which change their places as slack runs out. Tasks take a slot each, or are of 20
// shapes, of a slot on average. In each second 20 end and 20 come. Times are of
// the processor: of the median second, of the slowest of a hundred, and of the whole.
func BenchmarkRound(b *testing.B) {
	for _, shapes := range []int{1, 20} {
		b.Run(fmt.Sprintf("nodes=5749/running=60000/waiting=3000/shapes=%d", shapes), func(b *testing.B) {
			w := newWard(b, shapes)
			for w.second(); w.now < 400*cluster.Second; { // until accounts differ
				w.now += 9 * cluster.Second
				w.second()
			}
			var took []time.Duration
			rounds := w.core.Counts().Rounds
			evicted := w.evicted
			for b.Loop() {
				w.change(20)
				took = append(took, w.second())
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-cpu-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-cpu-ms")
			b.ReportMetric(float64(w.core.Counts().Rounds-rounds)/float64(b.N), "rounds/op")
			b.ReportMetric(float64(w.evicted-evicted)/float64(b.N), "evicted/op")
			b.ReportMetric(float64(w.core.View().InPhase(cluster.Waiting)), "waiting")
			b.ReportMetric(float64(w.core.View().InPhase(cluster.Running)), "running")
		})
	}
}

// ward is that cluster, in a prompt world.
type ward struct {
	tb      testing.TB
	core    *sched.Core
	chance  *rand.Rand
	now     cluster.Time
	shapes  int
	rows    cluster.Rows
	live    []cluster.TaskID
	seq     cluster.Seq
	events  []cluster.Event
	decided []sched.Decision
	evicted int
}

func newWard(tb testing.TB, shapes int) *ward {
	tb.Helper()
	const nodes, slots, tasks = 5749, 60_000, 63_000
	table := class.Google()
	for i := range table.Classes {
		table.Classes[i].Restart = 2 * cluster.Second
	}
	w := &ward{tb: tb, chance: rand.New(rand.NewPCG(1, 2)), shapes: shapes}
	var err error
	w.core, err = sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1000}}, table.Rows()), sched.Lane{
		Policy: flow.New(New(Standard()), flow.Options{Name: "qos-flow", Stages: []flow.Stage{flow.Spread, flow.Preempt}}),
	})
	if err != nil {
		tb.Fatal(err)
	}
	for n := range nodes {
		size := int64(slots*(n+1)/nodes-slots*n/nodes) * 1000
		w.events = append(w.events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{size, size}}})
	}
	for i := range shapes {
		demand := cluster.Vector{1000, 1000}
		if shapes > 1 {
			demand = cluster.Vector{250 + w.chance.Int64N(1500), 250 + w.chance.Int64N(1500)}
		}
		w.events = append(w.events, cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: demand}})
	}
	for j := range 1000 {
		w.events = append(w.events, cluster.JobSubmitted{Job: cluster.JobID(j), Name: fmt.Sprint("j", j)})
	}
	for left := tasks; left > 0; left -= 3000 {
		w.submit(3000)
		w.second()
	}
	return w
}

// submit lets tasks come: of ten two are gold, five silver and three bronze, so that
// four fifths of the cluster are promised.
func (w *ward) submit(tasks int) {
	for range tasks {
		t := cluster.TaskID(w.rows.Take())
		w.live = append(w.live, t)
		of := cluster.ClassID(1)
		switch w.chance.IntN(10) {
		case 0, 1:
			of = 0
		case 2, 3, 4:
			of = 2
		}
		w.events = append(w.events, cluster.TaskSubmitted{
			Task: t, Seq: w.seq, Job: cluster.JobID(w.chance.IntN(1000)), Shape: cluster.ShapeID(w.chance.IntN(w.shapes)), Class: of,
		})
		w.seq++
	}
}

// change ends tasks that run, and lets as many come.
func (w *ward) change(tasks int) {
	for range tasks {
		i := w.chance.IntN(len(w.live))
		for w.core.View().Task(w.live[i]).Phase != cluster.Running {
			i = w.chance.IntN(len(w.live))
		}
		t := w.live[i]
		w.live[i] = w.live[len(w.live)-1]
		w.live = w.live[:len(w.live)-1]
		w.events = append(w.events, cluster.TaskEnded{Task: t, Seq: w.core.View().Task(t).Seq})
		w.rows.Give(uint32(t))
	}
	w.submit(tasks)
}

// second lets a second pass, and the core decide until it wants no more; what it decides
// comes true at once. It says how much of the processor's time that took.
func (w *ward) second() time.Duration {
	w.now += cluster.Second
	began := processor(w.tb)
	for first := true; first || len(w.events) > 0; first = false {
		var err error
		if w.decided, _, err = w.core.Step(w.now, w.events, w.decided[:0]); err != nil {
			w.tb.Fatal(err)
		}
		w.events = w.events[:0]
		for _, d := range w.decided {
			if d.Kind == sched.Place {
				w.events = append(w.events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
				continue
			}
			w.evicted++
			w.events = append(w.events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
	return processor(w.tb) - began
}

// processor is the time of the processor that the process has had.
func processor(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
