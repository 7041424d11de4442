package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// full is a cluster whose nodes hold tasks of many shapes up to about nine
// tenths, and a policy that sees it.
type full struct {
	*lab
	policy sched.Policy
	shapes []work
	ids    []cluster.TaskID // running, oldest first
}

// newFull fills the cluster with tasks of that many shapes. Nodes hold 6,400
// cpu and as much mem, in three sizes; tasks ask for some hundreds.
func newFull(b *testing.B, policy string, nodes, shapes int) *full {
	b.Helper()
	p := policyNamed(b, policy)
	f := &full{lab: newLab(b, p), policy: p}
	source := rand.New(rand.NewPCG(uint64(nodes), uint64(shapes)))
	for i := range nodes {
		size := []int64{6400, 6400, 12800}[i%3]
		f.node(size, size)
	}
	for range shapes {
		f.shapes = append(f.shapes, work{user: "u", cpu: 200 + 2*source.Int64N(400), mem: 200 + 2*source.Int64N(400)})
	}
	var ids []cluster.TaskID
	for i := range nodes * 12 {
		ids = append(ids, f.task(f.shapes[i%shapes]))
	}
	f.step()
	f.step()
	for _, t := range ids {
		if f.s.Task(t).Phase == cluster.Running {
			f.ids = append(f.ids, t)
		} else {
			f.end(t)
		}
	}
	f.step()
	return f
}

// churn ends some tasks, the oldest first, and submits as many, of one shape
// after the other.
func (f *full) churn(n, round int) {
	for i := range n {
		f.end(f.ids[i])
	}
	f.ids = f.ids[n:]
	for i := range n {
		f.ids = append(f.ids, f.task(f.shapes[(round*n+i)%len(f.shapes)]))
	}
}

// BenchmarkPlace measures a task placed in steady state, in rounds of 100: its
// arrival, its decision with commit, its start and, later, its end.
func BenchmarkPlace(b *testing.B) {
	const batch = 100
	for _, nodes := range []int{1000, 12_500} {
		for _, policy := range []string{"kube", "random", "bfd", "sparrow", "mesos"} {
			for _, shapes := range []int{1, 10, 300} {
				b.Run(fmt.Sprintf("policy=%s/nodes=%d/shapes=%d", policy, nodes, shapes), func(b *testing.B) {
					f := newFull(b, policy, nodes, shapes)
					for round := range 10 {
						f.churn(batch, round)
						f.step()
					}
					b.ReportAllocs()
					rounds := 0
					for b.Loop() {
						f.churn(batch, rounds)
						f.step()
						rounds++
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds*batch), "ns/task")
				})
			}
		}
	}
}

// BenchmarkScan is the cost of one task for a policy without an index: one
// score for each node with room.
func BenchmarkScan(b *testing.B) {
	for _, nodes := range []int{1000, 12_500} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			f := newFull(b, "kube", nodes, 10)
			b.ReportAllocs()
			for b.Loop() {
				best := int64(book.None)
				for n := range f.s.NodeRows() {
					if n := cluster.NodeID(n); f.s.RoomNow(0, n) {
						best = max(best, KubeScore(f.s, f.s.Shape(0), n))
					}
				}
				if best == book.None {
					b.Fatal("fits nowhere")
				}
			}
		})
	}
}

// BenchmarkPreempt measures a task that evicts on a cluster without room, in
// rounds of 10 preemptors whose victims leave and wait again.
func BenchmarkPreempt(b *testing.B) {
	const batch = 10
	for _, nodes := range []int{1000, 12_500} {
		for _, shapes := range []int{1, 10} {
			b.Run(fmt.Sprintf("nodes=%d/shapes=%d", nodes, shapes), func(b *testing.B) {
				f := newFull(b, "priority", nodes, shapes)
				for range nodes * 6 { // more than there is room for
					f.task(f.shapes[0])
				}
				f.step()
				f.step()
				var high []cluster.TaskID
				b.ReportAllocs()
				rounds := 0
				for b.Loop() {
					for range batch {
						w := f.shapes[rounds%shapes]
						w.priority = 5
						high = append(high, f.task(w))
					}
					f.step()
					f.step()
					f.step()
					if len(high) > nodes {
						for _, t := range high[:batch] {
							f.end(t)
						}
						high = high[batch:]
					}
					rounds++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds*batch), "ns/task")
			})
		}
	}
}
