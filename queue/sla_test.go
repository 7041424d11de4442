package queue

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// slaLab is a lab whose classes are Premium, Advanced and Best effort in every
// dimension but the tier, which is a matter of sets.
type slaLab struct {
	*lab
	sets int
}

const (
	premiumUser cluster.ClassID = iota
	advancedUser
	bestEffortUser
)

func newSLALab(t *testing.T, policy sched.Policy) *slaLab {
	t.Helper()
	var classes []cluster.Class
	for _, l := range []cluster.Level{cluster.Premium, cluster.Advanced, cluster.BestEffort} {
		classes = append(classes, cluster.Class{Urgency: l, Size: l, Redundancy: l})
	}
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "mem"}}, classes)
	core, err := sched.New(s, sched.Lane{Name: "all", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return &slaLab{lab: &lab{t: t, core: core, s: &s.View, jobs: map[string]cluster.JobID{}, shapes: map[string]cluster.ShapeID{}}}
}

// nodes adds nodes of so many cores.
func (l *slaLab) nodesOf(cores ...int64) {
	for _, c := range cores {
		l.node(c, 100)
	}
}

// set makes a set of those nodes.
func (l *slaLab) set(nodes ...cluster.NodeID) cluster.SetID {
	l.sets++
	l.pending = append(l.pending, cluster.SetDefined{Set: cluster.SetID(l.sets), Nodes: nodes})
	return cluster.SetID(l.sets)
}

// copies submits copies of a task of the class, which takes from least to most cores on
// nodes of the set.
func (l *slaLab) copies(class cluster.ClassID, least, most int64, set cluster.SetID, count int) []cluster.TaskID {
	job, shape := cluster.JobID(len(l.jobs)), cluster.ShapeID(len(l.jobs))
	l.jobs[string(rune(len(l.jobs)))] = job
	spec := cluster.Shape{Demand: cluster.Vector{least, 1}, Eligible: set, PerNode: 1}
	if most > least {
		spec.Max = cluster.Vector{most, 1}
	}
	l.pending = append(l.pending, cluster.JobSubmitted{Job: job, FirstEnds: count > 1}, cluster.ShapeDefined{Shape: shape, Spec: spec})
	var tasks []cluster.TaskID
	for range count {
		l.seq++
		t := cluster.TaskID(l.tasks.Take())
		l.pending = append(l.pending, cluster.TaskSubmitted{Task: t, Seq: l.seq, Job: job, Shape: shape, Class: class})
		tasks = append(tasks, t)
	}
	return tasks
}

// cores are what the tasks take, -1 of those that wait.
func (l *slaLab) cores(tasks ...cluster.TaskID) []int64 {
	var list []int64
	for _, t := range tasks {
		if l.on(t) == cluster.NoNode {
			list = append(list, -1)
		} else {
			list = append(list, l.s.Demand(t)[0])
		}
	}
	return list
}

func (l *slaLab) wantCores(tasks []cluster.TaskID, want ...int64) {
	l.t.Helper()
	if got := l.cores(tasks...); !slices.Equal(got, want) {
		l.t.Errorf("the tasks have %d cores, want %d, in\n%s", got, want, l.s.Picture())
	}
}

// TestWorkedExample is the paper's: three nodes with 9, 6 and 6 cores free, and a
// replica group of each level. "Premium 10→9 on the 9-node, Advanced 8→6, Best effort
// 6→3": the paper leaves the last at 6, which its own rule forbids.
func TestWorkedExample(t *testing.T) {
	raw := []int64{
		formula(parts{3, 6}, 21, 1, 0, 99),
		formula(parts{2, 3}, 12, 1, 0, 99),
		formula(parts{1, 1}, 6, 1, 0, 99),
	}
	if !slices.Equal(raw, []int64{10, 8, 6}) {
		t.Errorf("formula (1) gives %d without bounds, want 10, 8 and 6", raw)
	}
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(9, 9, 9)
	taken := slices.Concat(l.copies(premiumUser, 3, 3, l.set(1), 1), l.copies(premiumUser, 3, 3, l.set(2), 1))
	l.step()
	l.wantCores(taken, 3, 3)
	// In any order of submission the rank is that of the levels.
	best := l.copies(bestEffortUser, 1, 3, cluster.AllNodes, 1)
	advanced := l.copies(advancedUser, 4, 6, cluster.AllNodes, 1)
	premium := l.copies(premiumUser, 7, 9, cluster.AllNodes, 1)
	l.step()
	l.wantCores(slices.Concat(premium, advanced, best), 9, 6, 3)
	l.wantOn(premium[0], 0)
	l.wantOn(advanced[0], 1)
	l.wantOn(best[0], 2)
}

// TestWholeCores: what formula (1) gives is whole cores, also where a kind is counted in
// thousandths of them.
func TestWholeCores(t *testing.T) {
	for _, tc := range []struct{ free, least, most, want int64 }{
		{32_000, 1_000, 21_000, 10_000},
		{32_000, 11_000, 21_500, 11_000},
		{99_000, 11_000, 21_500, 21_000},
		{99_000, 500, 700, 700}, // a range of less than a core is shared to the last bit
		{1_500, 250, 700, 500},
	} {
		if got := formula(parts{1, 3}, tc.free, 1000, tc.least, tc.most); got != tc.want {
			t.Errorf("a third of %d within %d and %d is %d, want %d", tc.free, tc.least, tc.most, got, tc.want)
		}
	}
}

// TestNoBlocking: "if it cannot be placed it waits and the next in rank is tried".
func TestNoBlocking(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(8)
	large, small := l.copies(premiumUser, 9, 9, cluster.AllNodes, 1), l.copies(bestEffortUser, 1, 2, cluster.AllNodes, 1)
	l.step()
	l.wantCores(slices.Concat(large, small), -1, 2)
}

// TestBestFit: "fewest free cores among those with free ≥ r".
func TestBestFit(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(9, 4, 6)
	first, second := l.copies(premiumUser, 5, 5, cluster.AllNodes, 1), l.copies(premiumUser, 5, 5, cluster.AllNodes, 1)
	l.step()
	l.wantOn(first[0], 2)
	l.wantOn(second[0], 0)
}

// TestFragments: where as many cores as formula (1) says are free, but not on one node,
// the replica group waits, although the least would fit; once the others that wait make
// its part smaller, it is placed.
func TestFragments(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(8, 8)
	filler := slices.Concat(l.copies(premiumUser, 4, 4, l.set(0), 1), l.copies(premiumUser, 4, 4, l.set(1), 1))
	l.step()
	l.wantCores(filler, 4, 4)
	waits := l.copies(advancedUser, 1, 8, cluster.AllNodes, 1)
	l.step()
	l.wantCores(waits, -1)
	if got, want := l.core.Why(waits[0]).Text(l.s.Kinds()), "0 of 2 nodes have the 8 cpu left that it is to be given, and it wants 1"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	others := l.copies(premiumUser, 9, 9, cluster.AllNodes, 2)
	l.step() // 2·8/(2+3) = 3
	l.wantCores(slices.Concat(waits, others), 3, -1, -1)
}

// TestCopies: "all copies on different nodes, each with r cores", or none; one that is
// lost is replaced alone, on a node that holds none of the others.
func TestCopies(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(8, 8)
	tasks := l.copies(premiumUser, 2, 4, cluster.AllNodes, 3)
	out := l.step()
	l.wantCores(tasks, -1, -1, -1)
	if len(out) > 0 {
		t.Errorf("two of three copies are decided: %v", out)
	}
	r := l.core.Why(tasks[1])
	if got, want := r.Text(l.s.Kinds()), "unplaceable: it wants a node for each of 3 copies, and 2 of 2 nodes could hold one, even empty"; got != want || r.Code(l.s.Kinds()) != "unplaceable" {
		t.Errorf("it says %q (%s), want %q", got, r.Code(l.s.Kinds()), want)
	}
	l.nodesOf(8)
	l.step()
	l.wantCores(tasks, 4, 4, 4)
	on := []cluster.NodeID{l.on(tasks[0]), l.on(tasks[1]), l.on(tasks[2])}
	slices.Sort(on)
	if !slices.Equal(on, []cluster.NodeID{0, 1, 2}) {
		t.Errorf("the copies are on %v, want three nodes", on)
	}
	l.step() // they run
	lost := l.on(tasks[1])
	l.pending = append(l.pending, cluster.NodeLost{Node: lost})
	if out := l.step(); len(out) > 0 {
		t.Errorf("a copy is placed beside another: %v", out)
	}
	l.pending = append(l.pending, cluster.NodeAdded{Node: lost, Spec: cluster.NodeSpec{Capacity: cluster.Vector{8, 100}}})
	if out := l.step(); len(out) != 1 || out[0].Task != tasks[1] || out[0].Node != lost {
		t.Errorf("it is decided to do %v, want the lost copy alone on node row %d", out, lost)
	}
}

// TestRefusedForAnother: who is refused for the sake of another task of its job, which its own
// shape does not say, goes on counting once in what the others are given.
func TestRefusedForAnother(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(9)
	runs := l.task(work{user: "a", cpu: 2, class: advancedUser})
	l.step()
	l.wantCores([]cluster.TaskID{runs}, 2)
	apart := cluster.ShapeID(99)
	l.pending = append(l.pending, cluster.ShapeDefined{Shape: apart, Spec: cluster.Shape{Demand: cluster.Vector{2, 0}, PerNode: 1}},
		cluster.TaskReshaped{Task: runs, Seq: l.s.Task(runs).Seq, Shape: apart})
	waits := l.task(work{user: "a", cpu: 2, class: advancedUser})
	l.step()
	l.wantCores([]cluster.TaskID{waits}, -1)
	ranges := l.copies(premiumUser, 1, 9, cluster.AllNodes, 1)
	l.step() // 3·7/(3+2), rounded
	l.wantCores(ranges, 4)
}

// TestNever: what can never be satisfied is said with its numbers, and others go on.
func TestNever(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(8, 8, 8)
	few := l.set(0, 1)
	noTier := l.copies(premiumUser, 1, 8, l.set(), 1)
	tooFew := l.copies(premiumUser, 1, 8, few, 3)
	tooLarge := l.copies(premiumUser, 9, 12, cluster.AllNodes, 1)
	goes := l.copies(bestEffortUser, 1, 2, cluster.AllNodes, 1)
	l.step()
	l.wantCores(goes, 2)
	// Of five nodes two are full, and could hold one yet; another never has the memory.
	full := slices.Concat(l.copies(premiumUser, 8, 8, l.set(1), 1), l.copies(premiumUser, 8, 8, l.set(2), 1))
	l.node(8, 0)
	l.nodesOf(4)
	tooLittle := l.copies(premiumUser, 5, 8, l.set(1, 2, 3, 4), 3)
	l.step()
	l.wantCores(full, 8, 8)
	for _, tc := range []struct {
		task cluster.TaskID
		want string
	}{
		{noTier[0], "unplaceable on any of 5 nodes: 5 are not eligible"},
		{tooFew[0], "unplaceable: it wants a node for each of 3 copies, and 2 of 5 nodes could hold one, even empty: 3 are not eligible"},
		{tooLittle[0], "unplaceable: it wants a node for each of 3 copies, and 2 of 5 nodes could hold one, even empty: 1 are too small: cpu (needs 5, the largest has 4), 1 have no mem, 1 are not eligible"},
		{tooLarge[0], "unplaceable on any of 5 nodes, even empty: 4 are too small: cpu (needs 9, the largest has 8), 1 have no mem"},
	} {
		if r := l.core.Why(tc.task); r.Text(l.s.Kinds()) != tc.want || r.Code(l.s.Kinds()) != "unplaceable" {
			t.Errorf("%q (%s), want %q", r.Text(l.s.Kinds()), r.Code(l.s.Kinds()), tc.want)
		}
	}
}

// TestShareOfWhatCanBe: a range may ask for more than any node has. Then a task is given
// what the nodes could hold, rather than wait for ever.
func TestShareOfWhatCanBe(t *testing.T) {
	l := newSLALab(t, policyNamed(t, "sla"))
	l.nodesOf(4, 4, 6)
	one, two := l.copies(premiumUser, 1, 100, l.set(0, 1, 2), 1), l.copies(premiumUser, 1, 100, l.set(0, 1, 2), 2)
	l.step()
	l.wantCores(slices.Concat(one, two), 6, 4, 4)
}

// authorsWeights are those of the authors' code.
func authorsWeights() []promethee.Criterion {
	return []promethee.Criterion{{Weight: 2}, {}, {Weight: 1}, {}}
}

// TestWeights: the order is that of the net flows. By equal weights of urgency and size
// an urgent small class and a large one that can wait are alike, and the first that was
// submitted goes first; the authors' weights prefer the urgent one.
func TestWeights(t *testing.T) {
	for _, tc := range []struct {
		o     SLA
		first int
	}{
		{SLA{}, 0},
		{SLA{Criteria: authorsWeights()}, 1},
		{SLA{Criteria: []promethee.Criterion{{Weight: 2}, {Weight: 5}, {Weight: 3}, {}}}, 0},
	} {
		policy, err := New("sla", Options{Ties: book.Lowest, SLA: tc.o})
		if err != nil {
			t.Fatal(err)
		}
		s := cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "mem"}}, []cluster.Class{{Urgency: 1, Size: 3}, {Urgency: 3, Size: 1}})
		core, err := sched.New(s, sched.Lane{Name: "all", Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		l := &lab{t: t, core: core, s: &s.View, jobs: map[string]cluster.JobID{}, shapes: map[string]cluster.ShapeID{}}
		l.node(1, 1)
		tasks := []cluster.TaskID{l.task(work{cpu: 1, class: 0}), l.task(work{cpu: 1, class: 1})}
		l.step()
		l.wantOn(tasks[tc.first], 0)
	}
}

// TestSLAValidate refuses what cannot be.
func TestSLAValidate(t *testing.T) {
	for _, tc := range []struct {
		o    SLA
		want string
	}{
		{SLA{}, ""},
		{SLA{Criteria: authorsWeights()}, ""},
		{SLA{Criteria: make([]promethee.Criterion, 4)}, "policy sla: the weights of 4 criteria sum to 0, want more than 0"},
		{SLA{Criteria: authorsWeights()[:3]}, "policy sla: there are 3 criteria, want one each for urgency, tier, size and redundancy"},
		{SLA{Criteria: []promethee.Criterion{{}, {}, {Weight: -1}, {}}}, "policy sla: criterion 2: weight -1, want 0 to"},
	} {
		_, err := New("sla", Options{SLA: tc.o})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
}
