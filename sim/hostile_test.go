package sim_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

// worst is more of everything than sim.Hostile, in a world of few nodes.
func worst() sim.Faults {
	f := sim.Hostile()
	f.NodeLoss, f.Foreign, f.Grace = 3*cluster.Hour, 30*cluster.Second, 2*cluster.Minute
	f.BindRefused, f.BindLate, f.EvictLate, f.EvictRefused, f.Twice, f.Late = 100, 200, 700, 200, 300, 200
	return f
}

// hostileSeeds reads the seeds that once went wrong, and adds more where there
// is time.
func hostileSeeds(t *testing.T) []uint64 {
	t.Helper()
	file, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	var seeds []uint64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), " ")
		if text == "" || text == "#" {
			continue
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	if len(seeds) == 0 {
		t.Fatal("no seeds")
	}
	if os.Getenv("FAIRLEAD_LONG") != "" {
		for seed := range uint64(100) {
			seeds = append(seeds, 1000+seed)
		}
	}
	if testing.Short() {
		return seeds[:1]
	}
	return seeds
}

// A crowded cluster in a world in which everything goes wrong, under every
// policy that places tasks: the checkers, which are part of Run, find nothing. Those of the family flow take
// several times as long, and have a quarter of the time with the first of the seeds.
func TestNothingIsLostInAHostileWorld(t *testing.T) {
	for i, seed := range append(hostileSeeds(t), withCards) {
		list := policies.All().Of(policies.Queue)
		if i == 0 {
			list = append(list, policies.All().Of(policies.Flow)...)
		}
		for _, info := range list {
			length := cluster.Hour
			if info.Family == policies.Flow {
				length /= 4
			}
			for name, faults := range map[string]sim.Faults{"hostile": sim.Hostile(), "worst": worst()} {
				t.Run(fmt.Sprintf("%s/seed=%d/%s", info.Name, seed, name), func(t *testing.T) {
					t.Parallel()
					runHostile(t, info.Name, seed, length, faults)
				})
			}
		}
	}
}

// withCards is the seed of a world with a second kind in devices.
const withCards = 104

// devices gives nodes of a source up to four GPUs each, and has some tasks ask
// for a share of one, or for one or two; and if so asked with network cards as well.
type devices struct {
	trace.Source
	cards bool
}

func (d devices) Kinds() []cluster.Kind {
	kinds := append(slices.Clone(d.Source.Kinds()), cluster.Kind{Name: "gpu", Unit: "GPUs", PerUnit: 1000, Devices: true})
	if d.cards {
		kinds = append(kinds, cluster.Kind{Name: "nic", Unit: "cards", PerUnit: 100, Devices: true})
	}
	return kinds
}

func (d devices) Next(r *trace.Record) error {
	if err := d.Source.Next(r); err != nil {
		return err
	}
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		r.Node.Capacity = append(slices.Clone(r.Node.Capacity), int64(r.Node.ID%5)*1000)
		if d.cards {
			r.Node.Capacity = append(r.Node.Capacity, int64(r.Node.ID%3+1)*100)
		}
	case trace.TaskSubmitted:
		shares := []int64{0, 0, 0, 0, 250, 400, 700, 1000, 1000, 2000}
		r.Task.Demand = append(slices.Clone(r.Task.Demand), shares[(r.Task.Job+uint64(r.Task.Index))%uint64(len(shares))])
		if d.cards {
			cards := []int64{0, 25, 60, 0, 100, 0, 200}
			r.Task.Demand = append(r.Task.Demand, cards[(r.Task.Job+uint64(r.Task.Index))%uint64(len(cards))])
		}
	default: // says nothing of amounts
	}
	return nil
}

func runHostile(t *testing.T, policy string, seed uint64, length cluster.Time, faults sim.Faults) {
	t.Helper()
	google := workload.Default()
	google.Nodes, google.TasksPerNode, google.Seed = 120, 11, seed
	source, err := workload.New(google)
	if err != nil {
		t.Fatal(err)
	}
	data := workload.DefaultData()
	data.Layout, data.Rack, data.Seed = workload.Layouts()[seed%4], 7, seed
	if source, err = workload.WithData(source, data); err != nil {
		t.Fatal(err)
	}
	p, err := policies.New(policy, policies.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	usage := sim.DefaultUsage()
	usage.Every = 10 * cluster.Minute // each measurement lets waiting tasks look at the node again
	r, err := sim.Run(sim.Config{
		Source: devices{source, seed == withCards}, Until: length, Lanes: []sched.Lane{{Name: policy, Policy: p}},
		World: sim.World{Seed: seed, Faults: faults, Usage: usage, Overheads: sim.Overheads{Hot: []cluster.Time{cluster.Second}, Cold: []cluster.Time{5 * cluster.Second}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tasks.Placed == 0 || faults.Late > sim.Hostile().Late && r.Tasks.Evicted == 0 {
		t.Errorf("nothing happened: %+v", r.Tasks)
	}
	if r.Reads == nil || r.Reads.Runs == 0 || r.Reads.Local == 0 || r.Reads.Rack == 0 || r.Reads.Remote == 0 {
		t.Errorf("nothing was read: %+v", r.Reads)
	}
}
