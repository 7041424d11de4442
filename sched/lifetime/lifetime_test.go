package lifetime

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// nursery is a cluster in which tasks come, run at once, and end when they are told to.
type nursery struct {
	tb      interface{ Fatal(...any) }
	s       *cluster.State
	changed sched.Changed
	rows    cluster.Rows
	seq     cluster.Seq
	jobs    uint32
}

// newNursery has one node, and shapes that ask for 1 to 4 of cpu.
func newNursery(tb interface{ Fatal(...any) }) *nursery {
	n := &nursery{tb: tb, s: cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)}
	n.apply(cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1 << 30}}})
	for i := range 4 {
		n.apply(cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{int64(i + 1)}}})
	}
	return n
}

func (n *nursery) apply(events ...cluster.Event) {
	for _, e := range events {
		if err := n.s.Apply(n.s.Now(), e); err != nil {
			n.tb.Fatal(err)
		}
	}
}

// pass lets time go by.
func (n *nursery) pass(by cluster.Time) {
	if err := n.s.Apply(n.s.Now()+by, cluster.UsageReported{Usage: cluster.Vector{0}}); err != nil {
		n.tb.Fatal(err)
	}
}

// submit has a job of such tasks wait.
func (n *nursery) submit(user string, lasts cluster.Time, shapes ...cluster.ShapeID) (tasks []cluster.TaskID) {
	job := cluster.JobID(n.jobs)
	n.jobs++
	n.apply(cluster.JobSubmitted{Job: job, Name: "j", User: user})
	for _, shape := range shapes {
		n.seq++
		t := cluster.TaskID(n.rows.Take())
		n.apply(cluster.TaskSubmitted{Task: t, Seq: n.seq, Job: job, Shape: shape, Lasts: lasts})
		n.changed.Tasks = append(n.changed.Tasks, t)
		tasks = append(tasks, t)
	}
	return tasks
}

// run has waiting tasks run.
func (n *nursery) run(tasks ...cluster.TaskID) {
	for _, t := range tasks {
		n.apply(cluster.TaskFound{Task: t, Seq: n.s.Task(t).Seq})
		n.changed.Tasks = append(n.changed.Tasks, t)
	}
}

// end ends tasks.
func (n *nursery) end(tasks ...cluster.TaskID) {
	for _, t := range tasks {
		n.apply(cluster.TaskEnded{Task: t, Seq: n.s.Task(t).Seq})
		n.rows.Give(uint32(t))
		n.changed.Gone = append(n.changed.Gone, t)
	}
}

// learn shows a predictor what has changed.
func (n *nursery) learn(p Predictor) {
	p.Learn(&n.s.View, &n.changed)
	n.changed = sched.Changed{}
}

// left is how much longer the task will run by a predictor.
func (n *nursery) left(p Predictor, t cluster.TaskID) cluster.Time { return p.Remaining(&n.s.View, t) }

// live has so many jobs of one task each come, live for about so long, and end, one after the other.
func (n *nursery) live(p Predictor, count int, user string, shape cluster.ShapeID, life cluster.Time) {
	for i := range count {
		t := n.submit(user, 0, shape)
		n.learn(p)
		n.run(t...)
		n.learn(p)
		n.pass(life * cluster.Time(90+i%21) / 100)
		n.end(t...)
		n.learn(p)
	}
}

// within wants a length near another one.
func within(t *testing.T, what string, got, least, most cluster.Time) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: %v, want from %v to %v", what, got, least, most)
	}
}

