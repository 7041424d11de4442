package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// scored is a node of 10 cpu and 20 mem that holds some of it.
func scored(t *testing.T, cpu, mem, usedCPU, usedMem int64) (*cluster.View, cluster.NodeID) {
	t.Helper()
	l := newLab(t, policyNamed(t, "kube"))
	n := l.node(cpu, mem)
	if usedCPU+usedMem > 0 {
		l.task(work{cpu: usedCPU, mem: usedMem})
	}
	l.step()
	return l.s, n
}

func near(got int64, want float64) bool {
	d := float64(got)/one - want
	return d < 1e-6 && d > -1e-6
}

// TestScores checks the formulas on numbers worked out by hand. A task of 1
// cpu and 4 mem comes to a node of 10 cpu and 20 mem that holds 4 cpu and
// 6 mem: the shares are 5/10 = 0.5 and 10/20 = 0.5.
func TestScores(t *testing.T) {
	known := &offers{most: cluster.Vector{20, 20}}
	for _, tc := range []struct {
		name             string
		score            Score
		usedCPU, usedMem int64
		want             float64
	}{
		// 1 - 0.5, and balance 1 - |0.5 - 0.5|.
		{"kube balanced", KubeScore, 4, 6, 0.5 + 1},
		// Shares 0.8 and 0.3: 1 - 0.55, and 1 - 0.5.
		{"kube lopsided", KubeScore, 7, 2, 0.45 + 0.5},
		// Shares 1 and 0.2: 1 - 0.6; a kind that is all taken has no balance.
		{"kube full", KubeScore, 9, 0, 0.4 + 0},
		// Shares 0.1 and 0.2 on the empty node.
		{"kube empty", KubeScore, 0, 0, 0.85 + 0.9},
		{"spread", SpreadScore, 7, 2, 0.45},
		{"binpack", BinpackScore, 7, 2, 0.55},
		{"any", AnyScore, 7, 2, 0},
		// Left are 2 of 20 cpu and 14 of 20 mem: 1 - (0.1 + 0.7)/2.
		{"best-fit", bestFit(known), 7, 2, 0.6},
	} {
		s, n := scored(t, 10, 20, tc.usedCPU, tc.usedMem)
		got := tc.score(s, &cluster.Shape{Demand: cluster.Vector{1, 4}}, n)
		if !near(got, tc.want) {
			t.Errorf("%s: %g, want %g", tc.name, float64(got)/one, tc.want)
		}
	}
}

// TestPacking plays small examples of each packing policy. Nodes have 10 of
// each kind unless the case says otherwise.
func TestPacking(t *testing.T) {
	for _, tc := range []struct {
		policy string
		nodes  []int64
		sizes  []int64
		want   []cluster.NodeID
	}{
		// In the order of submission, into the first that has room.
		{"first-fit", []int64{10, 10, 10}, []int64{6, 7, 4, 3}, []cluster.NodeID{0, 1, 0, 1}},
		// The 3 goes where 3 are left, not where 4 are.
		{"best-fit", []int64{10, 10, 10}, []int64{6, 7, 3, 4}, []cluster.NodeID{0, 1, 1, 0}},
		// A small node that is filled is better than a large one half full.
		{"best-fit", []int64{20, 5}, []int64{5}, []cluster.NodeID{1}},
		// First-fit would open a third node; by decreasing size two do:
		// 7 and 6 open one each, 4 joins 6, 3 joins 7.
		{"ffd", []int64{10, 10, 10}, []int64{3, 4, 6, 7}, []cluster.NodeID{0, 1, 1, 0}},
		// 8, 5, 2: the 2 fills up the 8. First-fit decreasing does so too, but
		// with the 5 on the first node it would not.
		{"bfd", []int64{12, 10}, []int64{2, 5, 8}, []cluster.NodeID{1, 0, 1}},
		{"ffd", []int64{12, 10}, []int64{2, 5, 8}, []cluster.NodeID{0, 1, 0}},
		{"swarm-spread", []int64{10, 10}, []int64{1, 1, 1}, []cluster.NodeID{0, 1, 0}},
		{"swarm-binpack", []int64{10, 10}, []int64{1, 1, 1}, []cluster.NodeID{0, 0, 0}},
		{"kube", []int64{10, 20}, []int64{1, 1, 1}, []cluster.NodeID{1, 0, 1}},
	} {
		l := newLab(t, policyNamed(t, tc.policy))
		for _, size := range tc.nodes {
			l.node(size, size)
		}
		var tasks []cluster.TaskID
		for _, size := range tc.sizes {
			tasks = append(tasks, l.task(work{cpu: size, mem: size}))
		}
		l.step()
		for i, task := range tasks {
			if l.on(task) != tc.want[i] {
				t.Errorf("%s: the %d of %v is on node %d of %v, want %d", tc.policy, tc.sizes[i], tc.sizes, l.on(task), tc.nodes, tc.want[i])
			}
		}
	}
}

// TestDeadlines: who is due first comes first, whoever came first, and who is not due comes last; where room is left over, it is theirs.
func TestDeadlines(t *testing.T) {
	l := newLab(t, policyNamed(t, "edf"))
	l.node(4, 4)
	free := l.task(work{user: "a", cpu: 2, mem: 2})
	late := l.task(work{user: "b", cpu: 3, mem: 3, due: 2 * cluster.Hour})
	soon := l.task(work{user: "c", cpu: 2, mem: 2, due: cluster.Hour})
	l.step()
	l.wantOn(soon, 0)
	l.wantOn(late, cluster.NoNode) // it is next, and does not fit
	l.wantOn(free, 0)
	l.end(free)
	l.end(soon)
	again := l.task(work{user: "d", cpu: 2, mem: 2, due: 3 * cluster.Hour})
	l.step()
	l.wantOn(late, 0)
	l.wantOn(again, cluster.NoNode)
}

