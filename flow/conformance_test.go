package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/slack"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// budgeted is a policy whose rounds have budgets of all sizes, in turn.
type budgeted struct {
	*flow.Policy
	round int64
}

func (p *budgeted) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	p.round++
	p.Policy.Plan(t, c, []int64{1, 40, 0, 200, 1000}[p.round%5], out)
}

// TestBudgetConformance puts flow policies that pack into a hostile world that cuts their rounds.
func TestBudgetConformance(t *testing.T) {
	for _, m := range watchedModels() {
		if m.stages != nil && !slices.Contains(m.stages, flow.Pack) || m.name == "load-spreading" {
			continue
		}
		t.Run(fmt.Sprintf("%s/moves=%d", m.name, m.moves), func(t *testing.T) {
			schedtest.Conformance(t, func(seed uint64) sched.Policy {
				o := flow.Options{Name: m.name, Moves: m.moves, Stages: m.stages}
				return &budgeted{Policy: flow.New(m.model(), o), round: int64(seed)}
			})
		})
	}
}

// TestConformance puts flow policies into a hostile world.
func TestConformance(t *testing.T) {
	for _, policy := range []struct {
		name   string
		moves  int
		model  func() flow.Model
		stages []flow.Stage
	}{
		{"load-spreading", 0, func() flow.Model { return &spread.Model{} }, nil},
		{"cpu-mem", 0, func() flow.Model { return &cpumem.Model{} }, nil},
		{"quincy", 0, func() flow.Model { return quincy.New(quincy.Standard()) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"quincy", 2, func() flow.Model { return quincy.New(quincy.Standard()) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"qos-flow", 0, func() flow.Model { return slack.New(slack.Standard()) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"qos-flow in haste", 0, func() flow.Model { return slack.New(slack.Options{}) }, []flow.Stage{flow.Spread, flow.Preempt}},
		{"qos-flow with all stages", 0, func() flow.Model { return slack.New(slack.Standard()) }, flow.Stages()},
		{"quincy with all stages", 0, func() flow.Model { return quincy.New(quincy.Standard()) }, flow.Stages()},
		{"quincy, some may move", 2, func() flow.Model { return mixed{quincy.New(quincy.Standard())} }, flow.Stages()},
	} {
		t.Run(fmt.Sprintf("%s/moves=%d", policy.name, policy.moves), func(t *testing.T) {
			schedtest.Conformance(t, func(uint64) sched.Policy {
				return flow.New(policy.model(), flow.Options{Name: policy.name, Moves: policy.moves, Stages: policy.stages})
			})
		})
	}
}
