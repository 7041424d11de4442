package flow_test

import (
	"testing"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestConformance puts flow policies into a hostile world.
func TestConformance(t *testing.T) {
	for name, model := range map[string]func() flow.Model{
		"load-spreading": func() flow.Model { return &spread.Model{} },
		"cpu-mem":        func() flow.Model { return &cpumem.Model{} },
		"quincy":         func() flow.Model { return quincy.New(quincy.Standard()) },
	} {
		t.Run(name, func(t *testing.T) {
			schedtest.Conformance(t, func(uint64) sched.Policy {
				return flow.New(model(), flow.Options{Name: name})
			})
		})
	}
}
