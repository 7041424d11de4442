package explain_test

import (
	"fmt"
	"os"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/explain"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// Two nodes of 4 cores run a task of 3 cores each, and a third one waits: why it does, and what one
// more node would be worth.
func Example() {
	deciding, fresh := spreading(), spreading()
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}}
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "all", Policy: deciding})
	if err != nil {
		panic(err)
	}
	events := []cluster.Event{
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{4000}}},
		cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n2", Capacity: cluster.Vector{4000}}},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{3000}}},
		cluster.JobSubmitted{Name: "web"},
	}
	for i := range 3 {
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i)})
	}
	if _, _, err := core.Step(0, events, nil); err != nil {
		panic(err)
	}

	moment, err := explain.New(core, cluster.Second, []explain.Lane{{Policy: "load-spreading", Fresh: fresh}}, explain.Who{})
	if err != nil {
		panic(err)
	}
	answer, err := moment.Answer(explain.Question{})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Waiting[0].Example, "waits:", answer.Waiting[0].Why)
	if err := (explain.Text{Lines: 10}).Write(os.Stdout, answer); err != nil {
		panic(err)
	}
	// Output:
	// web#2 waits: 0 of 2 nodes take it: 2 lack cpu (needs 3, left at most 1)
	// At 1s 1 task waits:
	// TASKS  SUCH AS  NEED   WHY
	// 1      web#2    cpu 3  0 of 2 nodes take it: 2 lack cpu (needs 3, left at most 1); it would fit with 2 more cpu free on any of 2 nodes
	//
	// One more node, the kind that saves most by the prices of load-spreading first:
	// LIKE  OF ITS KIND  HAS    WOULD LET RUN
	// n1    2            cpu 4  1 task
}

func spreading() sched.Policy {
	p, err := policies.New("load-spreading", policies.Options{})
	if err != nil {
		panic(err)
	}
	return p
}
