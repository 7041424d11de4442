package experiment

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// fullness is a model of the prices in the table that is nowhere dearer: how full the
// node is with the task and others of its group alone, without how unequally.
type fullness struct{}

func (fullness) Terms(*cluster.View, cluster.TaskID) flow.Terms {
	return flow.Terms{Wait: waitPrice, Next: cluster.Never}
}

func (fullness) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) { arcs.Aggregator(0, 0) }

func (fullness) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	limit, used, demand := s.Limit(n), s.Used(n), s.Shape(shape).Demand
	var curve flow.Curve
	for i := range int64(64) {
		a, b := 1000*(used[0]+demand[0]*(i+1))/limit[0], 1000*(used[1]+demand[1]*(i+1))/limit[1]
		curve = append(curve, flow.Step{Capacity: 1, Cost: (a + b) / 2 / 2})
	}
	return 0, curve
}

// gapOf is a policy that keeps its first gap.
type gapOf struct {
	sched.Policy
	gap sched.Gap
}

func (g *gapOf) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	g.Policy.Plan(t, c, budget, out)
	if !g.gap.Known() {
		g.gap = out.Gap
	}
}

// TestMultiResourceBound compares the bound of a round with what every safe scheme of
// the table costs. It says more than that so many tasks must wait.
func TestMultiResourceBound(t *testing.T) {
	for _, load := range []struct{ percent, tasks int }{{70, 894}, {95, 1304}, {110, 1479}} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("load=%d/seed=%d", load.percent, seed), func(t *testing.T) {
				in := newVectors(100, load.tasks, load.percent, seed)
				g := &gapOf{Policy: flow.New(fullness{}, flow.Options{Name: "fullness"})}
				ours := in.judge(t, "fullness", decideVectors(t, in, g))
				t.Logf("%v: value %d, bound %d (%d.%d %% of it); at least %d of %d that wait", g.gap.Omits,
					g.gap.Value, g.gap.Bound, g.gap.Bound*100/g.gap.Value, g.gap.Bound*1000/g.gap.Value%10, in.leastWaiting(), ours.waiting)
				if !g.gap.Known() || g.gap.Value < g.gap.Bound {
					t.Errorf("%+v is no gap", g.gap)
				}
				if forced := int64(in.leastWaiting()) * waitPrice; g.gap.Bound <= forced {
					t.Errorf("the bound is %d, no more than the %d of tasks that must wait", g.gap.Bound, forced)
				}
				for _, s := range vectorSchemes() {
					if !s.safe {
						continue
					}
					r := in.judge(t, s.name, s.run(t, in))
					t.Logf("%-26s %d waiting, %d", s.name, r.waiting, r.cost)
					if r.cost < g.gap.Bound {
						t.Errorf("%s costs %d, the bound is %d", s.name, r.cost, g.gap.Bound)
					}
				}
			})
		}
	}
}
