package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// TestShapeGivenAnew has the row of a shape that nothing has room for mean another one before the next round, under every policy: for the
// task that waited with it, which has been another shape meanwhile, or for a new task. Either is looked for by what it asks for now.
func TestShapeGivenAnew(t *testing.T) {
	for _, info := range policies.All() {
		for _, same := range []bool{true, false} {
			policy, err := policies.New(info.Name, policies.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory", PerUnit: 1}}, nil), sched.Lane{Name: "all", Policy: policy})
			if err != nil {
				t.Fatal(err)
			}
			var out []sched.Decision
			now := cluster.Time(0)
			step := func(in ...cluster.Event) {
				for range 10 { // as some policies decide in several rounds
					var more []sched.Decision
					if more, _, err = core.Step(now, in, nil); err != nil {
						t.Fatal(err)
					}
					out, in, now = append(out, more...), nil, now+cluster.Second
				}
			}
			step(
				cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4, 4}}},
				cluster.JobSubmitted{Name: "first"},
				cluster.JobSubmitted{Job: 1, Name: "second"},
				cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{3, 9}}},
				cluster.TaskSubmitted{Task: 0, Seq: 0, Shape: 0})
			if len(out) > 0 {
				t.Fatalf("%s places %+v, which does not fit", info.Name, out)
			}
			anew := []cluster.Event{
				cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{3, 8}}},
				cluster.TaskReshaped{Task: 0, Shape: 1},
				cluster.ShapeForgotten{Shape: 0},
				cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}}},
			}
			want := cluster.TaskID(1)
			if same {
				anew, want = append(anew, cluster.TaskReshaped{Task: 0, Shape: 0}), 0
			} else {
				anew = append(anew, cluster.TaskSubmitted{Task: 1, Seq: 1, Job: 1, Shape: 0})
			}
			step(anew...)
			if len(out) != 1 || out[0].Task != want {
				t.Errorf("%s, the same task %v: %+v, want task %d placed", info.Name, same, out, want)
			}
		}
	}
}
