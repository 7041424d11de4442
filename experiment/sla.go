package experiment

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the experiments of "A Resource Allocation Framework with Qualitative and
// Quantitative SLA Classes" (Euro-Par 2018 Workshops; specs/sla-classes.md, §6): 90
// containers of 300 s with one core, on 15 nodes of 32 cores, five of each tier.
//
// The paper's table 1 is lost, so that no number stands as published. In the notes are
// those of an emulation of its rules that was made for the specification. Of its four patterns two are fully known;
// of Google's and Prezi's only how many containers each class has, and the span of time.

// The set-up.
const (
	slaNodes      = 15
	slaCores      = 32
	slaContainers = 90
	slaTime       = 300 * cluster.Second // SLT, with one core
	slaStop       = 10 * cluster.Second  // when nodes stop
)

func slaExperiments() []Experiment {
	const paper = "SLA classes, Euro-Par 2018 Workshops, "
	return []Experiment{
		{Name: "sla-same-time", What: "cores by class; 30 containers of each at once", Paper: paper + "figure 2 and table 1", Policies: []string{"sla"}, setUp: slaPattern(sameTime())},
		{Name: "sla-online", What: "cores by class; one container of each every 3 s", Paper: paper + "figure 3 and table 1", Policies: []string{"sla"}, setUp: slaPattern(online())},
		{Name: "sla-google", What: "cores by class; 2 Premium and 88 Advanced containers", Paper: paper + "figure 4 and table 1", Policies: []string{"sla"}, setUp: slaPattern(likeGoogle())},
		{Name: "sla-prezi", What: "cores by class; 10, 13 and 67 containers within 27 s", Paper: paper + "figure 5 and table 1", Policies: []string{"sla"}, setUp: slaPattern(likePrezi())},
		{Name: "sla-node-stop", What: "what copies save when a node of each tier stops", Paper: paper + "redundancy", Policies: []string{"sla"}, setUp: setUpNodeStop},
	}
}

// pattern is when containers of which class arrive.
type pattern struct {
	name     string
	data     string // what is known of it
	arrivals func(seed uint64) []arrival
	emulated map[string][cluster.Levels]report.Number // by variant: Premium, Advanced, Best effort
}

// arrival is a container that is submitted.
type arrival struct {
	at    cluster.Time
	class int // index into class.SLA
}

// The variants of table 1.
const (
	oneCopy = "tiers, one copy"
	copies  = "tiers, 3/2/1 copies"
	noTiers = "no tiers, one copy"
)

func sameTime() pattern {
	return pattern{
		name: "same time", data: "30 containers of each class at 0 s",
		arrivals: func(uint64) (list []arrival) {
			for i := range slaContainers {
				list = append(list, arrival{class: i % cluster.Levels})
			}
			return list
		},
		emulated: map[string][cluster.Levels]report.Number{oneCopy: {23.7, 12.7, 5.6}, copies: {23.8, 12.9, 5.6}, noTiers: {22, 15.6, 1}},
	}
}

func online() pattern {
	return pattern{
		name: "every 3 s", data: "one container of each class every 3 s",
		arrivals: func(uint64) (list []arrival) {
			for i := range slaContainers {
				list = append(list, arrival{cluster.Time(i/cluster.Levels) * 3 * cluster.Second, i % cluster.Levels})
			}
			return list
		},
		emulated: map[string][cluster.Levels]report.Number{oneCopy: {32, 21, 10}, copies: {24.8, 14.6, 10}, noTiers: {32, 21, 10}},
	}
}

func likeGoogle() pattern {
	return pattern{
		name: "Google", data: "2 Premium and 88 Advanced containers at 0 s: the classes of the 90 rows that the authors took; their times are not known, and ours are made up: the first rows of Google's trace are what is there when it begins",
		arrivals: func(seed uint64) []arrival { return shuffled(seed, 0, 2, 88, 0) },
		emulated: map[string][cluster.Levels]report.Number{oneCopy: {32, 11.9}, copies: {32, 11.7}, noTiers: {32, 15.3}},
	}
}

func likePrezi() pattern {
	return pattern{
		name: "Prezi", data: "10, 13 and 67 containers: the classes of the 90 rows that the authors took; their times are not known, and ours are drawn from whole seconds of the same 27",
		arrivals: func(seed uint64) []arrival { return shuffled(seed, 27, 10, 13, 67) },
		emulated: map[string][cluster.Levels]report.Number{oneCopy: {32, 17.2, 3.1}, copies: {30.4, 17.7, 3.1}, noTiers: {28.3, 16.1, 5.6}},
	}
}

// shuffled are so many containers of each class at seconds from 0 to the last, by chance.
func shuffled(seed uint64, last int64, counts ...int) []arrival {
	chance := rand.New(rand.NewPCG(seed, 0x51a)) //nolint:gosec // no secret
	var list []arrival
	for level, count := range counts {
		for range count {
			list = append(list, arrival{cluster.Time(chance.Int64N(last+1)) * cluster.Second, level})
		}
	}
	chance.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	return list
}

