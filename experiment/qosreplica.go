package experiment

import (
	"errors"
	"fmt"
	"io"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is for whoever runs a validation test of QoS-driven scheduling elsewhere than here, as its
// authors did on Kubernetes: the requests that are to come, and the simulator beside that run, on what
// came when, at the same pace.

// ValidationRequests are the requests of a validation test, v1 or v2, by their classes and in the order
// in which they come: that of its authors, if data is the folder that holds it, or else a random one.
func ValidationRequests(test, data string, seed uint64) ([]string, error) {
	for _, v := range []validation{firstTest(), secondTest()} {
		if v.name != test {
			continue
		}
		if data == "" {
			return classesOf(v.shuffled(seed))
		}
		source, err := v.stored(data)
		if err != nil {
			return nil, err
		}
		return classesOf(source)
	}
	return nil, fmt.Errorf("there is no validation test %q; there are v1 and v2", test)
}

// classesOf reads the requests of a source, and closes it.
func classesOf(source trace.Source) (requests []string, err error) {
	defer func() { err = errors.Join(err, source.Close()) }()
	table := class.Google()
	for {
		var r trace.Record
		switch err := source.Next(&r); {
		case errors.Is(err, io.EOF):
			return requests, nil
		case err != nil:
			return nil, err
		case r.What == trace.TaskSubmitted:
			requests = append(requests, table.Classes[table.ByPriority(r.Task.Priority)].Name)
		}
	}
}

// ValidationClasses are the classes of the validation tests with that margin, where time goes so many times as fast.
func ValidationClasses(margin cluster.Time, pace int64) *class.Table {
	table := validationClasses(margin)
	for i := range table.Classes {
		c := &table.Classes[i]
		c.Margin, c.Restart = c.Margin/cluster.Time(pace), c.Restart/cluster.Time(pace)
	}
	return table
}

// Replica is a validation test that was run elsewhere, to be simulated.
type Replica struct {
	Policy  string
	Trigger sched.Trigger
	Classes *class.Table
	// Requests came at the times of Arrivals, in order.
	Requests []string
	Arrivals []cluster.Time
	// First is how long allocations took of requests that had not run yet, Again how long others did; each allocation draws one.
	First, Again []cluster.Time
	// Leave is how long runs went on that were told to leave, and Anew how long it took then until their requests waited again; each eviction draws one of each.
	Leave, Anew []cluster.Time
	// Bursts are how long each start and each leaving took, by when and in the order in which they were decided: whoever was told at once is gone at about the same time, which draws from all would tear apart. Without them each draws from all.
	Bursts []Burst
	// Kept is for how long of an eviction and the start after it a request had a place in the eyes of whoever counted, on average.
	Kept cluster.Time
	// Until is when the run ended.
	Until cluster.Time
}

// Burst is how long starts and leaving took that were decided from a moment on, as in Replica; those of all count where it has none.
type Burst struct {
	From                      cluster.Time
	First, Again, Leave, Anew []cluster.Time
}

// Fared is what became of the requests.
type Fared struct {
	Preemptions  int
	Availability map[string][]float64 // of each request of the class
}

// Simulate runs the test here.
func (r *Replica) Simulate(seed uint64) (Fared, error) {
	c := simulation{
		line: "replica", policy: r.Policy, options: policies.Options{}, source: "replica",
		open:    func() (trace.Source, error) { return r.open() },
		trigger: r.Trigger, planner: sim.Zero, until: r.Until,
		promise: &promise{classes: r.Classes, table: "google", overheads: "as measured", toTheEnd: true, world: sim.World{
			Seed: seed, KeepWork: true, Overheads: r.overheads(Burst{}), Later: r.later(),
		}},
	}
	out, err := c.run(&Options{Seed: seed})
	if err != nil {
		return Fared{}, fmt.Errorf("simulate the validation test: %w", err)
	}
	fared := Fared{Preemptions: out.run.Tasks.Preempted, Availability: map[string][]float64{}}
	for i, accounts := range out.accounts {
		for _, a := range accounts {
			name := out.classes[i].Name
			fared.Availability[name] = append(fared.Availability[name], r.availability(&a))
		}
	}
	return fared, nil
}

// overheads are those of a burst, and of all where it has none of a kind.
func (r *Replica) overheads(b Burst) sim.Overheads {
	or := func(own, all []cluster.Time) []cluster.Time {
		if len(own) == 0 {
			return all
		}
		return own
	}
	again := or(b.Again, r.Again)
	return sim.Overheads{Hot: again, Cold: again, First: or(b.First, r.First), Leave: or(b.Leave, r.Leave), Anew: or(b.Anew, r.Anew)}
}

func (r *Replica) later() (later []sim.LaterOverheads) {
	for _, b := range r.Bursts {
		later = append(later, sim.LaterOverheads{From: b.From, Overheads: r.overheads(b)})
	}
	return later
}

// availability is the share of its time that a request had a place. An account counts leaving and starting alike, and of these it had one for as long as Kept says.
func (r *Replica) availability(a *cluster.Account) float64 {
	if a.Age() == 0 {
		return 1
	}
	had := float64(a.Running)
	if took := meanTime(r.Leave) + meanTime(r.Again); took > 0 {
		had += float64(a.Restarting) * float64(r.Kept) / took
	}
	return had / float64(a.Age())
}

// meanTime is the mean of times; 0 of none.
func meanTime(times []cluster.Time) float64 {
	sum := 0.0
	for _, t := range times {
		sum += float64(t)
	}
	return sum / float64(max(1, len(times)))
}

// open is the requests as they came.
func (r *Replica) open() (trace.Source, error) {
	if len(r.Requests) != len(r.Arrivals) {
		return nil, fmt.Errorf("%d requests came at %d times", len(r.Requests), len(r.Arrivals))
	}
	nodes := (&validation{}).shuffled(0)
	return &replayed{requests: nodes, replica: r}, nil
}

// replayed is the hosts of the tests, and then the requests of a replica.
type replayed struct {
	*requests // of which there are none
	replica   *Replica
	came      int
}

// Next gives the hosts, and then the requests.
func (r *replayed) Next(next *trace.Record) error {
	err := r.requests.Next(next)
	if !errors.Is(err, io.EOF) || r.came == len(r.replica.Requests) {
		return err
	}
	*next = trace.Record{Time: r.replica.Arrivals[r.came], What: trace.TaskSubmitted, Task: trace.Task{
		Job: uint64(r.came + 1), JobTasks: 1, Promise: r.replica.Requests[r.came], Work: cluster.Never, Service: true,
		Demand: cluster.Vector{r.hosts.CPU / 10, r.hosts.Memory / 10},
	}}
	r.came++
	return nil
}
