package flow_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/slack"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestConformance puts flow policies into a hostile world.
func TestConformance(t *testing.T) {
	for _, policy := range []struct {
		name  string
		moves int
		model func() flow.Model
	}{
		{"load-spreading", 0, func() flow.Model { return &spread.Model{} }},
		{"cpu-mem", 0, func() flow.Model { return &cpumem.Model{} }},
		{"quincy", 0, func() flow.Model { return quincy.New(quincy.Standard()) }},
		{"quincy", 2, func() flow.Model { return quincy.New(quincy.Standard()) }},
		{"qos-flow", 0, func() flow.Model { return slack.New(slack.Standard()) }},
		{"qos-flow in haste", 0, func() flow.Model { return slack.New(slack.Options{}) }},
	} {
		t.Run(fmt.Sprintf("%s/moves=%d", policy.name, policy.moves), func(t *testing.T) {
			schedtest.Conformance(t, func(uint64) sched.Policy {
				return flow.New(policy.model(), flow.Options{Name: policy.name, Moves: policy.moves})
			})
		})
	}
}
