package sim_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/keeper"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// TestNobodyStarvesForNodesThatAreOff: under every policy (medea where there is time), and two of them in lanes of their own, in worlds in which everything goes wrong and nodes are switched off as soon as may be, all tasks end.
// They come in bursts with quiet times between them, so that most nodes are off when the next one comes: some ask for GPUs, for labels, for nodes of their own beside others of their job,
// or come in gangs; and constraints have some keep to racks of their own, spread over racks, or stay in one, which counting room does not see.
func TestNobodyStarvesForNodesThatAreOff(t *testing.T) {
	seeds, long := uint64(1), os.Getenv("FAIRLEAD_LONG") != ""
	if long {
		seeds = 40
	}
	lanes := [][]string{{"serial", "kube"}, {"tag-popularity", "fairlead"}, {"fairlead", "priority"}}
	for _, name := range policies.All().Names() {
		if long || name != "medea" { // which searches for seconds
			lanes = append(lanes, []string{name})
		}
	}
	for seed := range seeds {
		for _, names := range lanes {
			for name, faults := range map[string]sim.Faults{"none": {}, "hostile": sim.Hostile(), "worst": worst()} {
				t.Run(fmt.Sprintf("%s/seed=%d/%s", strings.Join(names, "+"), seed, name), func(t *testing.T) {
					t.Parallel()
					endsAll(t, names, seed, faults)
				})
			}
		}
	}
}

// lanesOf are lanes of the policies; of two the first is for applications.
func lanesOf(t *testing.T, names []string, seed uint64) (lanes []sched.Lane) {
	t.Helper()
	for _, name := range names {
		info, err := policies.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policies.New(name, policies.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		lanes = append(lanes, sched.Lane{Name: name, Policy: p, When: info.When})
	}
	if len(lanes) > 1 {
		lanes[0].Owns = func(j *cluster.Job) bool { return j.LongRunning }
	}
	return lanes
}

func endsAll(t *testing.T, names []string, seed uint64, faults sim.Faults) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0x6f66)) //nolint:gosec // no secret
	rules := keeper.Rules{OffAfter: cluster.Minute, Wake: cluster.Time(random.Int64N(int64(3 * cluster.Minute))), Keep: random.IntN(3)}
	r, err := sim.Run(sim.Config{
		Source: bursts(random, len(names) > 1), Lanes: lanesOf(t, names, seed),
		World: sim.World{Seed: seed, Faults: faults, Power: power.Openb(), Switches: rules, KeepWork: true, Overheads: sim.Overheads{Cold: []cluster.Time{cluster.Second}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tasks.Finished != r.Tasks.Submitted {
		t.Errorf("%+v after %v s; %v", r.Tasks, r.Simulated, r.Examples)
	}
	if faults == (sim.Faults{}) && r.PlacementLatency.Max > 1800 {
		t.Errorf("somebody waited for %v s", r.PlacementLatency.Max)
	}
	if s := r.Power.Switched; s.Times < 12 || s.Off.Hours < 2 {
		t.Errorf("hardly anything was switched off: %+v", s)
	}
}

// recorded is a source of records that are held in memory.
type recorded struct {
	kinds   []cluster.Kind
	records []trace.Record
}

func (l *recorded) Kinds() []cluster.Kind { return l.kinds }
func (l *recorded) Close() error          { return nil }
func (l *recorded) Next(r *trace.Record) error {
	if len(l.records) == 0 {
		return io.EOF
	}
	*r, l.records = l.records[0], l.records[1:]
	return nil
}

// bursts are 24 nodes in four racks, one after the other, each third with GPUs, and four bursts of tasks, an hour apart, some of them applications if there are to be any.
func bursts(random *rand.Rand, applications bool) *recorded {
	l := &recorded{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "gpu", PerUnit: 1000, Devices: true}}}
	for i := range 24 {
		rack := fmt.Sprintf("r%d", i/6)
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(i), Capacity: cluster.Vector{8000, int64(i%3/2) * 4000}, Labels: []cluster.Label{{Key: "rack", Value: rack}}, Groups: []cluster.Label{{Key: "rack", Value: rack}},
		}})
	}
	job := uint64(0)
	for burst := range cluster.Time(4) {
		for range 8 {
			job++
			count := 1 + random.IntN(6)
			task := trace.Task{
				Job: job, JobTasks: uint32(count), User: "ann", Priority: int32(random.IntN(11)), Demand: cluster.Vector{500 * (1 + random.Int64N(8)), 0},
				Work: cluster.Time(1 + random.Int64N(int64(5*cluster.Minute))),
			}
			switch random.IntN(8) {
			case 0:
				task.Demand[1] = []int64{300, 1000, 2000, 4000}[random.IntN(4)]
			case 1:
				task.Requirements = []cluster.Requirement{{Key: "rack", Value: fmt.Sprintf("r%d", random.IntN(4))}}
			case 2:
				task.PerNode = 1
			case 3:
				if count > 1 {
					task.Gang = int32(count)
				}
			case 4, 5, 6: // small ones, which stay until the end of the day
				task.LongRunning = applications
				task.Tags, task.Demand[0], task.Work = []string{fmt.Sprintf("job%d", job)}, 500, 5*cluster.Hour
				count = 1 + random.IntN(4)
				task.JobTasks = uint32(count)
				l.records = append(l.records, trace.Record{Time: burst * cluster.Hour, What: trace.ConstraintAdded, Constraint: byRack(task.Tags, random.IntN(3))})
			default:
			}
			for i := range count {
				task.Index = uint32(i)
				l.records = append(l.records, trace.Record{Time: burst * cluster.Hour, What: trace.TaskSubmitted, Task: task})
			}
		}
	}
	return l
}

// byRack keeps those with the tags to racks of their own, has them spread over racks, or stay in one.
func byRack(tags []string, how int) cluster.Constraint {
	b := cluster.Bound{Subject: tags, Target: tags, Group: "rack"}
	switch how {
	case 1:
		b.Max, b.OverFewest = 1, true
	case 2:
		b.Min, b.Max, b.OrFirst = 1, math.MaxInt32, true
	default:
	}
	return cluster.Constraint{Name: tags[0], Hard: true, Any: [][]cluster.Bound{{b}}, Arriving: how > 0}
}
