package experiment

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/qos"
)

// This file is the world of the validation tests of QoS-driven scheduling (JISA
// 2020): 20 hosts with room for 10 requests each, a request a second until there are
// more than fit, an hour in which nobody ends.

// validation is one of the two tests.
type validation struct {
	name                 string
	gold, silver, bronze int
}

// firstTest and secondTest are the tests as their authors stored them.
func firstTest() validation  { return validation{name: "v1", gold: 80, silver: 80, bronze: 96} }
func secondTest() validation { return validation{name: "v2", silver: 221} }

// The priorities by which the stored workloads say gold, silver and bronze.
const (
	goldPriority   = 11
	silverPriority = 7
	bronzePriority = 1
)

// file is where the data hold the stored order.
func (v *validation) file(data string) string {
	return filepath.Join(data, "qos", v.name+"-workload.txt")
}

// stored opens the workload in the order of its authors.
func (v *validation) stored(data string) (trace.Source, error) {
	file := v.file(data)
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("the data: %w; the folder qos holds the workloads of the validation", err)
	}
	return qos.Open(file, qos.Default())
}

// shuffled is the same construction in a random order.
func (v *validation) shuffled(seed uint64) *requests {
	hosts := qos.Default()
	s := &requests{hosts: hosts}
	for _, c := range []struct {
		priority int32
		count    int
	}{{goldPriority, v.gold}, {silverPriority, v.silver}, {bronzePriority, v.bronze}} {
		for range c.count {
			s.priorities = append(s.priorities, c.priority)
		}
	}
	rand.New(rand.NewPCG(seed, 0x905)).Shuffle(len(s.priorities), func(i, j int) {
		s.priorities[i], s.priorities[j] = s.priorities[j], s.priorities[i]
	})
	return s
}

// requests is a source of hosts, and then of a request a second, each a tenth of a
// host.
type requests struct {
	hosts      qos.Options
	priorities []int32
	given      int
}

// Kinds are those of the stored workloads.
func (r *requests) Kinds() []cluster.Kind { return (&qos.Source{}).Kinds() }

// Next gives the hosts, and then the requests.
func (r *requests) Next(next *trace.Record) error {
	i := r.given - r.hosts.Hosts
	r.given++
	switch {
	case i < 0:
		*next = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(r.given), Capacity: cluster.Vector{r.hosts.CPU, r.hosts.Memory}}}
	case i < len(r.priorities):
		*next = trace.Record{Time: cluster.Time(i) * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i + 1), JobTasks: 1, Priority: r.priorities[i], Work: 2 * cluster.Hour,
			Demand: cluster.Vector{r.hosts.CPU / 10, r.hosts.Memory / 10},
		}}
	default:
		return io.EOF
	}
	return nil
}

// Close does nothing.
func (r *requests) Close() error { return nil }

// validationLength is how long the tests take.
const validationLength = cluster.Hour

// meanRestart is how long the authors' runs took on average to begin anew, in the
// first test.
const meanRestart = 2_371_070 * cluster.Microsecond

// validationClasses are the classes with that margin.
func validationClasses(margin cluster.Time) *class.Table {
	table := class.Google()
	for i := range table.Classes {
		table.Classes[i].Margin, table.Classes[i].Restart = margin, meanRestart
	}
	return table
}

// promiseOf is the classes with that margin, in a world that keeps the work of who is
// evicted. The first allocation of a request takes no time, each further one 2 s or
// 3 s, of which 2 s is the more frequent, as in the files that the authors measured.
func promiseOf(margin cluster.Time, seed uint64) *promise {
	again := make([]cluster.Time, 1000)
	for i := range again {
		again[i] = 2 * cluster.Second
		if i >= 629 {
			again[i] = 3 * cluster.Second
		}
	}
	return &promise{
		classes: validationClasses(margin), table: fmt.Sprintf("google, margin %v, restart %v", margin, meanRestart), overheads: "first=0s, then 2s (629 of 1,000) or 3s",
		world: sim.World{
			Seed: seed, KeepWork: true,
			Overheads: sim.Overheads{Hot: again, Cold: again, First: []cluster.Time{0}},
		},
	}
}

// ignoringOutcomes is when the authors' schedulers run: when a request comes or goes, and so long
// after the last run if some wait.
func ignoringOutcomes(watchdog cluster.Time) sched.Trigger {
	return sched.Trigger{Watchdog: watchdog, IgnoreOutcomes: true}
}
