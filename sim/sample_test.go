package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// The obvious rival keeps everything, sorts it at the end, and takes the first.
func TestSampleAgainstSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 99, 100, 101, 199, 200, 201, 250, 300, 400, 600, 1000, 5000} {
		s := newSample(100)
		var all []sampled
		for i := range n {
			one := task{job: &job{id: uint64(random.IntN(n))}, identity: identity{index: uint32(i)}, submitted: cluster.Time(i)}
			account := cluster.Account{Submitted: one.submitted, FirstRun: one.submitted + 3, Since: one.submitted + cluster.Time(4+random.IntN(50))}
			all = append(all, sampled{hashOf(&one), account.Since - account.Submitted, 3})
			s.happened(&happening{what: ended, task: &one, account: account})
			s.happened(&happening{what: ended, why: killed, task: &one, account: account})
		}
		slices.SortFunc(all, sampled.compare)
		var run report.Run
		s.result(nil, &run)
		r := run.Sample
		if n == 0 {
			if r != nil {
				t.Errorf("a sample of nothing is %+v", r)
			}
			continue
		}
		want := &report.Sample{Of: n}
		for _, one := range all[:min(n, 100)] {
			want.Tasks = append(want.Tasks, one.hash)
			want.Response = append(want.Response, report.Seconds(one.response))
			want.Latency = append(want.Latency, report.Seconds(one.latency))
		}
		if r.Of != want.Of || !slices.Equal(r.Tasks, want.Tasks) || !slices.Equal(r.Response, want.Response) || !slices.Equal(r.Latency, want.Latency) {
			t.Errorf("the sample of %d is %+v, want %+v", n, r, want)
		}
		if last := r.Tasks[len(r.Tasks)-1]; last >= 1<<52 {
			t.Errorf("%x has more than 52 bits", last)
		}
	}
}

// A run may end before the core hears that it began.
func TestSampleOfATaskNotKnownToRun(t *testing.T) {
	s := newSample(1)
	s.add(&task{job: &job{}}, cluster.Account{Submitted: cluster.Second, FirstRun: cluster.Never, Since: 3 * cluster.Second})
	var r report.Run
	if s.result(nil, &r); r.Sample.Latency[0] != 2 {
		t.Errorf("the latency is %v s, want all of the 2 s", r.Sample.Latency[0])
	}
}

// Hashes are spread evenly, however alike the names, and each part of a name
// counts.
func TestSampleHash(t *testing.T) {
	seen := map[uint64]bool{}
	low := 0
	for i := range 4000 {
		h := hashOf(&task{job: &job{id: uint64(i / 100)}, identity: identity{index: uint32(i % 100)}})
		seen[h] = true
		if h < 1<<50 {
			low++
		}
	}
	if len(seen) != 4000 || low < 900 || low > 1100 {
		t.Errorf("%d hashes of 4,000 names, %d of them in the lowest quarter", len(seen), low)
	}
	one := task{job: &job{id: 1}, identity: identity{index: 2, name: "a"}, submitted: 3}
	for _, other := range []task{
		{job: &job{id: 2}, identity: identity{index: 2, name: "a"}, submitted: 3},
		{job: &job{id: 1}, identity: identity{index: 1, name: "a"}, submitted: 3},
		{job: &job{id: 1}, identity: identity{index: 2, name: "a"}, submitted: 4},
		{job: &job{id: 1}, identity: identity{index: 2, name: "b"}, submitted: 3},
	} {
		if hashOf(&one) == hashOf(&other) {
			t.Errorf("%+v and %+v have one hash", one, other)
		}
	}
	// Other programs may keep samples: the hash of a name does not change.
	if got := hashOf(&one); got != 0x7b552a6368364 {
		t.Errorf("the hash is %#x", got)
	}
}

// Two policies that finish the same tasks, in another order and at other times,
// have the same tasks in their samples; each with its own times.
func TestSamplesOfTwoPolicies(t *testing.T) {
	run := func(policy string) report.Run {
		r, err := Run(Config{Source: story(1, 100), Lanes: lane(t, policy), Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := run("kube"), run("priority")
	if a.Sample == nil || !slices.Equal(a.Sample.Tasks, b.Sample.Tasks) || a.Sample.Of != 100 {
		t.Fatalf("samples of %+v and %+v", a.Sample, b.Sample)
	}
	if slices.Equal(a.Sample.Response, b.Sample.Response) || slices.Equal(a.Sample.Latency, b.Sample.Latency) {
		t.Error("both policies served every task alike; the test is of no use")
	}
	for _, r := range []report.Run{a, b} {
		if slices.Max(r.Sample.Response) != r.TaskResponse.Max || slices.Max(r.Sample.Latency) != r.PlacementLatency.Max {
			t.Errorf("the slowest of the sample: %v and %v, want %v and %v", slices.Max(r.Sample.Response), slices.Max(r.Sample.Latency), r.TaskResponse.Max, r.PlacementLatency.Max)
		}
	}
}

// Tasks that fail, are killed or do not end are not in the sample; one that ran
// when the trace began is, without a latency.
func TestSampleHoldsWhatFinished(t *testing.T) {
	submit := func(job uint64, work cluster.Time) trace.Record {
		return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: job, Demand: cluster.Vector{1}, Work: work}}
	}
	fails, runs := submit(1, cluster.Second), submit(2, cluster.Second)
	fails.Task.Fails = true
	runs.Task.Running, runs.Task.OnNode = true, 1
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{9}}},
		fails, runs, submit(3, cluster.Never), submit(4, cluster.Hour),
		{Time: cluster.Second, What: trace.TaskKilled, Task: trace.Task{Job: 4}},
	}}
	r, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Until: cluster.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Sample; s == nil || s.Of != 1 || len(s.Tasks) != 1 || s.Latency[0] != 0 || s.Response[0] != 1 {
		t.Errorf("sample %+v, tasks %+v; want one task of 1 s", s, r.Tasks)
	}
}
