package sim

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// grantor places tasks with the grants that it was told, on the first node that takes
// them, and resizes them when it was told to.
type grantor struct {
	grants  map[cluster.Seq]cluster.Vector
	resizes []resizing // in the order of their times
	waiting []cluster.TaskID
}

// resizing is a grant that a task shall have from a moment on.
type resizing struct {
	at    cluster.Time
	seq   cluster.Seq
	grant cluster.Vector
}

func (g *grantor) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	g.waiting = append(g.waiting, c.Tasks...)
	left := g.waiting[:0]
	for _, id := range g.waiting {
		task := s.Task(id)
		if task.Phase != cluster.Waiting {
			continue
		}
		a := sched.Action{Kind: sched.Place, Task: id, Attempt: task.Attempt, Grant: g.grants[task.Seq]}
		placed := false
		for n := 0; n < s.NodeRows() && !placed; n++ {
			a.Node = cluster.NodeID(n)
			placed = !t.Try(a).Refused()
		}
		if placed {
			out.Add(a)
			out.Close()
		} else {
			left = append(left, id)
		}
	}
	g.waiting = left
	for len(g.resizes) > 0 && g.resizes[0].at <= s.Now() {
		r := g.resizes[0]
		g.resizes = g.resizes[1:]
		for i := range s.TaskRows() {
			if task := s.Task(cluster.TaskID(i)); task.Phase != cluster.Absent && task.Seq == r.seq {
				out.Add(sched.Action{Kind: sched.Resize, Task: cluster.TaskID(i), Attempt: task.Attempt, Grant: r.grant})
				out.Close()
			}
		}
	}
	if len(g.resizes) > 0 {
		out.Wake = g.resizes[0].at
	}
}

func (*grantor) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// sequential is one node of the cores, and tasks that would run 300 s on one core and
// take from 1 to 9 of them. A core is 1000 quantities, and memory is fixed.
func sequential(cores int64, tasks int) *list {
	l := &list{kinds: []cluster.Kind{{Name: "memory", PerUnit: 1}, {Name: "cpu", Unit: "cores", PerUnit: 1000}}, records: []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{99, cores * 1000}}},
	}}
	for i := range tasks {
		l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i), JobTasks: 1, Demand: cluster.Vector{1, 1000}, Max: cluster.Vector{1, 9000}, Work: 300 * cluster.Second,
		}})
	}
	return l
}

// "PLT = SLT / r" (Euro-Par WS 2018, §3): so long a task of 300 s runs with so much,
// rounded up to microseconds, also where that changes on the way.
func TestRunTimeFollowsTheCoresGiven(t *testing.T) {
	s := cluster.Second
	cpu := func(q int64) cluster.Vector { return cluster.Vector{1, q} }
	for _, c := range []struct {
		name    string
		first   cluster.Vector
		resizes []resizing
		want    cluster.Time
	}{
		{"nine cores", cpu(9000), nil, 33_333_334},
		{"seven", cpu(7000), nil, 42_857_143},
		{"one", nil, nil, 300 * s},
		{"one and a half", cpu(1500), nil, 200 * s},
		// Half is done after 50 s with 3; 150 s are left for 9.
		{"grown half-way", cpu(3000), []resizing{{50 * s, 1, cpu(9000)}}, 66_666_667},
		// 90 s are done after 10 s with 9; 210 s are left for one, of which it has 110
		// until it has two.
		{"shrunk, and grown", cpu(9000), []resizing{{10 * s, 1, nil}, {110 * s, 1, cpu(2000)}}, 165 * s},
		{"out of range, and to the same", cpu(3000), []resizing{{s, 1, cpu(10_000)}, {2 * s, 1, cpu(999)}, {3 * s, 1, cpu(3000)}}, 100 * s},
	} {
		r, err := Run(Config{
			Source: sequential(9, 1), Lanes: []sched.Lane{{Name: "grants", Policy: &grantor{grants: map[cluster.Seq]cluster.Vector{1: c.first}, resizes: c.resizes}}},
			Planner: Planner{Time: Zero},
		})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := cluster.Time(float64(r.Simulated)*1e6 + 0.5); got != c.want || r.Tasks.Finished != 1 {
			t.Errorf("%s: it ends at %v, want %v; %+v", c.name, got, c.want, r.Tasks)
		}
	}
}

