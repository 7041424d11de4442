package cluster_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// slowWaste is the definition of fragmentation, shape by shape and device by
// device.
func slowWaste(typical []cluster.Typical, admits []bool, cpu int64, free []int64) (waste int64) {
	for i, t := range typical {
		share, count := t.Demand[1], int64(1)
		if share > 10 {
			share, count = 10, t.Demand[1]/10
		}
		enough := int64(0)
		for _, q := range free {
			if q >= share {
				enough++
			}
		}
		unusable := t.Demand[1] == 0 || !admits[i] || t.Demand[0] > cpu || enough < count
		for _, q := range free {
			if unusable || q < share {
				waste += int64(t.Tasks) * q
			}
		}
	}
	return waste
}

// Mix measures what the definition says.
func TestWaste(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "gpu", PerUnit: 10, Devices: true}}
	rapid.Check(t, func(t *rapid.T) {
		var typical []cluster.Typical
		var admits []bool
		for range rapid.IntRange(1, 8).Draw(t, "shapes") {
			typical = append(typical, cluster.Typical{
				Demand: cluster.Vector{rapid.Int64Range(0, 5).Draw(t, "cpu"), rapid.SampledFrom([]int64{0, 1, 4, 6, 10, 20, 30}).Draw(t, "gpu")},
				Tasks:  rapid.IntRange(1, 9).Draw(t, "tasks"),
			})
			admits = append(admits, rapid.Bool().Draw(t, "admits"))
		}
		cpu := rapid.Int64Range(0, 5).Draw(t, "free cpu")
		free := rapid.SliceOfN(rapid.Int64Range(0, 10), 0, 5).Draw(t, "free")
		got, want := cluster.NewMix(kinds, typical).Waste(admits, cpu, free), slowWaste(typical, admits, cpu, free)
		if got != want {
			t.Errorf("waste of %d, want %d", got, want)
		}
	})
}

// A mix that learns is made anew after 1, 2, 4 … tasks, and leaves out the rare
// shapes once the others cover 95 % of the tasks.
func TestMixLearns(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "gpu", PerUnit: 10, Devices: true}}
	s := cluster.NewState(kinds, nil)
	apply := func(e cluster.Event) {
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	apply(cluster.JobSubmitted{})
	for i, gpu := range []int64{4, 20} {
		apply(cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{1, gpu}}})
	}
	mix := cluster.NewMix(kinds, nil)
	var anew []int
	for i := 1; i <= 64; i++ {
		shape := cluster.ShapeID(0)
		if i == 1 || i == 7 {
			shape = 1
		}
		task := cluster.TaskID(i)
		apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(i), Shape: shape})
		if mix.Learn(&s.View, task) {
			anew = append(anew, i)
		}
		if mix.Learn(&s.View, task) {
			t.Errorf("task %d counts twice", i)
		}
		if i == 32 && mix.Tasks() != 32 {
			t.Errorf("of 32 tasks %d count, want all: 30 are 94 %%", mix.Tasks())
		}
	}
	if want := []int{1, 2, 4, 8, 16, 32, 64}; !slices.Equal(anew, want) {
		t.Errorf("the mix is made anew after %v tasks, want %v", anew, want)
	}
	if mix.Tasks() != 62 {
		t.Errorf("of 64 tasks %d count, want the 62 alike: 97 %%", mix.Tasks())
	}
	if given := cluster.NewMix(kinds, []cluster.Typical{{Demand: cluster.Vector{1, 4}, Tasks: 3}}); given.Learn(&s.View, 1) || given.Tasks() != 3 {
		t.Error("a mix that was given learns")
	}
}
