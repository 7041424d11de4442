package sim_test

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/workload"
)

// Ten minutes of a made-up cluster under one policy.
func Example() {
	google := workload.Default()
	google.Nodes, google.TasksPerNode = 100, 8
	source, err := workload.New(google)
	if err != nil {
		panic(err)
	}
	policy, err := queue.New("kube", queue.Options{Seed: 1})
	if err != nil {
		panic(err)
	}
	result, err := sim.Run(sim.Config{
		Source: source, Until: 10 * cluster.Minute, Lanes: []sched.Lane{{Name: "kube", Policy: policy}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Tasks.Submitted == result.Tasks.Finished+result.Tasks.Running+result.Tasks.Pending)
	fmt.Println(result.Nodes)
	// Output:
	// true
	// 100
}