// Whatever is granted when, a run ends at the first microsecond at which its work is
// done: a slow and obvious sum says which that is.
func TestResizedRunsEndWhenTheirWorkIsDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grant := rapid.Custom(func(t *rapid.T) cluster.Vector { return cluster.Vector{1, rapid.Int64Range(1000, 9000).Draw(t, "cpu")} })
		g := &grantor{grants: map[cluster.Seq]cluster.Vector{1: grant.Draw(t, "first")}}
		at := cluster.Time(0)
		for range rapid.IntRange(0, 6).Draw(t, "resizes") {
			at += cluster.Time(rapid.Int64Range(1, int64(40*cluster.Second)).Draw(t, "after"))
			g.resizes = append(g.resizes, resizing{at, 1, grant.Draw(t, "grant")})
		}
		left, last, has := big.NewInt(300_000_000*1000), cluster.Time(0), g.grants[1][1]
		for _, r := range append(slices.Clip(g.resizes), resizing{at: cluster.Never, grant: cluster.Vector{1, 1}}) {
			need := new(big.Int).Div(new(big.Int).Add(left, big.NewInt(has-1)), big.NewInt(has)).Int64()
			if last+cluster.Time(need) <= r.at {
				last += cluster.Time(need)
				break
			}
			left.Sub(left, big.NewInt(int64(r.at-last)*has))
			last, has = r.at, r.grant[1]
		}
		r, err := Run(Config{Source: sequential(9, 1), Lanes: []sched.Lane{{Name: "grants", Policy: g}}, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		if got := cluster.Time(float64(r.TaskResponse.Max)*1e6 + 0.5); got != last {
			t.Errorf("it ends at %v, want %v", got, last)
		}
	})
}

// What an evicted run has done is lost, or kept with the cores that it had.
func TestEvictedElasticWork(t *testing.T) {
	for keep, want := range map[bool]cluster.Time{false: 10*cluster.Second + 300*cluster.Second/9 + 1, true: 10*cluster.Second + (300-90)*cluster.Second/9 + 1} {
		l := sequential(9, 1)
		l.records = append(l.records,
			trace.Record{Time: 10 * cluster.Second, What: trace.NodeLost, Node: trace.Node{ID: 1}},
			trace.Record{Time: 10 * cluster.Second, What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{99, 9000}}})
		g := &grantor{grants: map[cluster.Seq]cluster.Vector{1: {1, 9000}}}
		r, err := Run(Config{Source: l, Lanes: []sched.Lane{{Name: "grants", Policy: g}}, Planner: Planner{Time: Zero}, World: World{KeepWork: keep}})
		if err != nil {
			t.Fatal(err)
		}
		if got := cluster.Time(float64(r.TaskResponse.Max)*1e6 + 0.5); got != want || r.Tasks.Evicted != 1 {
			t.Errorf("kept is %v: it ends at %v, want %v", keep, got, want)
		}
	}
}

// What is written of grants: how much each placement has, and that it was changed.
func TestGrantsAreWritten(t *testing.T) {
	var placements bytes.Buffer
	g := &grantor{grants: map[cluster.Seq]cluster.Vector{1: {1, 9000}}, resizes: []resizing{{cluster.Second, 1, cluster.Vector{1, 2500}}}}
	r, err := Run(Config{Source: sequential(9, 1), Lanes: []sched.Lane{{Name: "grants", Policy: g}}, Planner: Planner{Time: Zero}, Output: Output{Placements: &placements}})
	if err != nil {
		t.Fatal(err)
	}
	want := "0,,0,0,1,1,,0,0,9,1,,0\n1000000,,0,0,1,8,,0,0,2.5,1,,0\n"
	if placements.String() != want {
		t.Errorf("wrote\n%s, want\n%s", placements.String(), want)
	}
	// 9 cores for 1 s, and 2.5 for the 116.4 s that it takes for the other 291: 300 of
	// 9 × 117.4.
	if mean := float64(r.Utilisation["cpu"].Mean); mean < 0.28392 || mean > 0.28394 {
		t.Errorf("utilisation is %v", mean)
	}
	if float64(r.Allocation["cpu"].Mean) != float64(r.Utilisation["cpu"].Mean) {
		t.Errorf("%v is allocated, %v is utilised", r.Allocation["cpu"], r.Utilisation["cpu"])
	}
}

