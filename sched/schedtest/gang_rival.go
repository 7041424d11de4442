package schedtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// GangsFound compares a policy with a search through all placements of a gang, in so many tiny worlds of one to four nodes, some of which hold
// tasks already. It returns how often the gang could be placed without anybody leaving, and how often the policy has done so. A policy
// that places some of a gang, or one that cannot be placed, fails the test.
func GangsFound(t *testing.T, worlds int, newPolicy func() sched.Policy) (found, possible int) {
	t.Helper()
	return gangsFound(t, worlds, newTinyWorld, newPolicy)
}

// GangsFoundInDomains is GangsFound of gangs that must stand in one rack.
func GangsFoundInDomains(t *testing.T, worlds int, newPolicy func() sched.Policy) (found, possible int) {
	t.Helper()
	return gangsFound(t, worlds, func(seed uint64) *tinyWorld {
		w := newTinyWorld(seed)
		w.inRacks(rand.New(rand.NewPCG(seed, 0x6a70)))
		return w
	}, newPolicy)
}

func gangsFound(t *testing.T, worlds int, newWorld func(uint64) *tinyWorld, newPolicy func() sched.Policy) (found, possible int) {
	t.Helper()
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: newPolicy()})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, w.events, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := core.View().Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		placed, racks := w.placed(core.View(), out)
		if racks[""] || len(racks) > 1 {
			t.Fatalf("seed %d: a gang stands in the racks %v:\n%s", seed, racks, core.View().Picture())
		}
		most := w.mostInOne()
		could := most >= w.least
		switch {
		case placed > 0 && placed < w.least:
			t.Fatalf("seed %d: %d of a gang of %d are placed", seed, placed, w.least)
		case placed > 0 && !could:
			t.Fatalf("seed %d: a gang of %d is placed, of which %d fit:\n%s", seed, w.least, most, core.View().Picture())
		case placed > 0:
			found++
		}
		if could {
			possible++
		}
	}
	return found, possible
}

// tinyGang is the job of the gang.
const tinyGang = 1

// tinyWorld is what a gang finds.
type tinyWorld struct {
	events []cluster.Event
	free   []cluster.Vector // by node
	asks   []cluster.Vector // by task of the gang
	may    [][]bool         // by task and node: that it is eligible
	least  int
	racks  []string // by node, "" of one in none, where all of the gang must stand in one; nil where they need not
}

// placed is how many of the gang are placed, and in which racks.
func (w *tinyWorld) placed(s *cluster.View, out []sched.Decision) (placed int, racks map[string]bool) {
	racks = map[string]bool{}
	for _, d := range out {
		if d.Kind == sched.Place && s.Task(d.Task).Job == tinyGang {
			placed++
			if w.racks != nil {
				racks[w.racks[d.Node]] = true
			}
		}
	}
	return placed, racks
}

// inRacks puts the nodes into racks, of which one is to hold the gang.
func (w *tinyWorld) inRacks(rng *rand.Rand) {
	const group = "rack"
	var gang []cluster.ShapeID
	for _, e := range w.events {
		if of, is := e.(cluster.TaskSubmitted); is && of.Job == tinyGang {
			gang = append(gang, of.Shape)
		}
	}
	for i, e := range w.events {
		if node, is := e.(cluster.NodeAdded); is {
			rack := []string{"a", "a", "b", "b", ""}[rng.IntN(5)]
			if w.racks = append(w.racks, rack); rack != "" {
				node.Spec.Groups = []cluster.Label{{Key: group, Value: rack}}
			}
			w.events[i] = node
		}
		if shape, is := e.(cluster.ShapeDefined); is && slices.Contains(gang, shape.Shape) {
			shape.Spec.Tags = []string{"gang"}
			w.events[i] = shape
		}
	}
	w.events = append([]cluster.Event{cluster.ConstraintDefined{Spec: OneDomain("gang", group)}}, w.events...)
}