// TestLearned: tasks that ask for the same are taken to live as long as those before them, each kind for itself; whoever has
// outlived what was thought of it is thought of anew, which means does not.
func TestLearned(t *testing.T) {
	for _, name := range []string{Curves, Means} {
		p, _ := Named(name)
		n := newNursery(t)
		for range 40 {
			n.live(p, 2, "", 0, 10*cluster.Minute)
			n.live(p, 1, "", 1, 10*cluster.Hour)
		}
		old := n.submit("", 0, 0, 0)
		n.learn(p)
		n.run(old...)
		n.learn(p)
		short, long := n.submit("", 0, 0), n.submit("", 0, 1)
		n.learn(p)
		within(t, name+", a short one", n.left(p, short[0]), 8*cluster.Minute, 40*cluster.Minute)
		within(t, name+", a long one", n.left(p, long[0]), 8*cluster.Hour, 13*cluster.Hour)
		n.pass(2 * cluster.Day)
		n.learn(p)
		if is := n.left(p, old[0]); name == Means && is != 0 {
			t.Errorf("a mean says %v of a task that has outlived it", is)
		} else if name == Curves && is < 8*cluster.Hour {
			t.Errorf("a task of a short kind that has lived for two days is thought to end in %v", is)
		}
	}
}

// TestLikes: what came together tells tasks apart that ask for the same, and so does who submitted them.
func TestLikes(t *testing.T) {
	p, _ := Named(Curves)
	n := newNursery(t)
	for i := range 60 {
		pair, single := n.submit("", 0, 0, 1), n.submit("", 0, 0)
		n.learn(p)
		n.run(append(pair, single...)...)
		n.learn(p)
		n.pass(5 * cluster.Minute)
		n.end(single...)
		n.learn(p)
		n.pass(5*cluster.Hour + cluster.Time(i)*cluster.Minute)
		n.end(pair...)
		n.learn(p)
		n.live(p, 1, "ann", 2, cluster.Minute*20)
		n.live(p, 1, "bob", 2, cluster.Hour*20)
	}
	pair, single, ann, bob := n.submit("", 0, 1, 0), n.submit("", 0, 0), n.submit("ann", 0, 2), n.submit("bob", 0, 2)
	n.learn(p)
	within(t, "one of a pair", n.left(p, pair[1]), 4*cluster.Hour, 8*cluster.Hour)
	within(t, "one alone", n.left(p, single[0]), cluster.Minute, 90*cluster.Minute)
	within(t, "ann's", n.left(p, ann[0]), 10*cluster.Minute, 3*cluster.Hour)
	within(t, "bob's", n.left(p, bob[0]), 13*cluster.Hour, 26*cluster.Hour)
}

// TestOracle: what was said counts, less what the run has worked; of whom nothing was said what was learned does.
func TestOracle(t *testing.T) {
	p, _ := Named(Truth)
	n := newNursery(t)
	n.live(p, 60, "", 0, 2*cluster.Hour)
	told, endless, untold := n.submit("", cluster.Hour, 0), n.submit("", cluster.Never, 0), n.submit("", 0, 0)
	n.learn(p)
	within(t, "before it runs", n.left(p, told[0]), cluster.Hour, cluster.Hour)
	n.run(told[0], endless[0])
	n.learn(p)
	n.pass(20 * cluster.Minute)
	within(t, "under way", n.left(p, told[0]), 40*cluster.Minute, 40*cluster.Minute)
	within(t, "one that never ends", n.left(p, endless[0]), cluster.Never, cluster.Never)
	within(t, "one of which nobody spoke", n.left(p, untold[0]), 90*cluster.Minute, 3*cluster.Hour)
	n.pass(2 * cluster.Hour)
	within(t, "one that goes on longer than was said", n.left(p, told[0]), 0, 0)
}

// TestNames: there is a predictor of each name, and of no other.
func TestNames(t *testing.T) {
	for _, name := range append(Names(), "") {
		if p, ok := Named(name); !ok || p == nil {
			t.Errorf("there is no %q", name)
		}
	}
	if _, ok := Named("guess"); ok {
		t.Error("there is a predictor that guesses")
	}
}