// The checkers refuse grants that the core must not give.
func TestCheckersOfGrants(t *testing.T) {
	cpu := func(q int64) cluster.Vector { return cluster.Vector{1, q} }
	decision := func(kind sched.Kind, task uint32, grant cluster.Vector) sched.Decision {
		return sched.Decision{Kind: kind, Task: cluster.TaskID(task), Seq: cluster.Seq(task + 1), Attempt: 1, Grant: grant}
	}
	for _, c := range []struct {
		name string
		do   []sched.Decision
		want string
	}{
		{"nothing wrong", []sched.Decision{decision(sched.Place, 0, cpu(5000)), decision(sched.Place, 1, cpu(4000)), decision(sched.Resize, 0, nil), decision(sched.Resize, 1, cpu(8000))}, ""},
		{"more than its range", []sched.Decision{decision(sched.Place, 0, cpu(9001))}, "granted 9.001 of cpu, outside its range of 1 to 9"},
		{"more memory", []sched.Decision{decision(sched.Place, 0, cluster.Vector{2, 2000})}, "granted 2 of memory, outside its range of 1 to 1"},
		{"less than its range", []sched.Decision{decision(sched.Place, 0, nil), decision(sched.Resize, 0, cpu(0))}, "granted 0 of cpu, outside"},
		{"no room", []sched.Decision{decision(sched.Place, 0, cpu(5000)), decision(sched.Place, 1, cpu(4001))}, "over its limit"},
		{"no room to grow", []sched.Decision{decision(sched.Place, 0, cpu(5000)), decision(sched.Place, 1, nil), decision(sched.Resize, 1, cpu(4001))}, "resized where it does not fit"},
		{"no such run", []sched.Decision{decision(sched.Resize, 1, cpu(4001))}, ""},
	} {
		s := observed(t, sequential(9, 2))
		err := s.carryOut(c.do)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// What classes hold follows each change of a grant, and a task that moves may hold
// more or less on its next node.
func TestHoldingsOfGrants(t *testing.T) {
	l := sequential(9, 1)
	l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 2, Capacity: cluster.Vector{99, 9000}}})
	s := observed(t, l)
	state := stateOf(t, s)
	cpu := func(q int64) cluster.Allotment { return cluster.Allotment{Grant: cluster.Vector{1, q}} }
	for _, step := range []struct {
		do   func() cluster.Refusal
		want int64
	}{
		{func() cluster.Refusal { return state.PlaceWith(0, 0, cpu(5000)) }, 5000},
		{func() cluster.Refusal { return state.Resize(0, cpu(3000).Grant) }, 3000},
		{func() cluster.Refusal { return state.Evict(0) }, 3000},
		{func() cluster.Refusal { return state.PlaceWith(0, 1, cpu(8000)) }, 11_000},
	} {
		if r := step.do(); r.Refused() {
			t.Fatal(r)
		}
		s.measures.advance(&state.View, 0, 0)
		if got := s.measures.holdings.by[bronze][1]; got != step.want {
			t.Errorf("%d are held, want %d", got, step.want)
		}
	}
}

// observed is a simulation whose core was told of what happens at first, and has not
// planned yet.
func observed(t *testing.T, source trace.Source) *simulation {
	t.Helper()
	s, err := newSimulation(Config{Source: source, Lanes: lane(t, "kube")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replay.read(); err != nil {
		t.Fatal(err)
	}
	if err := s.replay.take(s.interrupted); err != nil {
		t.Fatal(err)
	}
	if _, err := s.planner.core.Observe(0, s.outbox.events, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// stateOf is a state like the core's, which may be changed, as the core's may not.
func stateOf(t *testing.T, s *simulation) *cluster.State {
	t.Helper()
	state := cluster.NewState(s.nodes.kinds, s.cfg.Classes.Rows())
	state.CopyAll(s.planner.view())
	return state
}
