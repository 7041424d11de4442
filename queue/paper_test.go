package queue

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Each test here checks one thing that a paper says of its own scheduler, in
// our words.

// TestSparrowBatchSampling: a job's m tasks go to d·m randomly selected
// workers (Sparrow, batch sampling); here d is 2.
func TestSparrowBatchSampling(t *testing.T) {
	p := newSparrow(Options{Seed: 1})
	l := newLab(t, p)
	for range 100 {
		l.node(1, 1)
	}
	l.step()
	for i := range 100 {
		task := l.task(work{user: "first", cpu: 1, mem: 1})
		l.pending = append(l.pending, cluster.TaskFound{Task: task, Seq: l.seq, Node: cluster.NodeID(i)})
	}
	for range 10 {
		l.task(work{user: "second", cpu: 1, mem: 1})
	}
	if out := l.step(); len(out) > 0 {
		t.Fatalf("a full cluster decided %v", out)
	}
	probed := 0
	for i := range p.workers {
		w := &p.workers[i]
		if len(w.queue)-w.head > 1 {
			t.Errorf("node row %d got %d probes", i, len(w.queue))
		}
		probed += len(w.queue) - w.head
	}
	if probed != 20 {
		t.Errorf("10 tasks made %d probes, want 20", probed)
	}
}

// TestSparrowLateBinding: the scheduler gives its m tasks to the first m
// workers that ask, and answers the others that there is nothing to do.
func TestSparrowLateBinding(t *testing.T) {
	p := newSparrow(Options{Seed: 1})
	l := newLab(t, p)
	l.node(1, 1)
	l.node(1, 1)
	a, b := l.task(work{user: "first", cpu: 1, mem: 1}), l.task(work{user: "first", cpu: 1, mem: 1})
	l.step()
	late := l.task(work{user: "second", cpu: 1, mem: 1}) // two probes, one on each node
	l.step()
	for i := range p.workers {
		if got := len(p.workers[i].queue) - p.workers[i].head; got != 1 {
			t.Fatalf("node row %d has %d probes, want 1", i, got)
		}
	}
	first := l.on(b)
	l.end(b)
	l.step()
	l.wantOn(late, first)
	if other := &p.workers[l.on(a)]; len(other.queue)-other.head != 0 {
		t.Error("the other node still holds the probe of a job that has no task left")
	}
}

// TestSparrowFIFO: each worker runs its queue in order. A large task at its
// head holds up a small one, which here ends after patience: our addition.
func TestSparrowFIFO(t *testing.T) {
	l := newLab(t, newSparrow(Options{Seed: 1}))
	l.node(4, 4)
	l.task(work{user: "first", cpu: 2, mem: 2})
	l.step()
	large := l.task(work{user: "large", cpu: 3, mem: 3})
	l.step()
	small := l.task(work{user: "small", cpu: 1, mem: 1})
	l.step()
	l.wantOn(small, cluster.NoNode)
	l.now += patience - 1
	l.step()
	l.wantOn(small, cluster.NoNode)
	l.now++
	if wake := l.core.Wake(l.now); wake != l.now {
		t.Errorf("wants to be called at %v, want %v", wake, l.now)
	}
	l.step()
	l.wantOn(small, 0)
	l.wantOn(large, cluster.NoNode)
	if wake := l.core.Wake(l.now); wake != cluster.Never {
		t.Errorf("polls a full cluster at %v", wake)
	}
}

// TestMesosOffersLowestShareFirst: the master offers resources to the
// framework with the lowest dominant share; the framework chooses which of
// them to use.
func TestMesosOffersLowestShareFirst(t *testing.T) {
	l := newLab(t, newMesos())
	l.node(10, 10)
	l.task(work{user: "rich", cpu: 4, mem: 1})
	l.task(work{user: "poor", cpu: 2, mem: 1})
	l.step()
	rich := l.task(work{user: "rich", cpu: 3, mem: 1})
	large := l.task(work{user: "poor", cpu: 5, mem: 1}) // does not fit: passed over
	poor := l.task(work{user: "poor", cpu: 3, mem: 1})
	l.step()
	l.wantOn(poor, 0)
	l.wantOn(rich, cluster.NoNode)
	l.wantOn(large, cluster.NoNode)
}

