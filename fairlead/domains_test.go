package fairlead_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// inRacks is a world of racks with tasks on their nodes, and a gang that must stand in one of them. With a rack only that is there, and
// the gang may stand anywhere.
type inRacks struct {
	events      []cluster.Event
	racks       []string // that there are
	least, task int
}

func newInRacks(seed uint64, only string) (w inRacks) {
	rng := rand.New(rand.NewPCG(seed, 0x6a71))
	emit := func(e cluster.Event) { w.events = append(w.events, e) }
	tags := []string{"gang"}
	if only == "" {
		emit(cluster.ConstraintDefined{Spec: schedtest.OneDomain("gang", "rack")})
	}
	emit(cluster.JobSubmitted{Job: 0, Name: "there"})
	emit(cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1 + rng.Int64N(3)}, Tags: tags}})
	task, node := cluster.TaskID(0), cluster.NodeID(0)
	for r := range 2 + rng.IntN(3) {
		rack := strconv.Itoa(r)
		w.racks = append(w.racks, rack)
		for range 1 + rng.IntN(3) {
			size, in := 2+rng.Int64N(7), only == "" || only == rack
			if in {
				emit(cluster.NodeAdded{Node: node, Spec: cluster.NodeSpec{Capacity: cluster.Vector{size}, Groups: []cluster.Label{{Key: "rack", Value: rack}}}})
			}
			for size > 1 {
				demand, priority := 1+rng.Int64N(min(size, 3)), int32(rng.IntN(5))
				size -= demand + rng.Int64N(2)
				shape := cluster.ShapeID(task) + 2
				if in {
					emit(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{demand}}})
					emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape, Priority: priority})
					emit(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: node})
				}
				task++
			}
			node++
		}
	}
	w.task = 2 + rng.IntN(4)
	w.least = max(2, w.task-rng.IntN(2))
	emit(cluster.JobSubmitted{Job: 1, Name: "gang", Gang: int32(w.least)})
	for range w.task {
		emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: 0, Priority: 3})
		task++
	}
	return w
}

// play decides once, and returns how many leave, and the racks of the nodes where the gang is placed.
func (w inRacks) play(t *testing.T) (leave int, racks []string, s *cluster.View) {
	t.Helper()
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := core.Step(0, w.events, nil)
	if err != nil {
		t.Fatal(err)
	}
	s = core.View()
	for _, d := range out {
		if d.Kind == sched.Evict {
			leave++
		}
	}
	for _, m := range cluster.GangTasks(s, 1) {
		n := s.Task(m).Node
		if n == cluster.NoNode {
			n = s.Task(m).Next
		}
		if s.Task(m).Phase != cluster.Waiting {
			racks = append(racks, s.NodeSpec(n).Groups[0].Value)
		}
	}
	if len(racks) > 0 && len(racks) < w.least {
		t.Fatalf("%d of a gang of %d are placed:\n%s", len(racks), w.least, s.Picture())
	}
	slices.Sort(racks)
	return leave, slices.Compact(racks), s
}

// TestGangsEvictInOneDomain: a gang that must stand in one rack is placed where the fewest have to leave, as many as if there were that rack alone; and
// it waits only where it would in each.
func TestGangsEvictInOneDomain(t *testing.T) {
	evicted, waited, chosen := 0, 0, 0
	for seed := range uint64(1500) {
		w := newInRacks(seed, "")
		leave, racks, s := w.play(t)
		if len(racks) > 1 {
			t.Fatalf("seed %d: the gang stands in the racks %v:\n%s", seed, racks, s.Picture())
		}
		fewest, dearer := -1, false
		for _, rack := range w.racks {
			if alone, there, _ := newInRacks(seed, rack).play(t); len(there) > 0 {
				dearer = dearer || fewest >= 0 && alone != fewest
				if fewest < 0 || alone < fewest {
					fewest = alone
				}
			}
		}
		switch {
		case fewest < 0 != (len(racks) == 0):
			t.Fatalf("seed %d: the gang stands in %v, and in one rack alone %d would leave:\n%s", seed, racks, fewest, s.Picture())
		case fewest < 0:
			waited++
		case leave != fewest:
			t.Fatalf("seed %d: %d leave, and in one rack alone %d would:\n%s", seed, leave, fewest, s.Picture())
		case leave > 0:
			evicted++
		}
		if dearer {
			chosen++
		}
	}
	if evicted < 100 || waited < 100 || chosen < 100 {
		t.Errorf("of 1500 gangs %d evict, %d wait, and %d have racks to choose between: this says little", evicted, waited, chosen)
	}
}