// OneDomain has all tasks with the tag stand in one set of the group.
func OneDomain(tag, group string) cluster.Constraint {
	bound := cluster.Bound{Subject: []string{tag}, Target: []string{tag}, Min: 1, Max: cluster.Unbounded, Group: group, OrFirst: true}
	return cluster.Constraint{Name: "one " + group + " for " + tag, Hard: true, Arriving: true, Any: [][]cluster.Bound{{bound}}}
}

func newTinyWorld(seed uint64) *tinyWorld {
	rng := rand.New(rand.NewPCG(seed, 0x6a6e))
	w := &tinyWorld{}
	emit := func(e cluster.Event) { w.events = append(w.events, e) }
	emit(cluster.JobSubmitted{Job: 0, Name: "there"})
	vector := func(low, high int64) cluster.Vector {
		return cluster.Vector{low + rng.Int64N(high-low+1), low + rng.Int64N(high-low+1)}
	}
	for n := range 1 + rng.IntN(4) {
		w.free = append(w.free, vector(2, 8))
		emit(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Capacity: slices.Clone(w.free[n])}})
	}
	sets := make([][]bool, 2) // the first is of all nodes
	for i := range sets {
		set := cluster.SetDefined{Set: cluster.SetID(i)}
		for n := range w.free {
			in := i == 0 || rng.IntN(2) == 0
			if sets[i] = append(sets[i], in); in {
				set.Nodes = append(set.Nodes, cluster.NodeID(n))
			}
		}
		if i > 0 {
			emit(set)
		}
	}
	task, shape := cluster.TaskID(0), cluster.ShapeID(0)
	for n := range w.free { // somebody stands there
		if rng.IntN(2) == 0 {
			demand := vector(0, 2)
			emit(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: demand}})
			emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape})
			emit(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: cluster.NodeID(n)})
			w.free[n] = cluster.Vector{w.free[n][0] - demand[0], w.free[n][1] - demand[1]}
			task, shape = task+1, shape+1
		}
	}
	tasks, shapes := 2+rng.IntN(4), 1+rng.IntN(3)
	w.least = max(tasks-rng.IntN(2), 2)
	emit(cluster.JobSubmitted{Job: tinyGang, Name: "gang", Gang: int32(w.least)})
	first := shape
	var demands []cluster.Vector
	var eligible []int
	for i := range shapes {
		demands, eligible = append(demands, vector(1, 5)), append(eligible, max(rng.IntN(4)-2, 0))
		emit(cluster.ShapeDefined{Shape: first + cluster.ShapeID(i), Spec: cluster.Shape{Demand: demands[i], Eligible: cluster.SetID(eligible[i])}})
	}
	for range tasks {
		i := rng.IntN(shapes)
		w.asks, w.may = append(w.asks, demands[i]), append(w.may, sets[eligible[i]])
		emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: tinyGang, Shape: first + cluster.ShapeID(i)})
		task++
	}
	return w
}

// mostInOne is most of all tasks, in one rack where that has to be.
func (w *tinyWorld) mostInOne() (best int) {
	if w.racks == nil {
		return w.most(0)
	}
	may := w.may
	for _, rack := range []string{"a", "b"} {
		w.may = nil
		for i := range may {
			w.may = append(w.may, slices.Clone(may[i]))
			for n := range w.may[i] {
				w.may[i][n] = w.may[i][n] && w.racks[n] == rack
			}
		}
		best = max(best, w.most(0))
	}
	w.may = may
	return best
}

// most is how many of the tasks from i on find room at most, by trying everything.
func (w *tinyWorld) most(i int) int {
	if i == len(w.asks) {
		return 0
	}
	best := w.most(i + 1) // without it
	for n := range w.free {
		if !w.may[i][n] || !w.asks[i].Fits(w.free[n]) {
			continue
		}
		for k, q := range w.asks[i] {
			w.free[n][k] -= q
		}
		best = max(best, 1+w.most(i+1))
		for k, q := range w.asks[i] {
			w.free[n][k] += q
		}
	}
	return best
}

