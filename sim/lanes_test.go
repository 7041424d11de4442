package sim

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/place"
)

// This file lets long-running applications and short tasks run beside each other, in a lane
// each, and looks from outside at what the two schedulers of Medea promise.

// shortTasks is a short task every so often.
func shortTasks(kinds []cluster.Kind, every cluster.Time, tasks int) *list {
	l := &list{kinds: kinds}
	for i := range tasks {
		l.records = append(l.records, trace.Record{Time: cluster.Time(i) * every, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i), Demand: cluster.Vector{4000, 4 << 30}, Work: 40 * cluster.Second,
		}})
	}
	return l
}

// besides is a cluster on which two applications come every 10 s, and short tasks all the
// time. Constraints that only say how many there may be at most are hard, if any shall be: all
// can hold.
func besides(t *testing.T, seed uint64, hard bool) (*planted.Instance, trace.Source) {
	t.Helper()
	d, err := planted.Draw(planted.Options{Nodes: 80, Applications: 8, Utilisation: 650, InterApp: 2, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Problem.Constraints {
		c := &d.Problem.Constraints[i]
		if hard && !slices.ContainsFunc(c.Any, func(bounds []cluster.Bound) bool { return bounds[0].Min > 0 }) {
			c.Hard, c.Weight = true, 0
		}
	}
	applications := place.New(request.New(d.Problem, d.Parts), place.Options{Together: 2, Every: 10 * cluster.Second, Priority: place.DefaultPriority})
	all, err := trace.Beside(applications, shortTasks(d.Problem.Kinds, 250*cluster.Millisecond, 800))
	if err != nil {
		t.Fatal(err)
	}
	return d, all
}

// bothLanes are a policy for applications, and one for all others.
func bothLanes(t *testing.T, names ...string) []sched.Lane {
	t.Helper()
	var lanes []sched.Lane
	for _, name := range names {
		p, err := policies.New(name, policies.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		lanes = append(lanes, sched.Lane{Name: name, Policy: p})
	}
	lanes[0].When.Heartbeat, lanes[0].Owns = 10*cluster.Second, func(j *cluster.Job) bool { return j.LongRunning }
	return lanes
}

// wholeness looks, before each round, at whether an application was begun in part: a task of it
// has had a place, and another has not.
type wholeness struct {
	first map[cluster.Seq]uint32 // the attempt of each task when it was first seen
	begun map[string]bool
	parts []string // what was begun in part
}

func (w *wholeness) look(s *cluster.View) {
	placed, all := map[cluster.JobID]int{}, map[cluster.JobID]int{}
	for row := range s.TaskRows() {
		task := s.Task(cluster.TaskID(row))
		if task.Phase == cluster.Absent || !s.Job(task.Job).LongRunning {
			continue
		}
		if _, seen := w.first[task.Seq]; !seen {
			w.first[task.Seq] = task.Attempt
		}
		all[task.Job]++
		if task.Attempt != w.first[task.Seq] {
			placed[task.Job]++
		}
	}
	for job, n := range placed {
		w.begun[s.Job(job).Name] = true
		if n < all[job] {
			w.parts = append(w.parts, fmt.Sprintf("at %v %d of %d tasks of job %s", s.Now(), n, all[job], s.Job(job).Name))
		}
	}
}

// seen is a policy before whose rounds somebody looks at the state.
type seen struct {
	sched.Policy
	look func(*cluster.View)
}

func (p seen) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.look(t.View())
	p.Policy.Plan(t, c, budget, out)
}

// Whatever goes wrong around it, an application is placed as a whole, a hard constraint
// is violated by no placement, and nobody is lost: the checkers of the run look at that.
func TestTwoLanesUnderFaults(t *testing.T) {
	begun, pairs := 0, [][]string{{"serial", "kube"}, {"serial", "fairlead"}, {"fairlead", "fairlead"}, {"fairlead", "priority"}}
	for seed := range uint64(8) {
		pair := pairs[seed%4]
		d, source := besides(t, seed, true)
		w := wholeness{first: map[cluster.Seq]uint32{}, begun: map[string]bool{}}
		lanes := bothLanes(t, pair[0], pair[1])
		for i := range lanes {
			lanes[i].Policy = seen{lanes[i].Policy, w.look}
		}
		faults := Hostile()
		faults.NodeLoss = 40 * cluster.Minute
		r, err := Run(Config{
			Source: source, Lanes: lanes, Until: 4 * cluster.Minute, World: World{Seed: seed, Faults: faults},
			Planner: Planner{PerTick: 20_000}, // a round of applications takes a second
		})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, pair, err)
		}
		if len(w.parts) > 0 {
			t.Errorf("seed %d, %s: %d times an application was placed in part: %s", seed, pair, len(w.parts), w.parts[0])
		}
		if len(w.begun) > len(d.Problem.Applications) || r.Tasks.Evicted == 0 {
			t.Errorf("seed %d, %s: %d applications were begun, %d tasks lost their node", seed, pair, len(w.begun), r.Tasks.Evicted)
		}
		begun += len(w.begun)
	}
	if begun < 48 {
		t.Errorf("%d of 64 applications were ever placed", begun)
	}
}

// Short tasks take room that plans count on, again and again. What commit refuses is planned
// once more, beside what was not refused, and all are placed.
func TestPlansAreOvertaken(t *testing.T) {
	refused := int64(0)
	for seed := range uint64(3) {
		_, source := besides(t, seed, false)
		var end Ending
		_, err := Run(Config{
			Source: source, Lanes: bothLanes(t, "serial", "sparrow"), Until: 4 * cluster.Minute, World: World{Seed: seed},
			Planner: Planner{PerTick: 1_000_000}, Finished: func(e Ending) { end = e },
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		refused += end.Core.Counts().Refused
		s := end.Core.View()
		for row := range s.TaskRows() {
			if task := s.Task(cluster.TaskID(row)); task.Phase == cluster.Waiting && s.Job(task.Job).LongRunning {
				t.Errorf("seed %d: %s waits at the end: %s", seed, end.Names[row], end.Core.Why(cluster.TaskID(row)).Text(s.Kinds()))
			}
		}
	}
	if refused < 5 {
		t.Error("no plan was overtaken; the stories are too easy")
	}
	t.Logf("%d bundles were refused", refused)
}

// TestLanesDoNotTakeTurns is two lanes on a node of one slot, each of which has a task that comes before the other's by its own policy: by priority
// ann's, and bob's by what was promised, as that was more than half of its time. They do not evict each other within the time that a run is to last.
func TestLanesDoNotTakeTurns(t *testing.T) {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{1}}})
	for i, user := range []string{"ann", "bob"} {
		l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i + 1), JobTasks: 1, User: user, Priority: int32(1 - i), Demand: cluster.Vector{1}, Work: 100 * cluster.Hour,
		}})
	}
	var lanes []sched.Lane
	for _, name := range []string{"priority", "qos"} {
		p, err := policies.New(name, policies.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		lanes = append(lanes, sched.Lane{Name: name, Policy: p})
	}
	lanes[0].Owns = func(j *cluster.Job) bool { return j.User == "ann" }
	lanes[1].When.Watchdog = 30 * cluster.Second
	r, err := Run(Config{Source: l, Lanes: lanes, Until: 4 * cluster.Hour, World: World{KeepWork: true}, Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	if most := int(4*cluster.Hour/sched.SwitchTimeKept) + 1; r.Tasks.Preempted > most || r.Tasks.Preempted < 2 {
		t.Errorf("%d evictions in four hours, want %d at most, and some", r.Tasks.Preempted, most)
	}
}
