package ecsched

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// BenchmarkHeartbeat is one heartbeat in which as many requests wait as are
// named, every one of another size, all in the window: the network, the solves,
// and the commit of what was placed. The nodes are of the 19 sizes of the paper's
// machines, half full. Placements are undone and the requests come again, off the
// clock.
func BenchmarkHeartbeat(b *testing.B) {
	for _, score := range []Score{DotProduct, MostLoaded} {
		for _, nodes := range []int{1000, 5000, 12500} {
			for _, requests := range []int{100, 200, 300} {
				for _, solver := range []string{"", Literal} {
					b.Run(fmt.Sprintf("%s/nodes=%d/requests=%d/solver=%s", [...]string{"dp", "ml"}[score], nodes, requests, cmp.Or(solver, "default")), func(b *testing.B) {
						heartbeat(b, Options{Score: score, Window: requests, Solver: solver}, nodes, requests)
					})
				}
			}
		}
	}
}

func heartbeat(b *testing.B, o Options, nodes, requests int) {
	b.Helper()
	chance := rand.New(rand.NewPCG(1, 1))
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil)
	core, err := sched.New(s, sched.Lane{Name: "ecsched", Policy: newPolicy(b, o)})
	if err != nil {
		b.Fatal(err)
	}
	var events []cluster.Event
	emit := func(e cluster.Event) { events = append(events, e) }
	flush := func() {
		if _, err := core.Observe(s.Now(), events, nil); err != nil {
			b.Fatal(err)
		}
		events = events[:0]
	}
	emit(cluster.JobSubmitted{Job: 0, Name: "load", Foreign: true})
	emit(cluster.JobSubmitted{Job: 1, Name: "new"})
	for i := range nodes {
		size := ec2(chance.IntN(19))
		emit(cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint(i), Capacity: size}})
		shape := cluster.ShapeID(requests + i)
		emit(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{size[0] / 2, size[1] / 2}}})
		emit(cluster.TaskSubmitted{Task: cluster.TaskID(requests + i), Seq: cluster.Seq(i + 1), Job: 0, Shape: shape})
		emit(cluster.TaskFound{Task: cluster.TaskID(requests + i), Seq: cluster.Seq(i + 1), Node: cluster.NodeID(i)})
	}
	for i := range requests {
		demand := cluster.Vector{100 + chance.Int64N(2000), 100 + chance.Int64N(4000)}
		emit(cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: demand}})
	}
	flush()
	seq := cluster.Seq(nodes)
	b.ReportAllocs()
	var out []sched.Decision
	for b.Loop() {
		b.StopTimer()
		for i := range requests {
			if row := cluster.TaskID(i); seq > cluster.Seq(nodes) {
				emit(cluster.TaskEnded{Task: row, Seq: s.Task(row).Seq})
			}
		}
		for i := range requests {
			seq++
			emit(cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: seq, Job: 1, Shape: cluster.ShapeID(i)})
		}
		flush()
		b.StartTimer()
		if out, _, err = core.Step(s.Now(), nil, out[:0]); err != nil {
			b.Fatal(err)
		}
		if len(out) != requests {
			b.Fatalf("%d of %d requests were placed", len(out), requests)
		}
	}
}

// ec2 is the size of a machine of type t2, m4 or m5: cpu in thousandths of a
// core, memory in MB.
func ec2(kind int) cluster.Vector {
	size := [19][2]int64{
		{1, 512},
		{1, 1024},
		{1, 2048},
		{2, 4096},
		{2, 8192},
		{4, 16384},
		{8, 32768},
		{2, 8192},
		{4, 16384},
		{8, 32768},
		{16, 65536},
		{40, 163840},
		{64, 262144},
		{2, 8192},
		{4, 16384},
		{8, 32768},
		{16, 65536},
		{48, 196608},
		{96, 393216},
	}[kind]
	return cluster.Vector{size[0] * 1000, size[1]}
}
