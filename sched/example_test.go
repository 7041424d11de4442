package sched_test

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

// Events in, decisions out: a node and a task appear, and the core says where
// the task runs. That it runs there is the world's to report.
func Example() {
	policy, err := queue.New("kube", queue.Options{Seed: 1})
	if err != nil {
		panic(err)
	}
	state := cluster.NewState([]cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}}, nil)
	core, err := sched.New(state, sched.Lane{Name: "all", Policy: policy})
	if err != nil {
		panic(err)
	}
	decisions, _, err := core.Step(0, []cluster.Event{
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{4000}}},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{500}}},
		cluster.JobSubmitted{Job: 0, Name: "web"},
		cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0, Shape: 0},
	}, nil)
	if err != nil {
		panic(err)
	}
	for _, d := range decisions {
		fmt.Println(d.Kind, state.TaskName(d.Task), "on", state.NodeSpec(d.Node).Name, "attempt", d.Attempt)
	}
	_, _, err = core.Step(cluster.Second, []cluster.Event{cluster.TaskStarted{Task: 0, Attempt: 1, Node: 0}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Print(state.Picture())
	// Output:
	// place web#1 on n1 attempt 1
	// n1  cpu 0.5/4  web#1:running
}
