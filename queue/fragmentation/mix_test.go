package fragmentation_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
)

// slowWaste is the definition of fragmentation of a kind, shape by shape and device by
// device: of the quantities of ten that are left of each.
func slowWaste(typical []fragmentation.Typical, admits []bool, left *fragmentation.Left, kind int) (waste int64) {
	ask := func(q int64) (share int64, count int) {
		if q > 10 {
			return 10, int(q / 10)
		}
		return q, min(int(q), 1)
	}
	for i, t := range typical {
		unusable := t.Demand[1+kind] == 0 || !admits[i] || t.Demand[0] > left.CPU
		for k, free := range left.Devices {
			share, count := ask(t.Demand[1+k])
			for _, q := range free {
				if q >= share {
					count--
				}
			}
			unusable = unusable || count > 0
		}
		share, _ := ask(t.Demand[1+kind])
		for _, q := range left.Devices[kind] {
			if unusable || q < share {
				waste += int64(t.Tasks) * q
			}
		}
	}
	return waste
}

// Mix measures what the definition says, of as many kinds as there are.
func TestWaste(t *testing.T) {
	for _, count := range []int{1, 2, 3} {
		kinds := []cluster.Kind{{Name: "cpu"}}
		for i := range count {
			kinds = append(kinds, cluster.Kind{Name: string(rune('a' + i)), PerUnit: 10, Devices: true})
		}
		rapid.Check(t, func(t *rapid.T) {
			var typical []fragmentation.Typical
			var admits []bool
			for range rapid.IntRange(1, 8).Draw(t, "shapes") {
				demand := cluster.Vector{rapid.Int64Range(0, 5).Draw(t, "cpu")}
				for range count {
					demand = append(demand, rapid.SampledFrom([]int64{0, 1, 4, 6, 10, 20, 30}).Draw(t, "devices"))
				}
				typical = append(typical, fragmentation.Typical{Demand: demand, Tasks: rapid.IntRange(1, 9).Draw(t, "tasks")})
				admits = append(admits, rapid.Bool().Draw(t, "admits"))
			}
			left := fragmentation.Left{CPU: rapid.Int64Range(0, 5).Draw(t, "free cpu")}
			for range count {
				left.Devices = append(left.Devices, rapid.SliceOfN(rapid.Int64Range(0, 10), 0, 5).Draw(t, "free"))
			}
			for kind, got := range fragmentation.NewMix(kinds, typical).Waste(admits, &left) {
				if want := slowWaste(typical, admits, &left, kind); got != want {
					t.Errorf("waste of %d of kind %d, want %d", got, kind, want)
				}
			}
		})
	}
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
	mix := fragmentation.NewMix(kinds, nil)
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
	if given := fragmentation.NewMix(kinds, []fragmentation.Typical{{Demand: cluster.Vector{1, 4}, Tasks: 3}}); given.Learn(&s.View, 1) || given.Tasks() != 3 {
		t.Error("a mix that was given learns")
	}
}
