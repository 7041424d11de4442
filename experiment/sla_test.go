package experiment

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// selections checks each selection of a policy against the paper's loop, with a slow look
// at all that waits: "at each selection no placeable container with a higher rank was
// passed over".
type selections struct {
	t      *testing.T
	policy sched.Policy
	count  int
	waited int // higher in rank, and not placeable
}

func (c *selections) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return c.policy.Why(t, task)
}

func (c *selections) Plan(t *sched.Trial, changed *sched.Changed, budget int64, out *sched.Plan) {
	mark := t.Mark()
	c.policy.Plan(t, changed, budget, out)
	t.Rollback(mark)
	for i := range out.Bundles() {
		bundle := out.Bundle(i)
		c.check(t.View(), bundle)
		for _, a := range bundle {
			if r := t.Try(a); r.Refused() {
				c.t.Fatalf("bundle %d is refused: %v", i, r.Code)
			}
		}
	}
	for _, tasks := range c.queue(t.View()) {
		if r, nodes := c.cores(t.View(), tasks); nodes >= len(tasks) {
			c.t.Errorf("%s waits at the end of a round, and its %d copies of %d cores fit on %d nodes", t.View().TaskName(tasks[0]), len(tasks), r, nodes)
		}
	}
}

// queue is what waits, by its level and then by submission: all dimensions of a class
// have the same level here, so that by any weights this is the order of PROMETHEE II.
func (c *selections) queue(s *cluster.View) [][]cluster.TaskID {
	jobs := map[cluster.JobID][]cluster.TaskID{}
	for i := range s.TaskRows() {
		if task := s.Task(cluster.TaskID(i)); task.Phase == cluster.Waiting {
			jobs[task.Job] = append(jobs[task.Job], cluster.TaskID(i))
		}
	}
	var list [][]cluster.TaskID
	for _, tasks := range jobs {
		slices.SortFunc(tasks, func(a, b cluster.TaskID) int { return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq) })
		list = append(list, tasks)
	}
	slices.SortFunc(list, func(a, b []cluster.TaskID) int {
		x, y := s.Task(a[0]), s.Task(b[0])
		return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Seq, y.Seq))
	})
	return list
}

// cores is what each copy is to be given, and on how many nodes that fits.
func (c *selections) cores(s *cluster.View, tasks []cluster.TaskID) (r int64, nodes int) {
	is := &s.Classes()[s.Task(tasks[0]).Class]
	shape := s.Shape(s.Task(tasks[0]).Shape)
	sum, free := int64(0), int64(0)
	for _, other := range c.queue(s) {
		if o := &s.Classes()[s.Task(other[0]).Class]; o.Tier == is.Tier {
			sum += int64(o.Size)
		}
	}
	mine := func(n cluster.NodeID) bool {
		return s.NodeLive(n) && (is.Tier == 0 || s.NodeSpec(n).Tier == int32(is.Tier))
	}
	for n := range cluster.NodeID(s.NodeRows()) {
		if mine(n) {
			free += s.Limit(n)[0] - s.Used(n)[0]
		}
	}
	r = min(max(int64(is.Size)*free/sum, shape.Demand[0]), shape.Max[0])
	for n := range cluster.NodeID(s.NodeRows()) {
		if mine(n) && s.Limit(n)[0]-s.Used(n)[0] >= r && s.Beside(s.Task(tasks[0]).Job, n, tasks[0]) == 0 {
			nodes++
		}
	}
	return r, nodes
}

// check looks at one selection before it is done.
func (c *selections) check(s *cluster.View, bundle []sched.Action) {
	c.count++
	var used []cluster.NodeID
	for _, tasks := range c.queue(s) {
		r, nodes := c.cores(s, tasks)
		if tasks[0] != bundle[0].Task {
			if c.waited++; nodes >= len(tasks) {
				c.t.Errorf("%s is passed over for %s: its %d copies of %d cores fit on %d nodes", s.TaskName(tasks[0]), s.TaskName(bundle[0].Task), len(tasks), r, nodes)
			}
			continue
		}
		if len(bundle) != len(tasks) {
			c.t.Errorf("%d of %d copies of %s are placed", len(bundle), len(tasks), s.TaskName(tasks[0]))
		}
		for _, a := range bundle {
			given := s.Shape(s.Task(a.Task).Shape).Demand[0]
			if a.Grant != nil {
				given = a.Grant[0]
			}
			if tier := s.Classes()[s.Task(a.Task).Class].Tier; tier > 0 && s.NodeSpec(a.Node).Tier != int32(tier) || slices.Contains(used, a.Node) || given != r {
				c.t.Errorf("%s has %d cores on node %s of tier %d, want %d on a node of its own of tier %d", s.TaskName(a.Task), given, s.NodeSpec(a.Node).Name, s.NodeSpec(a.Node).Tier, r, tier)
			}
			used = append(used, a.Node)
		}
		return
	}
	c.t.Errorf("task row %d is placed and did not wait", bundle[0].Task)
}