// TestMesosRotates: a framework takes of an offer as many tasks as fit, and
// the next offer is another node.
func TestMesosRotates(t *testing.T) {
	l := newLab(t, newMesos())
	for range 3 {
		l.node(2, 2)
	}
	var tasks []cluster.TaskID
	for range 5 {
		tasks = append(tasks, l.task(work{user: "a", cpu: 1, mem: 1}))
	}
	l.step()
	for i, task := range tasks {
		l.wantOn(task, cluster.NodeID(i/2))
	}
	next := l.task(work{user: "a", cpu: 1, mem: 1})
	l.step()
	l.wantOn(next, 2)
}

// TestMesosFilter: a framework that declined a node is not offered it again
// until something changed. A sleeping group costs nothing.
func TestMesosFilter(t *testing.T) {
	p := newMesos()
	l := newLab(t, p)
	for range 100 {
		l.node(2, 2)
	}
	l.task(work{user: "a", cpu: 3, mem: 1})
	l.step()
	before := l.core.Counts().Ticks
	l.task(work{user: "a", cpu: 3, mem: 1}) // of the same kind
	l.step()
	if spent := l.core.Counts().Ticks - before; spent != 0 {
		t.Errorf("declined offers took %d ticks more", spent)
	}
}

// TestDRFExample is the example of Dominant Resource Fairness: of 9 CPUs and
// 18 GB, user A, whose tasks need 1 CPU and 4 GB, gets three tasks and user B,
// whose tasks need 3 CPUs and 1 GB, two: both have a dominant share of 2/3.
// A framework of Mesos takes all that it can use of an offer; the example's
// ask for one task at a time.
func TestDRFExample(t *testing.T) {
	p := newMesos()
	l := newLab(t, p)
	l.node(9, 18)
	demand := map[string]work{"A": {user: "A", cpu: 1, mem: 4}, "B": {user: "B", cpu: 3, mem: 1}}
	tasks := map[string][]cluster.TaskID{}
	for range 10 {
		for _, user := range []string{"A", "B"} {
			list := tasks[user]
			if len(list) == 0 || l.s.Task(list[len(list)-1]).Placed() {
				tasks[user] = append(list, l.task(demand[user]))
			}
		}
		l.step()
	}
	for user, want := range map[string]int{"A": 3, "B": 2} {
		placed := 0
		for _, task := range tasks[user] {
			if l.s.Task(task).Placed() {
				placed++
			}
		}
		if placed != want {
			t.Errorf("user %s has %d tasks, want %d", user, placed, want)
		}
		share := int64(0)
		number, _ := p.names.Known(user)
		for k, q := range p.users[number].used {
			share = max(share, cluster.Fraction(q, p.total[k]))
		}
		if !near(share, 2.0/3) {
			t.Errorf("user %s has a dominant share of %g, want 2/3", user, float64(share)/one)
		}
	}
}

// TestFirstFitDecreasingBound: first-fit decreasing needs at most 11/9 of the
// bins of the best packing, and 6/9 of a bin (Johnson 1973; Dósa 2007).
func TestFirstFitDecreasingBound(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	const size = 60
	for range 200 {
		best := 1 + source.IntN(15)
		var sizes []int64
		for range best { // bins that are exactly full
			for left := int64(size); left > 0; {
				part := min(left, 1+source.Int64N(size*2/3))
				sizes = append(sizes, part)
				left -= part
			}
		}
		source.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
		for _, name := range []string{"ffd", "bfd"} {
			l := newLab(t, policyNamed(t, name))
			for range 2 * best {
				l.node(size, size)
			}
			for _, q := range sizes {
				l.task(work{cpu: q, mem: q})
			}
			used := map[cluster.NodeID]bool{}
			for _, d := range l.step() {
				used[d.Node] = true
			}
			if 9*len(used) > 11*best+6 || l.s.InPhase(cluster.Waiting) > 0 {
				t.Fatalf("%s packs %v into %d bins, the best is %d", name, sizes, len(used), best)
			}
		}
	}
}

// TestKubeSpreadsByPriority: kube-scheduler takes the pod of the highest
// priority first, and puts it where the least is requested.
func TestKubeSpreadsByPriority(t *testing.T) {
	l := newLab(t, policyNamed(t, "kube"))
	l.node(10, 10)
	l.node(12, 12)
	low := l.task(work{cpu: 10, mem: 10, priority: 1})
	high := l.task(work{cpu: 12, mem: 12, priority: 2})
	out := l.step()
	l.wantOn(high, 1)
	l.wantOn(low, 0)
	if len(out) != 2 || out[0].Task != high || out[0].Kind != sched.Place {
		t.Errorf("decided %v, want the higher priority first", out)
	}
}
