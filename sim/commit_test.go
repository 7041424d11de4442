package sim

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// A measured round costs all that it took. Here nothing takes time but commits, two
// seconds each. The first task arrives at 0 and begins at 2; the second one arrives
// at 4, its victim hears of it at 6 and waits, with 4 of its 10 seconds of work done,
// until 11; the commit of its round takes until 13, and it ends at 19. Where planner
// time is not measured, commits only stand among what it really took.
func TestCommitTakesTime(t *testing.T) {
	for _, c := range []struct {
		time                             PlannerTime
		latency, response, charged, wall float64 // seconds
	}{
		{Measured, 2, 19, 8, 8},
		{Ticks, 0, 15, 0, 8},
	} {
		now, readings := cluster.Time(0), 0
		clock := func() cluster.Time {
			if readings++; readings%4 == 0 { // after the commit of each round
				now += 2 * cluster.Second
			}
			return now
		}
		r, err := Run(Config{Source: contest(), Lanes: lane(t, "priority"), World: World{KeepWork: true}, Planner: Planner{Time: c.time, Clock: clock}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []struct {
			what string
			got  report.Number
			want float64
		}{
			{"latency", r.PlacementLatency.Max, c.latency},
			{"response", r.TaskResponse.Max, c.response},
			{"charged time", r.Planner.Seconds, c.charged},
			{"wall time", r.Planner.Wall, c.wall},
		} {
			if math.Abs(float64(v.got)-v.want) > 0.001 {
				t.Errorf("planner time %d: %s is %v s, want %v", c.time, v.what, v.got, v.want)
			}
		}
	}
}

// While commits take time, the world goes on: nodes fail under what was decided, runs
// end that were told to leave, and the books agree all the same.
func TestCommitsInAHostileWorld(t *testing.T) {
	preempted := 0
	for seed := range uint64(10) {
		faults := Hostile()
		faults.NodeLoss, faults.Foreign = 10*cluster.Minute, 20*cluster.Second
		faults.BindLate, faults.BindRefused, faults.Twice = 100, 100, 200
		now := cluster.Time(0)
		clock := func() cluster.Time {
			now += 300 * cluster.Millisecond
			return now
		}
		r, err := Run(Config{
			Source: story(12, 600), Lanes: lane(t, "priority"), World: World{Seed: seed, Faults: faults}, Until: 2 * cluster.Hour,
			Planner: Planner{Time: Measured, Clock: clock},
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if r.Tasks.Finished != 600 {
			t.Errorf("seed %d: %+v", seed, r.Tasks)
		}
		preempted += r.Tasks.Preempted
	}
	if preempted == 0 {
		t.Error("no run was told to leave; the world is dull")
	}
}
