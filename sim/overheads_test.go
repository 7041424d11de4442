package sim

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestLaterOverheads: what is decided before the first moment draws by chance; what is decided later takes one after the other, and from the beginning again at the next moment.
func TestLaterOverheads(t *testing.T) {
	second := cluster.Second
	world := &World{
		Overheads: Overheads{Leave: []cluster.Time{9}},
		Later: []LaterOverheads{
			{From: 10 * second, Overheads: Overheads{Leave: []cluster.Time{1, 2}, Hot: []cluster.Time{7}}},
			{From: 20 * second, Overheads: Overheads{Leave: []cluster.Time{4, 5}}},
		},
	}
	disordered := Config{Source: contest(), Lanes: lane(t, "priority"), World: World{Later: []LaterOverheads{world.Later[1], world.Later[0]}}}
	if err := disordered.Validate(); err == nil {
		t.Error("later overheads may come in any order")
	}
	o := overheads{world: world, dice: newDice(1)}
	for i, step := range []struct {
		now  cluster.Time
		kind overhead
		want cluster.Time
	}{
		{0, leavesAfter, 9},
		{9 * second, hotStart, 0},
		{10 * second, leavesAfter, 1},
		{10 * second, hotStart, 7},
		{11 * second, leavesAfter, 2},
		{12 * second, leavesAfter, 1},
		{13 * second, coldStart, 0},
		{20 * second, leavesAfter, 4},
		{20 * second, hotStart, 0},
		{30 * second, leavesAfter, 5},
	} {
		if got := o.next(step.now, step.kind); got != step.want {
			t.Errorf("step %d: what is decided at %v takes %v, want %v", i, step.now, got, step.want)
		}
	}
}

// TestMadeAnew: who was evicted waits again, and may be placed again, once somebody has made it anew.
func TestMadeAnew(t *testing.T) {
	for _, c := range []struct {
		anew cluster.Time
		want float64 // when the victim ends, in seconds
	}{
		{cluster.Second, 9 + 10},      // it is back before the other has ended
		{7 * cluster.Second, 11 + 10}, // 7 s after it left at 4 s
	} {
		r, err := Run(Config{Source: contest(), Lanes: lane(t, "priority"), World: World{Overheads: Overheads{Anew: []cluster.Time{c.anew}}}, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(r.TaskResponse.Max); got < c.want-0.001 || got > c.want+0.001 || r.Tasks.Finished != 2 {
			t.Errorf("made anew after %v, the victim ends at %v s, want %v", c.anew, got, c.want)
		}
	}
}