// GangsWake plays so many worlds in which nodes come, go, shrink and are over-committed, and tasks come and end, all of them of gangs and as
// large as one another. After each step no gang may wait for which there is room. It returns how often one began that had waited before.
func GangsWake(t *testing.T, worlds int, newPolicy func() sched.Policy) (woken int) {
	t.Helper()
	for seed := range uint64(worlds) {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: newPolicy()})
		if err != nil {
			t.Fatal(err)
		}
		w := &wakingWorld{rng: rand.New(rand.NewPCG(seed, 0x6a6f)), s: core.View()}
		w.events = append(w.events, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}})
		for step := range 40 {
			w.happen()
			waited := w.waiting()
			out, _, err := core.Step(cluster.Time(step)*cluster.Second, w.events, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.answer(out)
			for _, j := range waited {
				if cluster.GangLacks(w.s, j) == 0 {
					woken++
				}
			}
			for _, j := range w.waiting() {
				if lacks := cluster.GangLacks(w.s, j); !cluster.GangAwaits(w.s, j) && w.room() >= int64(lacks) {
					t.Fatalf("seed %d, step %d: gang %d lacks %d and waits, though there is room for %d:\n%s", seed, step, j, lacks, w.room(), w.s.Picture())
				}
			}
		}
	}
	return woken
}

// wakingWorld is a cluster in which something happens.
type wakingWorld struct {
	rng    *rand.Rand
	s      *cluster.View
	events []cluster.Event
	nodes  cluster.NodeID
	jobs   cluster.JobID
	tasks  cluster.TaskID
}

// waiting are the gangs that lack some.
func (w *wakingWorld) waiting() (list []cluster.JobID) {
	for j := range min(w.jobs, cluster.JobID(w.s.JobRows())) {
		if cluster.GangLacks(w.s, j) > 0 {
			list = append(list, j)
		}
	}
	return list
}

// answer has what was decided happen with the next step.
func (w *wakingWorld) answer(out []sched.Decision) {
	w.events = w.events[:0]
	for _, d := range out {
		switch d.Kind {
		case sched.Place:
			w.events = append(w.events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		case sched.Evict:
			w.events = append(w.events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		case sched.Resize, sched.End:
		}
	}
}

// room is for how many tasks there is room.
func (w *wakingWorld) room() (sum int64) {
	for n := range cluster.NodeID(w.s.NodeRows()) {
		sum += max(w.s.Limit(n)[0]-w.s.Used(n)[0], 0)
	}
	return sum
}

// happen lets something happen: most often a task ends.
func (w *wakingWorld) happen() {
	spec := cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{w.rng.Int64N(5)}, Overcommit: cluster.Vector{1000 + 500*w.rng.Int64N(3)}}
	n := cluster.NodeID(w.rng.IntN(int(w.nodes) + 1))
	switch live := w.s.NodeLive(n); w.rng.IntN(6) {
	case 0:
		if w.nodes < 8 {
			w.events = append(w.events, cluster.NodeAdded{Node: w.nodes, Spec: spec})
			w.nodes++
		}
	case 1:
		if live {
			w.events = append(w.events, cluster.NodeChanged{Node: n, Spec: spec})
		}
	case 2:
		if live && w.rng.IntN(4) == 0 {
			w.events = append(w.events, cluster.NodeLost{Node: n})
		}
	case 3:
		least := 2 + w.rng.IntN(6)
		w.events = append(w.events, cluster.JobSubmitted{Job: w.jobs, Name: "gang", Gang: int32(least)})
		for range least - w.rng.IntN(2) {
			w.submit(w.jobs)
		}
		w.jobs++
	default:
		if t := cluster.TaskID(w.rng.IntN(int(w.tasks) + 1)); t < w.tasks && w.s.Task(t).Phase == cluster.Running {
			w.events = append(w.events, cluster.TaskEnded{Task: t, Seq: w.s.Task(t).Seq, Finished: w.rng.IntN(2) == 0})
		} else if w.jobs > 0 && w.rng.IntN(3) == 0 {
			w.submit(cluster.JobID(w.rng.IntN(int(w.jobs))))
		}
	}
}

// submit submits a task of the gang.
func (w *wakingWorld) submit(j cluster.JobID) {
	w.events = append(w.events, cluster.TaskSubmitted{Task: w.tasks, Seq: cluster.Seq(w.tasks), Job: j})
	w.tasks++
}
