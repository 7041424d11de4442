package fairlead_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// bed is a cluster that does at once what it is told, for benchmarks.
type bed struct {
	b       *testing.B
	core    *sched.Core
	s       *cluster.View
	source  *rand.Rand
	now     cluster.Time
	seq     cluster.Seq
	rows    cluster.Rows // of tasks
	shapes  int
	running []cluster.TaskID // oldest first
	pending []cluster.Event
}

// newBed makes a cluster of so many nodes, in three sizes: 6,400 of cpu and of memory, or twice as much.
func newBed(b *testing.B, policy string, nodes int) *bed {
	b.Helper()
	l := emptyBed(b, policy, []cluster.Kind{{Name: "cpu"}, {Name: "mem"}})
	l.source = rand.New(rand.NewPCG(uint64(nodes), 1))
	for n := range nodes {
		size := []int64{6400, 6400, 12800}[n%3]
		l.addNode(n, size, size)
	}
	return l
}

// emptyBed makes a cluster without nodes.
func emptyBed(b *testing.B, policy string, kinds []cluster.Kind) *bed {
	b.Helper()
	p := fairlead.New(fairlead.Options{Seed: 1, Ties: book.Lowest})
	if policy != "fairlead" {
		var err error
		if p, err = queue.New(policy, queue.Options{Seed: 1, Ties: book.Lowest}); err != nil {
			b.Fatal(err)
		}
	}
	classes := []cluster.Class{
		{Name: "free"},
		{Name: "gold", Importance: 0, Availability: cluster.Whole, Margin: 10 * cluster.Second, Restart: 2 * cluster.Second},
		{Name: "silver", Importance: 1, Availability: cluster.Whole * 9 / 10, Budget: cluster.Whole / 10, Margin: 10 * cluster.Second, Restart: 2 * cluster.Second},
		{Name: "bronze", Importance: 2, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2, Margin: 10 * cluster.Second, Restart: 2 * cluster.Second},
	}
	core, err := sched.New(cluster.NewState(kinds, classes), sched.Lane{Name: "all", Policy: p})
	if err != nil {
		b.Fatal(err)
	}
	l := &bed{b: b, core: core, s: core.View()}
	l.pending = append(l.pending, cluster.JobSubmitted{Name: "j", User: "u"})
	return l
}

func (l *bed) addNode(n int, capacity ...int64) {
	l.pending = append(l.pending, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: capacity}})
}

// shape defines a shape that asks for so much of each kind.
func (l *bed) shape(demand ...int64) cluster.ShapeID {
	id := cluster.ShapeID(l.shapes)
	l.shapes++
	l.pending = append(l.pending, cluster.ShapeDefined{Shape: id, Spec: cluster.Shape{Demand: demand}})
	return id
}

// some defines so many shapes of some hundreds of cpu and memory.
func (l *bed) some(count int) (list []cluster.ShapeID) {
	for range count {
		list = append(list, l.shape(200+2*l.source.Int64N(400), 200+2*l.source.Int64N(400)))
	}
	return list
}

// submit submits a task of the first job.
func (l *bed) submit(shape cluster.ShapeID, class cluster.ClassID) {
	l.submitTask(cluster.TaskSubmitted{Shape: shape, Class: class})
}

// submitTask submits a task under a row and a number that are free.
func (l *bed) submitTask(task cluster.TaskSubmitted) {
	l.seq++
	task.Task, task.Seq = cluster.TaskID(l.rows.Take()), l.seq
	l.pending = append(l.pending, task)
}

// end ends the task that has run for longest.
func (l *bed) end() {
	for {
		t := l.running[0]
		l.running = l.running[1:]
		if task := l.s.Task(t); task.Phase == cluster.Running {
			l.pending = append(l.pending, cluster.TaskEnded{Task: t, Seq: task.Seq, Finished: true})
			l.rows.Give(uint32(t))
			return
		}
	}
}

