package queue

import (
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// BenchmarkSLA is rounds of sla on 12,500 nodes of 32 cores, for which 100,000 tasks of
// three classes asked: the first, which fills the nodes, and those after it, in each of
// which ten tasks have ended.
func BenchmarkSLA(b *testing.B) {
	first := func() *lab {
		var classes []cluster.Class
		for l := cluster.Premium; l > 0; l-- {
			classes = append(classes, cluster.Class{Urgency: l, Size: l, Redundancy: l})
		}
		s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "mem"}}, classes)
		core, err := sched.New(s, sched.Lane{Name: "all", Policy: policyNamed(b, "sla")})
		if err != nil {
			b.Fatal(err)
		}
		l := &lab{t: b, core: core, s: &s.View}
		for range 12_500 {
			l.node(32, 64)
		}
		const shapes = 8 // of each class, by memory
		for i := range 3 * shapes {
			least, most := class.Bounds(cluster.Premium-cluster.Level(i/shapes), 32)
			mem := int64(1 + i%shapes)
			l.pending = append(l.pending, cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{least, mem}, Max: cluster.Vector{most, mem}}})
		}
		l.pending = append(l.pending, cluster.JobSubmitted{})
		for i := range 100_000 {
			is := i % 3
			l.seq++
			l.pending = append(l.pending, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: l.seq, Shape: cluster.ShapeID(is*shapes + i/3%shapes), Class: cluster.ClassID(is)})
		}
		if _, err := core.Observe(0, l.pending, nil); err != nil {
			b.Fatal(err)
		}
		l.pending = l.pending[:0]
		return l
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			l := first()
			b.StartTimer()
			if out := l.step(); len(out) < 10_000 {
				b.Fatalf("%d decisions", len(out))
			}
		}
	})
	b.Run("ended=10", func(b *testing.B) {
		l := first()
		running := l.step()
		l.step()
		for b.Loop() {
			for _, d := range running[:10] {
				l.end(d.Task)
			}
			running = append(running[10:], l.step()...)
			if len(l.pending) < 10 {
				b.Fatalf("%d tasks began in place of ten", len(l.pending))
			}
		}
	})
}
