package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// TestEvictionRefusedForEver holds every policy that evicts to looking elsewhere: two nodes
// are full of bronze, gold comes, and whoever is chosen first is not let go, now or ever.
// The other one has to leave instead, and nobody is asked twice.
func TestEvictionRefusedForEver(t *testing.T) {
	ran := 0
	for _, info := range policies.All() {
		if !info.Evicts {
			continue
		}
		ran++
		t.Run(info.Name, func(t *testing.T) {
			w := newRefusing(t, info)
			for range 400 {
				w.step()
				if w.core.View().Task(gold).Phase == cluster.Running {
					break
				}
			}
			state := w.core.View()
			if phase := state.Task(gold).Phase; phase != cluster.Running {
				t.Fatalf("gold is %s at %v, want it to run; evictions asked %v", phase, w.now, w.asked)
			}
			if state.Task(w.firm).Phase != cluster.Running || w.asked[w.firm] != 1 {
				t.Errorf("who refused is %s and was asked %d times, want it to run, and one time", state.Task(w.firm).Phase, w.asked[w.firm])
			}
		})
	}
	if ran < 4 {
		t.Errorf("%d policies evict, want at least 4", ran)
	}
}

// The tasks of this world: one on each of two nodes, and who comes.
const gold = cluster.TaskID(2)

// refusing is a world in which the first run that is told to leave stays for ever.
type refusing struct {
	t     *testing.T
	core  *sched.Core
	now   cluster.Time
	in    []cluster.Event
	firm  cluster.TaskID
	asked map[cluster.TaskID]int
}

func newRefusing(t *testing.T, info policies.Info) *refusing {
	t.Helper()
	policy, err := policies.New(info.Name, policies.Options{Seed: 1, Migrations: 1})
	if err != nil {
		t.Fatal(err)
	}
	classes := []cluster.Class{
		{Name: "bronze", Importance: 2, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2},
		{Name: "gold", Importance: 0, Availability: cluster.Whole},
	}
	w := &refusing{t: t, asked: map[cluster.TaskID]int{}, firm: gold}
	w.core, err = sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, classes), sched.Lane{Name: "all", Policy: policy, When: info.When})
	if err != nil {
		t.Fatal(err)
	}
	w.in = []cluster.Event{
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{4}}},
		cluster.JobSubmitted{Job: 0, Name: "bronze"},
		cluster.JobSubmitted{Job: 1, Name: "gold"},
	}
	for i := range 2 {
		n, task := cluster.NodeID(i), cluster.TaskID(i)
		w.in = append(w.in,
			cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}},
			cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(i + 1), Gated: true},
			cluster.TaskFound{Task: task, Seq: cluster.Seq(i + 1), Node: n},
		)
	}
	w.step()
	w.now += cluster.Hour // so that bronze has time to spare
	w.in = append(w.in, cluster.TaskSubmitted{Task: gold, Seq: 3, Job: 1, Class: 1, Priority: 10})
	return w
}

// step is one call on the core, and what comes of it.
func (w *refusing) step() {
	in := w.in
	w.in = nil
	out, wake, err := w.core.Step(w.now, in, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range out {
		switch {
		case d.Kind == sched.Place:
			w.in = append(w.in, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		case w.firm == gold || w.firm == d.Task:
			w.firm = d.Task
			w.asked[d.Task]++
			w.in = append(w.in,
				cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt},
				cluster.TaskProtected{Task: d.Task, Attempt: d.Attempt, Until: cluster.Never, Reason: "a budget"},
			)
		default:
			w.in = append(w.in, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
	if len(w.in) == 0 && wake != cluster.Never {
		w.now = max(w.now, wake)
	}
}