// TestRecordAgainstRival: what the curves have counted is what follows from the lives of all tasks, whatever befell them: runs that
// were evicted and begun again, ones that end before they were seen at work, rows that are used again, and changes that are shown late.
func TestRecordAgainstRival(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, p := newNursery(rt), &learned{}
		type run struct {
			shape      cluster.ShapeID
			since, age cluster.Time
			over, done bool
		}
		var runs []*run
		now := map[cluster.TaskID]*run{}
		pick := func(from []cluster.TaskID) cluster.TaskID { return rapid.SampledFrom(from).Draw(rt, "task") }
		in := func(phases ...cluster.Phase) (list []cluster.TaskID) {
			for i := range n.s.TaskRows() {
				for _, phase := range phases {
					if n.s.Task(cluster.TaskID(i)).Phase == phase {
						list = append(list, cluster.TaskID(i))
					}
				}
			}
			return list
		}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			switch what := rapid.IntRange(0, 6).Draw(rt, "what"); {
			case what <= 1:
				n.submit(rapid.SampledFrom([]string{"", "ann"}).Draw(rt, "user"), 0, cluster.ShapeID(rapid.IntRange(0, 3).Draw(rt, "shape")))
			case what == 2 && len(in(cluster.Waiting)) > 0:
				task := pick(in(cluster.Waiting))
				n.run(task)
				now[task] = &run{shape: n.s.Task(task).Shape, since: n.s.Now()}
				runs = append(runs, now[task])
			case what == 3 && len(in(cluster.Running)) > 0: // it is evicted
				task := pick(in(cluster.Running))
				n.apply(cluster.TaskLeft{Task: task, Attempt: n.s.Task(task).Attempt})
				n.changed.Tasks = append(n.changed.Tasks, task)
				now[task].age, now[task].over = n.s.Now()-now[task].since, true
				delete(now, task)
			case what == 4 && len(in(cluster.Running, cluster.Waiting)) > 0:
				task := pick(in(cluster.Running, cluster.Waiting))
				shape := n.s.Task(task).Shape
				n.end(task)
				if r := now[task]; r != nil {
					r.age, r.over, r.done = n.s.Now()-r.since, true, true
				} else {
					runs = append(runs, &run{shape: shape, over: true, done: true})
				}
				delete(now, task)
			default:
				n.pass(cluster.Time(rapid.Int64Range(1, int64(cluster.Day)).Draw(rt, "time")))
			}
			n.learn(p)
		}
		p.countRunning(&n.s.View)
		for level := range 5 { // four shapes, and all of them
			var want curve
			c := p.curves[0]
			for _, r := range runs {
				if level < 4 && r.shape != cluster.ShapeID(level) {
					continue
				}
				age := r.age
				if !r.over {
					age = n.s.Now() - r.since
				}
				for b := range Bin(age) + 1 {
					want.entered[b]++
				}
				if r.done {
					want.end(age)
				}
			}
			if level < 4 {
				c = p.curves[mix(mix(mix(1, uint64(level+1)), 0), 2)]
			}
			if c == nil {
				c = &curve{}
			}
			if c.entered != want.entered || c.ended != want.ended || c.runs != want.runs || c.worked != want.worked {
				rt.Fatalf("level %d: entered %v, ended %v of %d runs\nwant %v, %v of %d", level, c.entered, c.ended, c.runs, want.entered, want.ended, want.runs)
			}
		}
	})
}

// TestOrderDoesNotMatter: the rows of a round may be listed in any order.
func TestOrderDoesNotMatter(t *testing.T) {
	var said []cluster.Time
	for _, seed := range []uint64{1, 2, 3} {
		p, _ := Named(Curves)
		n, chance := newNursery(t), rand.New(rand.NewPCG(seed, 1))
		shuffle := func(list []cluster.TaskID) {
			chance.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		for i := range 30 {
			tasks := n.submit("", 0, 0, 1, 2, 0)
			shuffle(n.changed.Tasks)
			n.learn(p)
			n.run(tasks...)
			shuffle(n.changed.Tasks)
			n.learn(p)
			n.pass(cluster.Time(i+1) * cluster.Minute)
			for k, task := range tasks {
				n.end(task)
				n.pass(cluster.Time(k) * cluster.Minute)
				n.learn(p)
			}
		}
		next := n.submit("", 0, 2, 0, 1, 0)
		shuffle(n.changed.Tasks)
		n.learn(p)
		said = append(said, n.left(p, next[0]))
	}
	if said[0] != said[1] || said[0] != said[2] || said[0] == 0 {
		t.Errorf("by the order in which the same is listed %v are left", said)
	}
}
