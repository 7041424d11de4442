package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the comparison of the flow by slack, which has a switching cost, with the
// algorithm of QoS-driven scheduling, on that paper's validation tests and on the same
// with requests of three sizes (specification of the unified policy, §3.2 and §5 (4)).

func switchings() []Experiment {
	return []Experiment{{
		Name: "qos-flow", What: "what a switching cost is worth in both validations, with one size and three",
		Paper:    "QoS-driven scheduling, JISA 11 (2020), validations 1 and 2",
		Policies: []string{"qos", "qos-flow"}, Free: true, setUp: setUpSwitchings,
	}}
}

// setting is a test with requests of one size or of several.
type setting struct {
	test    validation
	unequal bool
}

func settings() []setting {
	return []setting{{firstTest(), false}, {firstTest(), true}, {secondTest(), false}, {secondTest(), true}}
}

func (s *setting) String() string {
	if s.unequal {
		return s.test.name + ", three sizes"
	}
	return s.test.name + ", one size"
}

// unequalHosts is how many hosts there are where a third of each class asks for one
// slot, a third for two and a third for four.
const unequalHosts = 47

// lastHost is how many slots the last of these has, so that what was promised to all
// is to all slots as where each asks for one: in the first test as much as there is,
// 464 slots, in the second 99.5 % of 465.
func (v *validation) lastHost() int64 {
	if v.gold > 0 {
		return 4
	}
	return 5
}

// open is the requests in a random order.
func (s *setting) open(seed uint64) trace.Source {
	r := s.test.shuffled(seed)
	if !s.unequal {
		return r
	}
	r.hosts.Hosts = unequalHosts
	given := &sized{requests: r, last: s.test.lastHost(), chance: rand.New(rand.NewPCG(seed, 0x512e)), left: map[int32][]int64{}}
	for _, priority := range []int32{goldPriority, silverPriority, bronzePriority} {
		of := 0
		for _, p := range r.priorities {
			if p == priority {
				given.left[priority] = append(given.left[priority], int64(1)<<(of%3))
				of++
			}
		}
		sizes := given.left[priority]
		given.chance.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	}
	return given
}

// sized is requests whose sizes are drawn: for each class as many of each.
type sized struct {
	*requests
	last   int64 // slots of the last host
	chance *rand.Rand
	left   map[int32][]int64 // by priority: the sizes of those to come
}

// Next gives the hosts, and then the requests.
func (s *sized) Next(next *trace.Record) error {
	if err := s.requests.Next(next); err != nil {
		return err
	}
	if next.What == trace.NodeAdded {
		if s.given == s.hosts.Hosts {
			next.Node.Capacity = cluster.Vector{s.hosts.CPU / 10 * s.last, s.hosts.Memory / 10 * s.last}
		}
		return nil
	}
	sizes := s.left[next.Task.Priority]
	s.left[next.Task.Priority] = sizes[1:]
	next.Task.Demand = cluster.Vector{next.Task.Demand[0] * sizes[0], next.Task.Demand[1] * sizes[0]}
	return nil
}

func setUpSwitchings(o *Options) (*plan, error) {
	orders := of(o.Size, 20, 5, 1)
	p := &plan{
		data: fmt.Sprintf("20 hosts of 10 slots and a request a second, or %d hosts and requests of 1, 2 and 4 slots; %d random orders, seeds from %d", unequalHosts, orders, o.Seed),
		facts: []string{
			"Nobody ends within the hour. A request is evicted with its work kept; to begin anew takes 2 s or 3 s, the first time no time. The margin is 30 s.",
			"Each policy plans when it wants to: qos when a request comes and after 30 s, qos-flow when a price changes.",
		},
	}
	for _, s := range settings() {
		for _, name := range o.Policies {
			info, err := policies.Find(name)
			if err != nil {
				return nil, err
			}
			for i := range uint64(orders) {
				seed := o.Seed + i
				p.cases = append(p.cases, simulation{
					line: s.String(), at: report.Number(seed), policy: name,
					open: func() (trace.Source, error) { return s.open(seed), nil }, source: fmt.Sprintf("qos %v, seed %d", &s, seed),
					trigger: info.When, planner: sim.Zero, until: validationLength, promise: promiseOf(asStored, seed),
				})
			}
		}
	}
	p.conclude = concludeSwitchings
	return p, nil
}

// concludeSwitchings puts the policies beside each other, with intervals over the orders.
func concludeSwitchings(all []outcome, r *report.Reproduction) {
	for len(all) > 0 {
		first, count := &all[0], 0
		for count < len(all) && all[count].line == first.line {
			count++
		}
		runs := all[:count]
		all = all[count:]
		var base []outcome
		figure := report.Figure{
			Title: "Availability of the requests, " + first.line + ", first order", Cumulative: true,
			X: report.Axis{Label: "availability", Unit: report.InShares}, Y: report.Axis{Label: "share of the class", Unit: report.InShares},
		}
		for len(runs) > 0 {
			seeds := 0
			for seeds < len(runs) && runs[seeds].policy == runs[0].policy {
				seeds++
			}
			r.Compared = append(r.Compared, overSeeds(base, runs[:seeds])...)
			for _, k := range runs[0].kept() {
				figure.Lines = append(figure.Lines, distribution(runs[0].policy+", "+k.name, k.rising))
			}
			if base == nil {
				base = runs[:seeds]
			}
			runs = runs[seeds:]
		}
		r.Figures = append(r.Figures, figure)
	}
}

// overSeeds is what the runs of a policy gave, and by how much that differs from the base
// on the same orders, if there is one.
func overSeeds(base, runs []outcome) []report.Compared {
	var rows []report.Compared
	for _, m := range measures(&runs[0]) {
		sample := func(runs []outcome) (list []float64) {
			for i := range runs {
				list = append(list, m.of(&runs[i]))
			}
			return list
		}
		digits := m.digits()
		interval := func(i report.Interval) string {
			return fmt.Sprintf(digits+" to "+digits, float64(i.Low), float64(i.High))
		}
		values := sample(runs)
		mean := report.MeanOf(values)
		note := fmt.Sprintf("mean %s; all "+digits+" to "+digits, interval(mean), slices.Min(values), slices.Max(values))
		if len(base) == len(runs) {
			d := report.PairedDifference(sample(base), values)
			note += fmt.Sprintf("; against %s "+digits+" (%s)", base[0].policy, float64(d.Mean), interval(d))
		}
		rows = append(rows, report.Compared{What: fmt.Sprintf("%s, %s, %s", runs[0].line, runs[0].policy, m.what), Unit: m.unit, Ours: &mean.Mean, Note: note})
	}
	return rows
}
