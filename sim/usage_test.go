package sim

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// usages plays a few tasks on one node and returns what it measured, each second,
// beside a task that asks for nothing and keeps the run going.
func usages(t *testing.T, u Usage, w World, until cluster.Time, tasks ...trace.Task) []cluster.Vector {
	t.Helper()
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "net", PerUnit: 1}}, records: []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{100_000, 100_000}}},
	}}
	for _, task := range append(tasks, trace.Task{Job: 9, Demand: cluster.Vector{0, 0}, Work: 2 * until}) {
		l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: task})
	}
	u.Every = cluster.Second
	w.Usage = u
	s, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube"), World: w, Until: until, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	var all []cluster.Vector
	if err := s.replay.read(); err != nil {
		t.Fatal(err)
	}
	s.kernel.set(timer{at: cluster.Second, kind: nodesMeasure})
	for at := cluster.Second; at <= until; at += cluster.Second {
		for next := s.nextMoment(); next <= at; next = s.nextMoment() {
			s.pass(next)
			if err := s.moment(); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, slices.Clone(s.planner.view().Usage(0)))
	}
	return all
}

func asking(index uint32, work cluster.Time, cpu, net int64) trace.Task {
	return trace.Task{Job: 1, Index: index, Demand: cluster.Vector{cpu, net}, Work: work}
}

// Without noise, and where runs use all they ask for, what is measured is what
// works: nothing of what is yet to begin or has ended.
func TestUsageIsWhatWorks(t *testing.T) {
	got := usages(t, Usage{Least: 1000, Most: 1000}, World{}, 4*cluster.Second,
		asking(0, cluster.Never, 30, 7), asking(1, 2500*cluster.Millisecond, 100, 0))
	want := []cluster.Vector{{130, 7}, {130, 7}, {30, 7}, {30, 7}}
	if !slices.EqualFunc(got, want, slices.Equal[cluster.Vector]) {
		t.Errorf("measured %v, want %v", got, want)
	}
	cold := World{Overheads: Overheads{Cold: []cluster.Time{1500 * cluster.Millisecond}}}
	got = usages(t, Usage{Least: 1000, Most: 1000}, cold, 2*cluster.Second, asking(0, cluster.Never, 30, 7))
	if want := []cluster.Vector{{0, 0}, {30, 7}}; !slices.EqualFunc(got, want, slices.Equal[cluster.Vector]) {
		t.Errorf("with overheads measured %v, want %v", got, want)
	}
}

// A run uses a part of its own that stays, within its bounds and different from
// task to task, kind to kind and seed to seed; noise moves what is measured.
func TestUsageParts(t *testing.T) {
	parts := func(u Usage, seed uint64, index uint32) []cluster.Vector {
		return usages(t, u, World{Seed: seed}, 5*cluster.Second, asking(index, cluster.Never, 10_000, 10_000))
	}
	u := Usage{Least: 200, Most: 700}
	first := parts(u, 1, 0)
	different := map[int64]bool{}
	for seed := range uint64(3) {
		for index := range uint32(20) {
			all := parts(u, seed, index)
			for _, v := range all {
				if !slices.Equal(v, all[0]) || v[0] < 2000 || v[0] > 7000 || v[1] < 2000 || v[1] > 7000 {
					t.Fatalf("seed %d, task %d: measured %v", seed, index, all)
				}
			}
			different[all[0][0]], different[all[0][1]] = true, true
		}
	}
	if len(different) < 100 {
		t.Errorf("only %d different parts of 120", len(different))
	}
	if again := parts(u, 1, 0); !slices.EqualFunc(first, again, slices.Equal[cluster.Vector]) {
		t.Errorf("measured %v, and again %v", first, again)
	}
	for _, noise := range []int{100, 1} { // thousandths
		u.Noise = noise
		exact, moved := first[0][0], 0
		most := exact*int64(noise)/1000 + 1
		for _, v := range parts(u, 1, 0) {
			if v[0] < exact-most || v[0] > exact+most {
				t.Errorf("measured %d, want %d give or take %d thousandths", v[0], exact, noise)
			}
			if v[0] != exact {
				moved++
			}
		}
		if moved == 0 {
			t.Errorf("noise of %d thousandths moved nothing", noise)
		}
	}
}

// Measuring changes nothing for a policy that does not look at it, and does not
// keep a run going.
func TestMeasuringIsHarmless(t *testing.T) {
	for _, waiting := range []int{30, 300} { // for ever, where tasks are too large
		run := func(u Usage) any {
			src := story(2, waiting)
			if waiting == 300 {
				src.records[5].Task.Demand = cluster.Vector{99}
			}
			r, err := Run(Config{Source: src, Lanes: lane(t, "kube"), World: World{Seed: 2, Faults: Hostile(), Usage: u}, Planner: Planner{Time: Zero}})
			if err != nil {
				t.Fatal(err)
			}
			return r.Tasks
		}
		if with, without := run(DefaultUsage()), run(Usage{}); with != without {
			t.Errorf("%d tasks: measured %+v, unmeasured %+v", waiting, with, without)
		}
	}
}
