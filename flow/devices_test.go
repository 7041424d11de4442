package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// counted is a solver that counts how often it solves.
type counted struct {
	flow.Solver
	solves *int
}

func (c counted) Solve(o mcmf.Options) mcmf.Result {
	*c.solves++
	return c.Solver.Solve(o)
}

// newDevices is a stage whose second kind comes in devices of 4, and the number of solves.
func newDevices(tb rapid.TB, devices int64) (*stage, *int) {
	tb.Helper()
	solves := new(int)
	p := flow.New(&spread.Model{}, flow.Options{Name: "load-spreading", Solver: func(g *mcmf.Graph) flow.Solver {
		return counted{mcmf.NewSolver(g), solves}
	}})
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "gpu", Devices: true, PerUnit: 4}}
	core, err := sched.New(cluster.NewState(kinds, promises()), sched.Lane{Name: "flow", Policy: p})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	st := &stage{tb: tb, core: core}
	st.node(cluster.Vector{100, 4 * devices})
	return st, solves
}

// TestDevicesHaveSlots fills four devices by tasks of one size in a round: as many as the devices
// hold, found by a few solves and not by one for each task.
func TestDevicesHaveSlots(t *testing.T) {
	for _, tc := range []struct{ gpu, hold int64 }{{1, 16}, {2, 8}, {3, 4}, {4, 4}, {8, 2}, {12, 1}} {
		t.Run(fmt.Sprint("gpu=", tc.gpu), func(t *testing.T) {
			st, solves := newDevices(t, 4)
			job, shape := st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{1, tc.gpu}})
			for range 20 {
				st.task(job, shape)
			}
			st.mustStep()
			if placed := 20 - st.waiting(); placed != int(tc.hold) || *solves > 2 {
				t.Errorf("%d tasks are placed by %d solves, want %d by 2 at most", placed, *solves, tc.hold)
			}
		})
	}
}

// TestDevicesAreUsedUp lets tasks of several sizes come and go: when a round ends nobody waits whom
// the node would admit.
func TestDevicesAreUsedUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st, _ := newDevices(rt, rapid.Int64Range(1, 5).Draw(rt, "devices"))
		job := st.job()
		var shapes []cluster.ShapeID
		for _, gpu := range []int64{0, 1, 2, 3, 4, 8} {
			shapes = append(shapes, st.shape(cluster.Shape{Demand: cluster.Vector{1, gpu}}))
		}
		var live []cluster.TaskID
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 6).Draw(rt, "tasks") {
				live = append(live, st.task(job, rapid.SampledFrom(shapes).Draw(rt, "shape")))
			}
			st.mustStep()
			s := st.core.View()
			for _, task := range live {
				if s.Task(task).Phase == cluster.Waiting && !s.Admits(task, 0).Refused() {
					rt.Fatalf("task %d waits, and the node would admit it", task)
				}
			}
			live = slices.DeleteFunc(live, func(task cluster.TaskID) bool {
				ends := s.Task(task).Phase == cluster.Running && rapid.Bool().Draw(rt, "ends")
				if ends {
					st.end(task)
				}
				return ends
			})
		}
	})
}