// step lets so much time go by, and runs a round. What was decided happens with the next step.
func (l *bed) step(pass cluster.Time) {
	l.now += pass
	out, _, err := l.core.Step(l.now, l.pending, nil)
	if err != nil {
		l.b.Fatal(err)
	}
	l.pending = l.pending[:0]
	for _, d := range out {
		if d.Kind == sched.Place {
			l.pending = append(l.pending, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			l.running = append(l.running, d.Task)
		} else {
			l.pending = append(l.pending, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
}

// fill submits so many tasks, of one shape after the other, and lets them start.
func (l *bed) fill(tasks int, shapes []cluster.ShapeID, class func(i int) cluster.ClassID) {
	const batch = 10_000
	for i := range tasks {
		l.submit(shapes[i%len(shapes)], class(i))
		if i%batch == batch-1 {
			l.step(cluster.Second)
		}
	}
	l.step(cluster.Second)
	l.step(cluster.Second)
}

// free is the class of tasks to which nothing was promised.
func free(int) cluster.ClassID { return 0 }

// BenchmarkTurns measures a task in steady state, in rounds of 100 tasks whose shapes take turns: its arrival,
// its decision with commit, its start and its end.
func BenchmarkTurns(b *testing.B) {
	const batch = 100
	for _, size := range []struct{ nodes, shapes int }{{1000, 10}, {12_500, 300}} {
		for _, policy := range []string{"kube", "fairlead"} {
			b.Run(fmt.Sprintf("nodes=%d/shapes=%d/policy=%s", size.nodes, size.shapes, policy), func(b *testing.B) {
				l := newBed(b, policy, size.nodes)
				shapes := l.some(size.shapes)
				l.fill(size.nodes*12, shapes, free)
				next := 0
				round := func() {
					for range batch {
						l.end()
						l.submit(shapes[next%len(shapes)], 0)
						next++
					}
					l.step(cluster.Second)
				}
				for range 20 {
					round()
				}
				b.ReportAllocs()
				from := next
				for b.Loop() {
					round()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(next-from), "ns/task")
			})
		}
	}
}

// BenchmarkServices measures a task in steady state, as BenchmarkTurns does, where all tasks are replicas of services, of so many each.
func BenchmarkServices(b *testing.B) {
	const nodes, batch = 5000, 100
	for _, c := range []struct{ replicas, zones int }{{1, 0}, {5, 0}, {50, 0}, {250, 0}, {5, 3}, {50, 3}, {250, 3}} {
		replicas := c.replicas
		b.Run(fmt.Sprintf("nodes=%d/replicas=%d/zones=%d", nodes, replicas, c.zones), func(b *testing.B) {
			l := newBed(b, "fairlead", nodes)
			for i, e := range l.pending {
				if added, is := e.(cluster.NodeAdded); is && c.zones > 0 {
					added.Spec.Labels = append(added.Spec.Labels, cluster.Label{Key: "topology.kubernetes.io/zone", Value: fmt.Sprint("z", int(added.Node)%c.zones)})
					l.pending[i] = added
				}
			}
			shapes := l.some(10)
			services := nodes * 12 / replicas
			for j := range services {
				l.pending = append(l.pending, cluster.JobSubmitted{Job: cluster.JobID(j + 1), Name: fmt.Sprintf("s%d", j), User: "u", LongRunning: true})
			}
			next := 0
			come := func() {
				l.submitTask(cluster.TaskSubmitted{Job: cluster.JobID(next/replicas%services + 1), Shape: shapes[next/replicas%len(shapes)]})
				next++
			}
			for range nodes * 12 {
				if come(); next%batch == 0 {
					l.step(cluster.Second)
				}
			}
			l.step(cluster.Second)
			l.step(cluster.Second)
			b.ReportAllocs()
			from := next
			for b.Loop() {
				for range batch {
					l.end()
					come()
				}
				l.step(cluster.Second)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(next-from), "ns/task")
		})
	}
}

// BenchmarkUnplaceable measures events, each with a round of its own, while so many shapes wait that no
// node has room for: each other a task of another shape comes, and is placed, or one ends.
func BenchmarkUnplaceable(b *testing.B) {
	for _, waiting := range []int{0, 20_000} {
		b.Run(fmt.Sprintf("nodes=1000/unplaceable=%d", waiting), func(b *testing.B) {
			l := newBed(b, "fairlead", 1000)
			shapes := l.some(10)
			l.fill(1000*12, shapes, free)
			for i := range waiting {
				l.submit(l.shape(5000+int64(i%200), 5000+int64(i/200)), 0)
			}
			for range 40 {
				l.step(10 * cluster.Second)
			}
			l.stream(shapes, free)
		})
	}
}

// BenchmarkMillion measures events, each with a round of its own, on 50,000 nodes that run a million tasks, and
// where promises were made with a few of them who wait.
func BenchmarkMillion(b *testing.B) {
	const nodes, tasks = 50_000, 1_000_000
	for name, class := range map[string]func(int) cluster.ClassID{
		"free":     free,
		"promised": func(i int) cluster.ClassID { return cluster.ClassID(i % 4) },
	} {
		b.Run(fmt.Sprintf("nodes=%d/tasks=%d/%s", nodes, tasks, name), func(b *testing.B) {
			l := newBed(b, "fairlead", nodes)
			var shapes []cluster.ShapeID
			for range 100 {
				shapes = append(shapes, l.shape(200+2*l.source.Int64N(100), 200+2*l.source.Int64N(100)))
			}
			l.fill(tasks, shapes, class)
			if running := l.s.InPhase(cluster.Running); running != tasks {
				b.Fatalf("%d tasks run", running)
			}
			l.submit(l.shape(12_800, 12_800), 0)
			l.stream(shapes, class)
		})
	}
}

// stream measures events 10 ms apart: in turn a task ends, and one comes.
func (l *bed) stream(shapes []cluster.ShapeID, class func(int) cluster.ClassID) {
	next := 0
	event := func() {
		if next%2 == 0 {
			l.end()
		} else {
			l.submit(shapes[next/2%len(shapes)], class(next/2))
		}
		l.step(10 * cluster.Millisecond)
		next++
	}
	for range 2 * len(shapes) {
		event()
	}
	l.b.ReportAllocs()
	for l.b.Loop() {
		event()
	}
	l.b.ReportMetric(float64(l.s.InPhase(cluster.Waiting)), "waiting")
}

// BenchmarkGangsWait measures steps on full nodes behind which gangs of 50 wait, none of which can be placed: in turn a task ends, and one
// comes that takes its place.
func BenchmarkGangsWait(b *testing.B) {
	const gang = 50
	for _, size := range []struct{ nodes, gangs int }{{100, 0}, {100, 100}, {100, 1600}, {5000, 0}, {5000, 1000}} {
		for _, policy := range []string{"priority", "fairlead"} {
			b.Run(fmt.Sprintf("nodes=%d/gangs=%d/policy=%s", size.nodes, size.gangs, policy), func(b *testing.B) {
				l := newBed(b, policy, size.nodes)
				half := l.shape(3200, 3200)
				for n := range size.nodes {
					for range []int{2, 2, 4}[n%3] {
						l.submit(half, 0)
					}
				}
				l.step(cluster.Second)
				l.step(cluster.Second)
				shapes := []cluster.ShapeID{half}
				for i := range int64(9) {
					shapes = append(shapes, l.shape(3000-10*i, 3000-20*i))
				}
				for j := range size.gangs {
					l.pending = append(l.pending, cluster.JobSubmitted{Job: cluster.JobID(j + 1), Name: fmt.Sprintf("g%d", j), User: "u", Gang: gang})
					for range gang {
						l.submitTask(cluster.TaskSubmitted{Job: cluster.JobID(j + 1), Shape: shapes[j%len(shapes)]})
					}
				}
				l.step(cluster.Second)
				step := 0
				event := func() {
					if step++; step%2 == 1 {
						l.end()
					} else {
						l.submit(half, 0)
					}
					l.step(10 * cluster.Millisecond)
				}
				for range 20 {
					event()
				}
				b.ReportAllocs()
				from := step
				for b.Loop() {
					event()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(step-from), "ns/step")
				if want := size.gangs * gang; l.s.InPhase(cluster.Waiting) < want {
					b.Fatalf("%d tasks wait, %d want to", l.s.InPhase(cluster.Waiting), want)
				}
			})
		}
	}
}
