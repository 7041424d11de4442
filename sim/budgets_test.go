package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// guard is a budget.
func guard(name string, least int64) trace.Record {
	return trace.Record{What: trace.BudgetAdded, Budget: cluster.Budget{Name: name, Least: least}}
}

// full is so many nodes, each of which a task of the lowest priority fills that runs and counts for these budgets.
func full(nodes int, budgets ...string) *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}}}
	for i := range nodes {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(i), Capacity: cluster.Vector{4}}})
	}
	for _, name := range budgets {
		l.records = append(l.records, guard(name, int64(nodes)-1))
	}
	for i := range nodes {
		l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i), Name: fmt.Sprint("low-", i), JobTasks: 1, Demand: cluster.Vector{4}, Work: cluster.Never, Running: true, OnNode: uint64(i), Budgets: budgets,
		}})
	}
	return l
}

// comes is a task of the highest priority that would fill a node, and never ends.
func comes(at cluster.Time, job uint64) trace.Record {
	return trace.Record{Time: at, What: trace.TaskSubmitted, Task: trace.Task{
		Job: 100 + job, Name: fmt.Sprint("high-", job), JobTasks: 1, Priority: 11, Demand: cluster.Vector{4}, Work: cluster.Never,
	}}
}

func underPriority(t *testing.T, l *list) report.Run {
	t.Helper()
	r, err := Run(Config{Source: l, Lanes: lane(t, "priority"), Until: cluster.Hour, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBudgetRefuses: of three tasks of which two are to be available one leaves for tasks that come at once, and a second
// one is refused, the first time that a policy tries. From then on it does not.
func TestBudgetRefuses(t *testing.T) {
	for _, c := range []struct {
		budgets            []string
		preempted, refused int
	}{
		{nil, 3, 0},
		{[]string{"shop/web"}, 1, 1},
		{[]string{"shop/all", "shop/web"}, 0, 0}, // no API server evicts a task of two
	} {
		l := full(3, c.budgets...)
		for i := range uint64(3) {
			l.records = append(l.records, comes(cluster.Second, i))
		}
		r := underPriority(t, l)
		if r.Tasks.Preempted != c.preempted || r.Tasks.EvictionsRefused > 2 || r.Tasks.EvictionsRefused < c.refused {
			t.Errorf("%v: %d preempted, %d refused, want %d, %d", c.budgets, r.Tasks.Preempted, r.Tasks.EvictionsRefused, c.preempted, c.refused)
		}
	}
}

// TestBudgetIsSaid: whoever waits because a budget keeps others where they are is told so.
func TestBudgetIsSaid(t *testing.T) {
	l := full(3, "shop/web")
	l.records = append(l.records, comes(cluster.Second, 0), comes(2*cluster.Second, 1))
	r := underPriority(t, l)
	const want = "; 2 tasks on 2 nodes without room are not to be evicted, none at any time (its budget shop/web wants 2 available, and 2 are)"
	if r.Tasks.Preempted != 1 || r.Tasks.EvictionsRefused != 0 || !strings.Contains(r.Examples["cpu"], want) {
		t.Errorf("%d preempted, %d refused, %q", r.Tasks.Preempted, r.Tasks.EvictionsRefused, r.Examples)
	}
}

// TestBudgetAllowsAgain: when who was evicted runs elsewhere, the next may go.
func TestBudgetAllowsAgain(t *testing.T) {
	l := full(3, "shop/web")
	node := func(at cluster.Time, id uint64) trace.Record {
		return trace.Record{Time: at, What: trace.NodeAdded, Node: trace.Node{ID: id, Capacity: cluster.Vector{4}}}
	}
	l.records = append(l.records, comes(1*cluster.Second, 0), comes(2*cluster.Second, 1), comes(3*cluster.Second, 2))
	l.records = append(l.records, node(4*cluster.Minute, 10), node(5*cluster.Minute, 11), node(6*cluster.Minute, 12))
	r := underPriority(t, l)
	// The first node is the second high task's, the next the third's, and the last that of the low one that left.
	if r.Tasks.Preempted != 1 || r.Tasks.Running != 6 || r.Tasks.Pending != 0 || r.Tasks.EvictionsRefused != 0 {
		t.Errorf("%+v", r.Tasks)
	}
	// A task that comes when all are back evicts again.
	l = full(3, "shop/web")
	l.records = append(l.records, comes(1*cluster.Second, 0), node(1*cluster.Minute, 10), comes(2*cluster.Minute, 1), comes(3*cluster.Minute, 2))
	if r = underPriority(t, l); r.Tasks.Preempted != 2 || r.Tasks.Pending != 2 || r.Tasks.EvictionsRefused != 0 {
		t.Errorf("%+v", r.Tasks)
	}
}

// TestBudgetEndsWithItsTask: a task that comes later, and takes the row of one that has ended, counts for no budget of that one.
func TestBudgetEndsWithItsTask(t *testing.T) {
	l := full(1, "shop/web")
	l.records[1].Budget.Least = 1
	l.records[2].Task.Work = 10 * cluster.Second
	later := l.records[2].Task
	later.Job, later.Work, later.Running, later.Budgets = 1, cluster.Never, false, nil
	l.records = append(l.records, trace.Record{Time: 20 * cluster.Second, What: trace.TaskSubmitted, Task: later}, comes(30*cluster.Second, 0))
	if r := underPriority(t, l); r.Tasks.Finished != 1 || r.Tasks.Preempted != 1 || r.Tasks.EvictionsRefused != 0 {
		t.Errorf("%+v, want one preempted and none refused", r.Tasks)
	}
}

// TestUnready: a run of the snapshot that is not available does not count, and goes where the budget says so.
func TestUnready(t *testing.T) {
	for _, c := range []struct {
		least     int64
		frees     bool
		preempted int
	}{{2, false, 1}, {3, false, 0}, {3, true, 1}} {
		l := full(3, "shop/web")
		l.records[3].Budget.Least, l.records[3].Budget.FreesUnready = c.least, c.frees
		l.records[4].Task.Unready = true // and so two are available
		l.records = append(l.records, comes(cluster.Second, 0), comes(2*cluster.Second, 1))
		if r := underPriority(t, l); r.Tasks.Preempted != c.preempted {
			t.Errorf("%+v: %d preempted", c, r.Tasks.Preempted)
		}
	}
}

func TestBudgetsThatCannotBe(t *testing.T) {
	task := trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: 7, Demand: cluster.Vector{1}, Budgets: []string{"shop/wbe"}}}
	for _, c := range []struct {
		records []trace.Record
		want    string
	}{
		{[]trace.Record{guard("a", 1), guard("a", 1)}, `budget "a" is there already`},
		{[]trace.Record{guard("a", -1)}, `budget "a": at least -1 tasks`},
		{[]trace.Record{guard("a", 1), task}, `task 0 of job 7 counts for the budget "shop/wbe", which is not there`},
	} {
		l := full(1)
		l.records = append(l.records[:1], c.records...)
		if _, err := Run(Config{Source: l, Lanes: lane(t, "kube")}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// inBudgets is a crowded cluster whose tasks count for one of four budgets, or for none.
func inBudgets(seed uint64) *list {
	l := crowded(seed)
	for i := range l.records {
		if r := &l.records[i]; r.What == trace.TaskSubmitted && r.Task.Job%5 > 0 {
			r.Task.Budgets = []string{fmt.Sprint("b", r.Task.Job%5)}
		}
	}
	var guards []trace.Record
	for b := range int64(5) {
		guards = append(guards, guard(fmt.Sprint("b", b), b))
	}
	l.records = append(guards, l.records...)
	return l
}

// TestBudgetsInACrowd: under every policy that evicts, each eviction that is carried out leaves as many tasks of its budget at
// work as are to be, counted from outside; some are refused; and a policy that is refused does not try for ever.
func TestBudgetsInACrowd(t *testing.T) {
	evictions, refused := 0, 0
	for _, name := range []string{"kube", "priority", "qos", "fairlead"} {
		for seed := range uint64(12) {
			slow := Faults{}
			if seed%2 > 0 {
				slow = Faults{EvictLate: 500, Grace: 30 * cluster.Second}
			}
			p, err := policies.New(name, policies.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			var s *simulation
			w := watch{t: t, at: map[cluster.TaskID]int64{}, told: map[cluster.TaskID]*told{}}
			s, err = newSimulation(Config{Source: inBudgets(seed), Lanes: []sched.Lane{{Name: name, Policy: p}}, Until: 5 * cluster.Hour, World: World{Seed: seed, Faults: slow}, Calls: func(c Call) { w.look(s, c) }, Stop: t.Failed})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.play(); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			evictions += w.evictions
			refused += s.measures.outcomes.tasks.EvictionsRefused
			if s.measures.outcomes.tasks.EvictionsRefused > w.evictions {
				t.Errorf("%s, seed %d: %d evictions were refused, %d carried out", name, seed, s.measures.outcomes.tasks.EvictionsRefused, w.evictions)
			}
		}
	}
	t.Logf("%d evictions carried out, %d refused", evictions, refused)
	if evictions < 100 || refused == 0 {
		t.Error("the worlds are too tame")
	}
}

// TestBudgetsInAHostileWorld: where what happens is told late, twice or not at all, the books still agree at the end.
func TestBudgetsInAHostileWorld(t *testing.T) {
	refused := 0
	for _, name := range []string{"priority", "qos", "fairlead"} {
		for seed := range uint64(3) {
			p, err := policies.New(name, policies.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			f := Hostile()
			f.NodeLoss, f.Down, f.EvictRefused = cluster.Hour, cluster.Minute, 0
			r, err := Run(Config{Source: inBudgets(seed), Lanes: []sched.Lane{{Name: name, Policy: p}}, Until: 5 * cluster.Hour, World: World{Seed: seed, Faults: f}})
			if err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
			}
			refused += r.Tasks.EvictionsRefused
		}
	}
	if refused == 0 {
		t.Error("no budget has refused anything")
	}
}

// watch counts by itself which tasks with budgets are at work, by what the core is told and decides.
type watch struct {
	t         *testing.T
	at        map[cluster.TaskID]int64 // the budget of each task at work, which is also how many are to be
	told      map[cluster.TaskID]*told
	evictions int
}

// told is a task that was told to leave, before it has answered.
type told struct {
	others int64            // of its budget, at work and not told to leave when it was
	before []cluster.TaskID // of its budget, told to leave and without an answer then
}

func (w *watch) starts(s *simulation, row cluster.TaskID) {
	if g := s.budgets.of[row]; g != nil {
		w.at[row] = int64(g.names[0][1] - '0')
	}
}

func (w *watch) look(s *simulation, c Call) {
	for _, e := range c.In {
		switch e := e.(type) {
		case cluster.TaskStarted:
			w.starts(s, e.Task)
		case cluster.TaskEnded:
			delete(w.at, e.Task)
			delete(w.told, e.Task)
		case cluster.EvictRefused:
			delete(w.told, e.Task)
			for _, x := range w.told {
				if slices.Contains(x.before, e.Task) {
					x.others++
				}
			}
		case cluster.TaskLeft:
			if x, b := w.told[e.Task], w.at[e.Task]; x != nil {
				if w.evictions++; x.others < b {
					w.t.Errorf("at %v task %d leaves, and %d of budget b%d were left", c.At, e.Task, x.others, b)
				}
			}
			delete(w.told, e.Task)
			delete(w.at, e.Task)
		default:
		}
	}
	for _, d := range c.Out {
		if d.Kind == sched.Place { // it works at once
			w.starts(s, d.Task)
		}
		b, counts := w.at[d.Task]
		if d.Kind != sched.Evict || !counts {
			continue
		}
		x := &told{}
		for other, of := range w.at {
			switch {
			case of != b || other == d.Task:
			case w.told[other] != nil:
				x.before = append(x.before, other)
			default:
				x.others++
			}
		}
		w.told[d.Task] = x
	}
}
