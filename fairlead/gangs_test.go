package fairlead_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestGangsFindWhatThereIs: nearly every gang that can be placed is, by price, and no other.
func TestGangsFindWhatThereIs(t *testing.T) {
	found, possible := schedtest.GangsFound(t, 4000, func() sched.Policy { return fairlead.New(fairlead.Options{Ties: book.Lowest}) })
	t.Logf("%d of %d gangs that could be placed are", found, possible)
	if possible < 1000 || found < possible*97/100 {
		t.Errorf("of %d gangs that could be placed %d are, want 97 %%", possible, found)
	}
}

// TestGangsFindOneDomain: nearly every gang that fits into one rack is placed there, and none elsewhere.
func TestGangsFindOneDomain(t *testing.T) {
	found, possible := schedtest.GangsFoundInDomains(t, 4000, func() sched.Policy { return fairlead.New(fairlead.Options{Ties: book.Lowest}) })
	t.Logf("%d of %d gangs that could be placed are", found, possible)
	if possible < 300 || found < possible*97/100 {
		t.Errorf("of %d gangs that could be placed %d are, want 97 %%", possible, found)
	}
}

// TestGangsWakeWhereThereIsRoom: no gang sleeps on where there has come to be room for it.
func TestGangsWakeWhereThereIsRoom(t *testing.T) {
	if woken := schedtest.GangsWake(t, 300, func() sched.Policy { return fairlead.New(fairlead.Options{Ties: book.Lowest}) }); woken < 300 {
		t.Errorf("%d gangs began that had waited: this says little", woken)
	}
}

// TestGangsEvictForAllOrNobody: where others leave for a gang, it has its number by that, each of them stands where the gang could not be
// without it, and none is of a rank as high.
func TestGangsEvictForAllOrNobody(t *testing.T) {
	evicted, could := 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 0x6a6e))
		events := []cluster.Event{cluster.JobSubmitted{Job: 0, Name: "there"}, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1 + rng.Int64N(3)}}}}
		task := cluster.TaskID(0)
		for n := range cluster.NodeID(1 + rng.IntN(4)) {
			size := 2 + rng.Int64N(7)
			events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{size}}})
			for size > 1 {
				demand := 1 + rng.Int64N(min(size, 3))
				size -= demand + rng.Int64N(2)
				shape := cluster.ShapeID(task) + 2
				events = append(events, cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{demand}}},
					cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape, Priority: int32(rng.IntN(5))},
					cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: n})
				task++
			}
		}
		tasks, first := 2+rng.IntN(4), task
		least := max(2, tasks-rng.IntN(2))
		events = append(events, cluster.JobSubmitted{Job: 1, Name: "gang", Gang: int32(least)})
		for range tasks {
			events = append(events, cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: 0, Priority: 3})
			task++
		}
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, bundles, leave := core.View(), map[uint64]bool{}, 0
		for _, d := range out {
			if d.Kind == sched.Evict {
				leave++
				bundles[d.Purpose.Bundle] = true
				if need(s, d.Node) <= s.Limit(d.Node)[0]-s.Demand(d.Task)[0] || s.Task(d.Task).Priority >= 3 {
					t.Fatalf("seed %d: task %d of priority %d leaves in vain:\n%s", seed, d.Task, s.Task(d.Task).Priority, s.Picture())
				}
			}
		}
		if leave > 0 {
			if evicted++; len(bundles) != 1 || cluster.GangHas(s, 1) < least {
				t.Fatalf("seed %d: %d leave in %d bundles for a gang of %d, which has %d:\n%s", seed, leave, len(bundles), least, cluster.GangHas(s, 1), s.Picture())
			}
		}
		could += roomFor(s, first)
		if roomFor(s, first) >= least && cluster.GangHas(s, 1) == 0 {
			t.Fatalf("seed %d: all would fit if those of a lower rank left, and nobody does:\n%s", seed, s.Picture())
		}
	}
	if evicted < 100 || could < 100 {
		t.Errorf("others left for a gang in %d worlds of 600: this says little", evicted)
	}
}

// need is what those ask for who stay on the node, or come there.
func need(s *cluster.View, n cluster.NodeID) (sum int64) {
	for _, t := range s.TasksOn(n) {
		if s.Task(t).Phase != cluster.Leaving {
			sum += s.Demand(t)[0]
		}
	}
	return sum
}

// roomFor is for how many tasks like this one there would be room if all of a lower rank left.
func roomFor(s *cluster.View, like cluster.TaskID) (count int) {
	demand := s.Shape(s.Task(like).Shape).Demand[0]
	for n := range cluster.NodeID(s.NodeRows()) {
		free := s.Limit(n)[0]
		for _, t := range s.TasksOn(n) {
			if task := s.Task(t); task.Job == 0 && task.Priority >= 3 {
				free -= s.Demand(t)[0]
			}
		}
		count += int(free / demand)
	}
	return count
}

// TestGangsFindADomainForEachPart: nearly every gang of which each part fits into one rack is placed so, within one zone for all of them where that has to be, and none elsewhere.
func TestGangsFindADomainForEachPart(t *testing.T) {
	found, possible := schedtest.GangsFoundInParts(t, 4000, func() sched.Policy { return fairlead.New(fairlead.Options{Ties: book.Lowest}) })
	t.Logf("%d of %d gangs that could be placed are", found, possible)
	if possible < 600 || found < possible*97/100 {
		t.Errorf("of %d gangs that could be placed %d are, want 97 %%", possible, found)
	}
}

// TestGangNeedsNotAllOfAPart: of a gang with more tasks than it needs, some of which have to stand in one domain, as many are placed as it needs, one of them instead of another.
func TestGangNeedsNotAllOfAPart(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
	if err != nil {
		t.Fatal(err)
	}
	step := func(now cluster.Time, events ...cluster.Event) []sched.Decision {
		out, _, err := core.Step(now, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := cluster.Vector{1}
	placed := step(0,
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Capacity: cluster.Vector{3}, Groups: []cluster.Label{{Key: "rack", Value: "r"}}}},
		cluster.ConstraintDefined{Constraint: 0, Spec: schedtest.OneDomain("part", "rack")},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: one}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: one, Tags: []string{"part"}}},
		cluster.JobSubmitted{Job: 0, Name: "low"},
		cluster.TaskSubmitted{Task: 0, Job: 0, Shape: 0, Priority: 1},
	)
	out := step(cluster.Second,
		cluster.TaskStarted{Task: 0, Attempt: placed[0].Attempt, Node: 0},
		cluster.JobSubmitted{Job: 1, Name: "gang", Gang: 3},
		cluster.TaskSubmitted{Task: 1, Seq: 1, Job: 1, Shape: 0, Priority: 5},
		cluster.TaskSubmitted{Task: 2, Seq: 2, Job: 1, Shape: 0, Priority: 5},
		cluster.TaskSubmitted{Task: 3, Seq: 3, Job: 1, Shape: 1, Priority: 5},
		cluster.TaskSubmitted{Task: 4, Seq: 4, Job: 1, Shape: 1, Priority: 5},
	)
	evicted := 0
	for _, d := range out {
		if d.Kind == sched.Evict && d.Task == 0 {
			evicted++
		}
	}
	if lacks := cluster.GangLacks(core.View(), 1); evicted != 1 || lacks > 0 {
		t.Errorf("of a gang of 3 with 4 tasks %d lack, and the less important one is evicted %d times; want none and once:\n%s", lacks, evicted, core.View().Picture())
	}
}