// TestSLA runs each pattern and variant, from several seeds where times are drawn: the
// order of the averages is that of the levels, every container is within its bounds, each
// selection is the paper's, and all are done.
func TestSLA(t *testing.T) {
	waited := 0
	for _, p := range []pattern{sameTime(), online(), likeGoogle(), likePrezi()} {
		for _, variant := range []string{oneCopy, copies, noTiers} {
			seeds := uint64(1)
			if p.name == likePrezi().name {
				seeds = 4
			}
			for seed := range seeds {
				t.Run(p.name+", "+variant, func(t *testing.T) {
					waited += runPattern(t, p, variant, seed+1)
				})
			}
		}
	}
	if waited < 1000 {
		t.Errorf("only %d times somebody of a higher rank waited", waited)
	}
}

// TestNothingIsPublished: the paper's table is lost, and an emulation of its rules is not the
// paper; its numbers stand in notes.
func TestNothingIsPublished(t *testing.T) {
	e, err := Find("sla-google")
	if err != nil {
		t.Fatal(err)
	}
	results, err := e.Run(Options{Size: tiny, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if rows := len(results.Experiment.Compared); rows != 6 {
		t.Errorf("%d rows, want two classes in three variants", rows)
	}
	for _, c := range results.Experiment.Compared {
		if c.Published != nil || !strings.HasPrefix(c.Note, "an emulation of the paper's rules: ") {
			t.Errorf("%s: published %v, note %q", c.What, c.Published, c.Note)
		}
	}
}

func runPattern(t *testing.T, p pattern, variant string, seed uint64) (waited int) {
	t.Helper()
	c := slaCase(p, variant, seed)
	around := c.around
	checker := &selections{t: t}
	c.around = func(policy sched.Policy) sched.Policy {
		checker.policy = around(policy)
		return checker
	}
	out, err := c.run(&Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	before := report.Number(slaCores + 1)
	for i, name := range class.SLA().Names() {
		average, known := c.watch.cores(name)
		least, most := class.Bounds(cluster.Level(cluster.Levels-i), slaCores)
		for _, b := range c.watch.firsts(name) {
			if b.cores < least || b.cores > most {
				t.Errorf("%s of job %s has %d cores, want %d to %d", name, b.job, b.cores, least, most)
			}
		}
		if known && average >= before {
			t.Errorf("%s has %.1f cores on average, want fewer than the class above, which has %.1f", name, float64(average), float64(before))
		}
		before = average
		fixed := p.name == sameTime().name || p.name == online().name
		if want := p.emulated[variant][i]; fixed && math.Abs(float64(average-want)) > 0.1*float64(want) {
			t.Errorf("%s has %.2f cores on average, want within 10 %% of %.1f", name, float64(average), float64(want))
		}
	}
	if len(c.watch.done) != slaContainers || c.watch.err != nil {
		t.Errorf("%d containers are done, want %d: %v", len(c.watch.done), slaContainers, c.watch.err)
	}
	if tasks := out.run.Tasks; tasks.Finished != slaContainers || tasks.Pending+tasks.Running > 0 {
		t.Errorf("at the end: %+v", tasks)
	}
	return checker.waited
}

// TestNodeStop: of the containers that work on a node when it stops, each with another
// copy is done as if nothing had happened, and no other is.
func TestNodeStop(t *testing.T) {
	p, err := setUpNodeStop(&Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.cases {
		c := &p.cases[i]
		if _, err := c.run(&Options{Seed: 1}); err != nil {
			t.Fatal(err)
		}
		for level, name := range class.SLA().Names() {
			h := c.watch.struckAt(slaStop, []string{"0", "5", "10"}, slaTime, name)
			want := 0
			if c.line == copies && level < 2 {
				want = h.struck
			}
			if h.struck == 0 || h.kept != want {
				t.Errorf("%s, %s: %d of %d are kept, want %d", c.line, name, h.kept, h.struck, want)
			}
		}
		if len(c.watch.done) != slaContainers {
			t.Errorf("%s: %d containers are done, want %d", c.line, len(c.watch.done), slaContainers)
		}
	}
}

// Runs of an experiment can be compared: no two have the same set-up. Those of the SLA
// classes are as large as the paper's, however they are asked for, and where containers are
// counted over time every class has a count at each time.
func TestPromisedRunsDiffer(t *testing.T) {
	for _, name := range []string{"sla-same-time", "sla-node-stop", "qos-v2"} {
		e, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		results, err := e.Run(Options{Size: tiny, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[report.Setup]bool{}
		for _, r := range results.Runs {
			if seen[r.Setup] {
				t.Errorf("%s: two runs have the set-up %+v", name, r.Setup)
			}
			seen[r.Setup] = true
		}
		if quick := name == "qos-v2"; results.Experiment.Quick != quick {
			t.Errorf("%s: quick is %t, want %t", name, results.Experiment.Quick, quick)
		}
		for _, f := range results.Experiment.Figures {
			for _, l := range f.Lines {
				if f.X.Label == "time" && len(l.Points) != len(f.Lines[0].Points) {
					t.Errorf("%s: %s: %s has %d points, and another class %d", name, f.Title, l.Name, len(l.Points), len(f.Lines[0].Points))
				}
			}
		}
	}
}