// TestGangsLeaveRoomyDomainsOpen: where several racks have room, the fullest is taken that holds all of the gang; and who comes later stays in it, though there is
// none left, and room elsewhere.
func TestGangsLeaveRoomyDomainsOpen(t *testing.T) {
	events := []cluster.Event{
		cluster.ConstraintDefined{Spec: schedtest.OneDomain("gang", "rack")},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{2}, Tags: []string{"gang"}}},
		cluster.JobSubmitted{Job: 1, Name: "gang", Gang: 3},
	}
	for n, node := range []struct {
		rack string
		size int64
	}{{"roomy", 9}, {"roomy", 9}, {"small", 4}, {"apt", 4}, {"apt", 2}, {"", 20}} {
		spec := cluster.NodeSpec{Name: strconv.Itoa(n), Capacity: cluster.Vector{node.size}}
		if node.rack != "" {
			spec.Groups = []cluster.Label{{Key: "rack", Value: node.rack}}
		}
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: spec})
	}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(task cluster.TaskID) cluster.Event {
		return cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: 0}
	}
	out, _, err := core.Step(0, append(events, submit(0), submit(1), submit(2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range out {
		if d.Node != 3 && d.Node != 4 {
			t.Errorf("task %d goes to node %d, want 3 or 4, which have just enough room", d.Task, d.Node)
		}
	}
	if len(out) != 3 {
		t.Fatalf("%d of 3 tasks are placed", len(out))
	}
	if out, _, err = core.Step(1, []cluster.Event{submit(3)}, out[:0]); err != nil || len(out) > 0 {
		t.Errorf("%v: who comes later is placed outside its gang's rack: %v", err, out)
	}
}

// TestGangsStandNear: a gang that would rather stand in one domain stands in one of the narrowest that hold it.
func TestGangsStandNear(t *testing.T) {
	counts := schedtest.GangsStandNear(t, 3000, func() sched.Policy { return fairlead.New(fairlead.Options{Ties: book.Lowest}) })
	if slices.Min(counts[:]) < 200 {
		t.Errorf("%d gangs stand below a switch, %d below a spine, %d wider: this says little", counts[0], counts[1], counts[2])
	}
}

// TestGangPrefersWithinItsDomain: one that must stand in a zone, and would rather in a rack, stands in a rack of the zones, if one has room for all of it, else in a zone.
func TestGangPrefersWithinItsDomain(t *testing.T) {
	for _, c := range []struct {
		tasks int
		want  []cluster.NodeID
	}{{2, []cluster.NodeID{2, 3}}, {3, []cluster.NodeID{1, 2, 3}}} {
		near := schedtest.OneDomain("gang", "rack")
		near.Hard, near.Weight = false, cluster.DefaultWeight
		events := []cluster.Event{
			cluster.ConstraintDefined{Constraint: 0, Spec: near},
			cluster.ConstraintDefined{Constraint: 1, Spec: schedtest.OneDomain("gang", "zone")},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"gang"}}},
			cluster.JobSubmitted{Job: 1, Name: "gang", Gang: int32(c.tasks)},
		}
		for n, at := range [][2]string{{"a", "x"}, {"b", "y"}, {"c", "y"}, {"c", "y"}, {"d", ""}, {"d", ""}, {"d", ""}} { // rack d is in no zone
			spec := cluster.NodeSpec{Capacity: cluster.Vector{1}, Groups: []cluster.Label{{Key: "rack", Value: at[0]}}}
			if at[1] != "" {
				spec.Groups = append(spec.Groups, cluster.Label{Key: "zone", Value: at[1]})
			}
			events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: spec})
		}
		for task := range cluster.TaskID(c.tasks) {
			events = append(events, cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: 0})
		}
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []cluster.NodeID
		for _, d := range out {
			nodes = append(nodes, d.Node)
		}
		if slices.Sort(nodes); !slices.Equal(nodes, c.want) {
			t.Errorf("a gang of %d stands on %v, want %v", c.tasks, nodes, c.want)
		}
	}
}

// TestGangThatFitsNoDomainSaysHowMany: the reason has the number that would fit in the best of the domains.
func TestGangThatFitsNoDomainSaysHowMany(t *testing.T) {
	events := []cluster.Event{
		cluster.ConstraintDefined{Spec: schedtest.OneDomain("gang", "rack")},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{2}, Tags: []string{"gang"}}},
		cluster.JobSubmitted{Job: 1, Name: "gang", Gang: 4},
	}
	for n, rack := range []string{"a", "a", "b", "c", "c", "c"} {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Capacity: cluster.Vector{2}, Groups: []cluster.Label{{Key: "rack", Value: rack}}}})
	}
	for task := range cluster.TaskID(4) {
		events = append(events, cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: 0})
	}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := core.Step(0, events, nil)
	if err != nil || len(out) > 0 {
		t.Fatalf("%v: decided %v", err, out)
	}
	why := core.Why(0)
	g, lacks := sched.Find[sched.Gang](&why)
	const want = "a gang of 4: 3 of its 4 waiting tasks would fit now in the best of 3 domains, of which one is to hold them all"
	if !lacks || g.String() != want {
		t.Errorf("%q, want %q", g, want)
	}
}
