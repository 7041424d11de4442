package bandwidth_test

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/bandwidth"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

func policy(string) (sched.Policy, error) {
	return flow.New(&bandwidth.Model{}, flow.Options{Name: "network-aware"}), nil
}

// TestConformance puts the policy into a hostile world, which has no such kind.
func TestConformance(t *testing.T) {
	schedtest.Conformance(t, func(uint64) sched.Policy {
		p, _ := policy("")
		return p
	})
}

func TestScenarios(t *testing.T) { schedtest.RunScenarios(t, "testdata", policy) }

func TestKind(t *testing.T) {
	for _, tc := range []struct {
		kinds []string
		want  int
	}{
		{nil, -1},
		{[]string{"cpu", "memory"}, -1},
		{[]string{"cpu", "bandwidth"}, 1},
		{[]string{"cpu", "network-bandwidth", "bandwidth"}, 1},
		{[]string{"Network", "cpu"}, 0},
		{[]string{"disk-bandwidth", "subnetwork"}, -1},
	} {
		var kinds []cluster.Kind
		for _, name := range tc.kinds {
			kinds = append(kinds, cluster.Kind{Name: name})
		}
		if got := bandwidth.Kind(kinds); got != tc.want {
			t.Errorf("of %v it is %d, want %d", tc.kinds, got, tc.want)
		}
	}
}

// cluster1 is a state with a node of so much bandwidth, of which a task asks for 200, and
// with shapes that ask for nothing, 100, and more than any price can tell.
func cluster1(t *testing.T, perUnit int64, usage cluster.Vector) *cluster.View {
	t.Helper()
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "bandwidth", PerUnit: perUnit}}, nil)
	events := []cluster.Event{
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{10, 1000}}},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1, 0}}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1, 100}}},
		cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{1, cluster.MaxQuantity}}},
		cluster.ShapeDefined{Shape: 3, Spec: cluster.Shape{Demand: cluster.Vector{1, 200}}},
		cluster.JobSubmitted{Job: 0, Name: "j"},
		cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0, Shape: 3},
		cluster.TaskFound{Task: 0, Seq: 1, Node: 0},
		cluster.TaskSubmitted{Task: 1, Seq: 2, Job: 0, Shape: 1},
	}
	if usage != nil {
		events = append(events, cluster.UsageReported{Node: 0, Usage: usage})
	}
	for _, e := range events {
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	return &s.View
}

// TestInto works prices out by hand: the i-th task costs i times its request, less what
// is left.
func TestInto(t *testing.T) {
	for _, tc := range []struct {
		name    string
		perUnit int64
		usage   cluster.Vector
		shape   cluster.ShapeID
		want    []flow.Cost // of the first
	}{
		{"as requested", 1, nil, 1, []flow.Cost{100 - 800, 200 - 800, 300 - 800}},
		{"less is used", 1, cluster.Vector{0, 50}, 1, []flow.Cost{100 - 800, 200 - 800}},
		{"more is used", 1, cluster.Vector{0, 700}, 1, []flow.Cost{100 - 300, 200 - 300, 0, 400 - 300}},
		{"more than there is", 1, cluster.Vector{0, 1300}, 1, []flow.Cost{100 + 300, 200 + 300}},
		{"no request", 1, nil, 0, []flow.Cost{-800}},
		{"in thousandths of a unit", 50_000, nil, 1, []flow.Cost{-14, -12, -10}},
		{"beyond all prices", 1, nil, 2, []flow.Cost{1 << 38, 1 << 38}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := cluster1(t, tc.perUnit, tc.usage)
			m := &bandwidth.Model{}
			_, curve := m.Into(s, tc.shape, 0)
			var got []flow.Cost
			for _, step := range curve {
				got = append(got, step.Cost)
			}
			if !slices.Equal(got[:min(len(got), len(tc.want))], tc.want) {
				t.Errorf("prices are %v, want %v at first", got, tc.want)
			}
			if wait := m.Terms(s, 1).Wait; !slices.IsSorted(got) || got[len(got)-1] >= wait {
				t.Errorf("prices are %v, want them to rise, and to stay below that of waiting, %d", got, wait)
			}
		})
	}
}

// TestExplain wants terms that add up to the price.
func TestExplain(t *testing.T) {
	s := cluster1(t, 1, cluster.Vector{0, 700})
	m := &bandwidth.Model{}
	if got, want := fmt.Sprint(m.Explain(s, 1, 0)), "[{requested bandwidth 100} {bandwidth left there -300}]"; got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
	none := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	if got := m.Explain(&none.View, 0, 0); got != nil {
		t.Errorf("without bandwidth it says %v, want nothing", got)
	}
}