// slaTable is the table of classes of a variant.
func slaTable(variant string) *class.Table {
	t := class.SLA()
	for i := range t.Classes {
		if variant != copies {
			t.Classes[i].Replicas = 1
		}
		if variant == noTiers {
			t.Classes[i].Tier = 0
		}
	}
	return t
}

// slaSource is the nodes, the containers, and the nodes that stop.
type slaSource struct {
	records []trace.Record
}

func newSLASource(list []arrival, stop ...int) *slaSource {
	s := &slaSource{}
	for i := range slaNodes {
		s.records = append(s.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(i), Capacity: cluster.Vector{slaCores}, Tier: int32(cluster.Levels - i*cluster.Levels/slaNodes),
		}})
	}
	for i, a := range list {
		name := class.SLA().Classes[a.class].Name
		s.records = append(s.records, trace.Record{Time: a.at, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i + 1), JobTasks: 1, User: name, Promise: name, Demand: cluster.Vector{1}, Work: slaTime,
		}})
	}
	for _, n := range stop {
		s.records = append(s.records, trace.Record{Time: slaStop, What: trace.NodeLost, Node: trace.Node{ID: uint64(n)}})
	}
	slices.SortStableFunc(s.records, func(a, b trace.Record) int { return cmp.Compare(a.Time, b.Time) })
	return s
}

// Kinds are cores alone.
func (s *slaSource) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}}
}

// Next fills in the next record.
func (s *slaSource) Next(r *trace.Record) error {
	if len(s.records) == 0 {
		return io.EOF
	}
	*r, s.records = s.records[0], s.records[1:]
	return nil
}

// Close has nothing to close.
func (s *slaSource) Close() error { return nil }

// slaCase is a run of the pattern in a variant, and what watches it.
func slaCase(p pattern, variant string, seed uint64, stop ...int) simulation {
	watch := &placements{done: map[string]report.Number{}}
	return simulation{
		line: variant, policy: "sla", open: func() (trace.Source, error) { return newSLASource(p.arrivals(seed), stop...), nil },
		source: fmt.Sprintf("%d nodes of %d cores, %d containers, %s", slaNodes, slaCores, slaContainers, p.name), planner: sim.Zero,
		promise: &promise{classes: slaTable(variant), table: "sla, " + variant, world: sim.World{Seed: seed}}, watch: watch,
		around: func(policy sched.Policy) sched.Policy {
			watch.policy = policy
			return watch
		},
	}
}

// slaPattern sets a pattern up in each variant.
func slaPattern(p pattern) func(*Options) (*plan, error) {
	return func(o *Options) (*plan, error) {
		made := &plan{
			whole: true,
			data:  fmt.Sprintf("%s; on %d nodes of %d cores, five of each tier; seed %d", p.data, slaNodes, slaCores, o.Seed),
			facts: []string{
				"The paper's table 1 is lost. Below are the numbers of an emulation of its rules, made for the specification.",
				"Deciding takes no time. A container works for 300 s over its cores.",
			},
		}
		for _, variant := range []string{oneCopy, copies, noTiers} {
			made.cases = append(made.cases, slaCase(p, variant, o.Seed))
		}
		made.conclude = func(all []outcome, r *report.Reproduction) { concludePattern(p, all, r) }
		return made, nil
	}
}

// concludePattern gives table 1, and the charts of the order in which containers begin.
func concludePattern(p pattern, all []outcome, r *report.Reproduction) {
	names := class.SLA().Names()
	for i := range all {
		o := &all[i]
		cores := report.Figure{
			Title: "Cores of each container in the order in which they begin, " + o.line,
			X:     report.Axis{Label: "place in the order", Unit: report.InTasks}, Y: report.Axis{Label: "cores", Unit: report.InCores},
		}
		begin := report.Figure{
			Title: "Containers that have begun, " + o.line,
			X:     report.Axis{Label: "time", Unit: report.InSeconds}, Y: report.Axis{Label: "containers", Unit: report.InTasks},
		}
		for level, name := range names {
			average, known := o.watch.cores(name)
			if !known {
				continue
			}
			r.Compared = append(r.Compared, report.Compared{
				What: fmt.Sprintf("average cores, %s, %s", name, o.line), Unit: report.InCores, Ours: &average,
				Note: fmt.Sprintf("an emulation of the paper's rules: %g", float64(p.emulated[o.line][level])),
			})
			lines := o.watch.order(name)
			cores.Lines, begin.Lines = append(cores.Lines, lines[0]), append(begin.Lines, lines[1])
		}
		r.Figures = append(r.Figures, cores, counted(begin))
	}
}