// TestVictims checks the rule of specs/qos.md §7 one clause at a time. Nodes
// have 10 of each kind; the preemptor has priority 9.
func TestVictims(t *testing.T) {
	type held struct {
		node     int
		size     int64
		priority int32
		class    cluster.ClassID
	}
	for _, tc := range []struct {
		name  string
		held  []held // in order of submission
		size  int64
		want  []int // which of held are evicted
		where cluster.NodeID
	}{
		{"lowest priority first", []held{{0, 5, 2, 0}, {0, 5, 1, 0}}, 5, []int{1}, 0},
		{"among equals the one that came last", []held{{0, 5, 1, 0}, {0, 5, 1, 0}}, 5, []int{1}, 0},
		{"nobody of the same priority", []held{{0, 10, 9, 0}, {1, 10, 8, 0}}, 5, []int{1}, 1},
		// By the order the 2 goes first, then the 8, which suffices alone.
		{"spares whom it need not evict", []held{{0, 8, 2, 0}, {0, 2, 1, 0}}, 8, []int{0}, 0},
		// One of class batch is dearer than two of class free.
		{"fewest of the highest class", []held{{0, 10, 1, 1}, {1, 5, 1, 2}, {1, 5, 1, 2}}, 10, []int{1, 2}, 1},
		{"then of the next", []held{{0, 5, 1, 1}, {0, 5, 1, 2}, {1, 10, 1, 1}}, 10, []int{2}, 1},
		// One victim either way: then the emptier node, of which 3 and 0 are left.
		{"then the better score", []held{{0, 3, 9, 0}, {0, 7, 1, 2}, {1, 10, 1, 2}}, 7, []int{2}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t, policyNamed(t, "priority"))
			l.node(10, 10)
			l.node(10, 10)
			var tasks []cluster.TaskID
			full := []int64{10, 10}
			for _, h := range tc.held {
				task := l.task(work{user: "held", cpu: h.size, mem: h.size, priority: h.priority, class: h.class})
				tasks = append(tasks, task)
				l.pending = append(l.pending, cluster.TaskFound{Task: task, Seq: l.seq, Node: cluster.NodeID(h.node)})
				full[h.node] -= h.size
			}
			for n, size := range full {
				if size > 0 {
					task := l.task(work{user: "rest", cpu: size, mem: size, priority: 10})
					l.pending = append(l.pending, cluster.TaskFound{Task: task, Seq: l.seq, Node: cluster.NodeID(n)})
				}
			}
			l.step()
			preemptor := l.task(work{user: "new", cpu: tc.size, mem: tc.size, priority: 9})
			var evicted []int
			for _, d := range l.step() {
				if d.Kind != sched.Evict {
					t.Fatalf("decided %v", d)
				}
				for i, task := range tasks {
					if task == d.Task {
						evicted = append(evicted, i)
					}
				}
			}
			for _, i := range tc.want {
				if phase := l.s.Task(tasks[i]).Phase; phase != cluster.Leaving {
					t.Errorf("number %d is %s, want it evicted", i, phase)
				}
			}
			if len(evicted) != len(tc.want) {
				t.Errorf("evicted %v, want %v", evicted, tc.want)
			}
			l.wantOn(preemptor, tc.where)
			l.step()
			if phase := l.s.Task(preemptor).Phase; phase != cluster.Starting {
				t.Errorf("once the victims are gone the preemptor is %s, want starting", phase)
			}
		})
	}
}

// TestEnoughNodes holds how many nodes kube-scheduler looks at to what it says itself.
func TestEnoughNodes(t *testing.T) {
	for nodes, want := range map[int]int{0: 0, 1: 1, 99: 99, 100: 100, 150: 100, 500: 230, 1000: 420, 5000: 500, 6000: 300, 12_500: 625} {
		if got := enoughOf(nodes); got != want {
			t.Errorf("of %d nodes %d are enough, want %d", nodes, got, want)
		}
	}
}

// TestKubeCountsWhoAsksForNothing: as in Kubernetes, a pod that requests nothing counts as 100 millicores and 200 MiB where nodes
// are scored, so that a node with such a pod is the fuller one beside one with a pod that requests less than that.
func TestKubeCountsWhoAsksForNothing(t *testing.T) {
	const mib = 1
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: 1024 * mib}}
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "l", Policy: policyNamed(t, "kube-scheduler")})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := core.Step(0, []cluster.Event{
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "asked nothing", Capacity: cluster.Vector{4000, 4096 * mib}}},
		cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "asked for little", Capacity: cluster.Vector{4000, 4096 * mib}}},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{0, 0}}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{50, 100 * mib}}},
		cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{1000, 1024 * mib}}},
		cluster.JobSubmitted{Job: 0},
		cluster.JobSubmitted{Job: 1},
		cluster.JobSubmitted{Job: 2},
		cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0, Shape: 0},
		cluster.TaskFound{Task: 0, Seq: 1, Node: 0},
		cluster.TaskSubmitted{Task: 1, Seq: 2, Job: 1, Shape: 1},
		cluster.TaskFound{Task: 1, Seq: 2, Node: 1},
		cluster.TaskSubmitted{Task: 2, Seq: 3, Job: 2, Shape: 2},
	}, nil)
	if err != nil || len(out) != 1 || out[0].Node != 1 {
		t.Errorf("%+v, %v; want the third task on node 1", out, err)
	}
}
