package setup_test

import (
	"fmt"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
)

// A program reads a spec, runs it, and looks at the results.
func Example() {
	spec, err := setup.Read("run.yaml", []byte(`
source: {cluster: 'synthetic:google?nodes=20&tasks-per-node=4'}
policies: [{name: kube}, {name: sparrow, options: {tie_break: lowest}}]
limits: {until: 10m}
`))
	if err != nil {
		panic(err)
	}
	plan, err := spec.Plan(policies.All())
	if err != nil {
		panic(err)
	}
	for _, run := range plan.Runs() {
		source, err := plan.Sources.Open(run.Seed)
		if err != nil {
			panic(err)
		}
		config, err := plan.Config(run, source, setup.Env{})
		if err != nil {
			panic(err)
		}
		result, err := sim.Run(config)
		if err != nil {
			panic(err)
		}
		fmt.Println(result.Policy, result.Tasks.Submitted == result.Tasks.Running+result.Tasks.Finished+result.Tasks.Pending)
	}
	// Output:
	// kube true
	// sparrow true
}
