package fairlead_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// BenchmarkReclaimLargeJobs measures a gang for which thousands have to leave, in the shape of KAI's benchmark of that name: nodes
// of eight GPUs, full of jobs of one task with one GPU each, and one gang of a higher priority that asks for all eight of half of
// the nodes. It fails where more leave than have to, which are eight for each of the gang.
func BenchmarkReclaimLargeJobs(b *testing.B) {
	const gpus = 8
	for _, nodes := range []int{100, 200, 500, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := emptyBed(b, "fairlead", []cluster.Kind{{Name: "cpu"}, {Name: "gpu", PerUnit: 1, Devices: true}})
				for n := range nodes {
					l.addNode(n, 96, gpus)
				}
				one, all := l.shape(1, 1), l.shape(gpus, gpus)
				for i := range nodes * gpus {
					job := cluster.JobID(i + 1)
					l.pending = append(l.pending, cluster.JobSubmitted{Job: job, Name: fmt.Sprintf("j%d", i), User: "u"})
					l.submitTask(cluster.TaskSubmitted{Job: job, Shape: one})
				}
				l.step(cluster.Second)
				l.step(cluster.Second)
				if running := l.s.InPhase(cluster.Running); running != nodes*gpus {
					b.Fatalf("%d of %d tasks run", running, nodes*gpus)
				}
				gang := cluster.JobID(nodes*gpus + 1)
				l.pending = append(l.pending, cluster.JobSubmitted{Job: gang, Name: "gang", User: "v", Gang: int32(nodes / 2)})
				for range nodes / 2 {
					l.submitTask(cluster.TaskSubmitted{Job: gang, Shape: all, Priority: 100})
				}
				b.StartTimer()
				l.step(cluster.Second)
				b.StopTimer()
				decided := len(l.pending)
				l.step(cluster.Second)
				l.step(cluster.Second)
				if running, left := cluster.GangHas(l.s, gang), l.s.InPhase(cluster.Waiting); running != nodes/2 || left != nodes/2*gpus {
					b.Fatalf("%d of %d tasks of the gang run, for which %d have left (%d decisions)", running, nodes/2, left, decided)
				}
				b.StartTimer()
			}
		})
	}
}
