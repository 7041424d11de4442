package experiment

import (
	"fmt"
	"path/filepath"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/dlrm"
	"fairlead.dev/fairlead/sim/trace/openb"
)

// This file places the pods of Alibaba's traces as long-running applications, under the
// anti-affinity that they really have, on as few nodes as can be, and counts the nodes beside
// those that policies take which place one pod after another.

func setUpTraces(o *Options) (*plan, error) {
	snapshots, published, err := traceSnapshots(o)
	if err != nil {
		return nil, err
	}
	ticks := of[int64](o.Size, 400_000_000, 20_000_000, 500_000)
	p := &plan{
		real: published, data: "at the moment of the most instances, all at once:",
		facts: []string{
			effortFact(ticks),
			"Of the constraint scheduler's plans a node in use costs a tenth of a violation. serial is where the search begins, largest applications first; kube and best-fit take pods as they come, in the simulator.",
			"A service is an application, placed whole or not at all, and max_instance_per_node is a constraint on its instances; to kube and best-fit it is a hard limit.",
		},
	}
	results := map[string][]placed{} // by snapshot
	for i := range snapshots {
		s := &snapshots[i]
		p.data += fmt.Sprintf(" %s, %d instances on %d nodes;", s.what, len(s.tasks), len(s.nodes))
		for _, name := range o.Policies {
			if name != withSearch && name != "serial" {
				p.cases = append(p.cases, simulation{
					line: s.name, policy: name, open: s.open, source: s.name, planner: sim.Zero, until: cluster.Minute,
				})
				continue
			}
			c := contender{line: name, policy: name}
			p.steps = append(p.steps, step{fmt.Sprintf("%s, %s", c.line, s.name), func() error {
				out, err := c.solve(s.problem(), o.Seed, ticks)
				results[s.name] = append(results[s.name], out)
				return err
			}})
		}
	}
	p.data += fmt.Sprintf(" seed %d", o.Seed)
	p.conclude = func(all []outcome, r *report.Reproduction) {
		c := &census{figure: report.Figure{
			Title: "Nodes in use", X: report.Axis{Label: "trace, in the order in which they are named"}, Y: report.Axis{Label: "nodes in use", Unit: report.InNodes},
		}}
		for i := range snapshots {
			c.snapshot = &snapshots[i]
			c.at++
			c.planned(results[c.name])
			c.simulated(all)
			c.nodes("no fewer could do, if all are placed", fewest(c.problem()))
		}
		r.Compared, r.Figures = c.rows, []report.Figure{c.figure}
	}
	return p, nil
}

// traceSnapshots are the moments of the published traces, or of what is made up in their place.
func traceSnapshots(o *Options) (all []snapshot, published bool, err error) {
	if o.Data == "" || o.Size != Full {
		return []snapshot{*drawServices(of(o.Size, 1000, 200, 30), o.Seed)}, false, nil
	}
	services, err := dlrm.Open(filepath.Join(o.Data, "alibaba-dlrm", "disaggregated_DLRM_trace.csv.gz"), dlrm.Default())
	if err != nil {
		return nil, true, fmt.Errorf("the data: %w", err)
	}
	pods, err := openb.Open(filepath.Join(o.Data, "alibaba-openb"), openb.Default())
	if err != nil {
		return nil, true, fmt.Errorf("the data: %w", err)
	}
	for _, from := range []struct {
		name, what string
		source     trace.Source
	}{
		{"DLRM", "Alibaba's trace of recommendation models (2025), services of instances with their real anti-affinity, on nodes that are made up", services},
		{"openb", "Alibaba's list of pods on GPUs (2023), each an application of its own, as it names no owners and has no anti-affinity", pods},
	} {
		s := snapshot{name: from.name, what: from.what}
		if err := s.take(from.source); err != nil {
			return nil, true, err
		}
		all = append(all, s)
	}
	return all, true, nil
}

// census counts nodes and instances, snapshot by snapshot.
type census struct {
	*snapshot
	at     int // its place, from 1
	rows   []report.Compared
	figure report.Figure
}

func (c *census) row(what, policy string, unit report.Unit, v int) {
	c.rows = append(c.rows, report.Compared{What: fmt.Sprintf("%s, %s, %s", c.name, what, policy), Unit: unit, Ours: new(report.Number(v))})
}

// nodes are those in use by a policy.
func (c *census) nodes(policy string, used int) {
	lines := &c.figure.Lines
	i := slices.IndexFunc(*lines, func(l report.Line) bool { return l.Name == policy })
	if i < 0 {
		i = len(*lines)
		*lines = append(*lines, report.Line{Name: policy})
	}
	(*lines)[i].Points = append((*lines)[i].Points, [2]report.Number{report.Number(c.at), report.Number(used)})
	c.row("nodes in use", policy, report.InNodes, used)
}

// planned counts plans of the constraint scheduler.
func (c *census) planned(plans []placed) {
	for i := range plans {
		out, on := &plans[i], 0
		for _, node := range out.plan {
			if node != constraint.Nowhere {
				on++
			}
		}
		c.nodes(out.line, int(out.judged.Parts.Used))
		c.row("instances placed", out.line, report.InTasks, on)
		c.row("instances that violate their limit", out.line, report.InTasks, out.judged.Violated)
	}
}

// simulated counts what other policies came to.
func (c *census) simulated(all []outcome) {
	for i := range all {
		if o := &all[i]; o.line == c.name {
			c.nodes(o.policy, o.run.NodesActive)
			c.row("instances placed", o.policy, report.InTasks, o.run.Tasks.Running)
		}
	}
}

// fewest is a number of nodes below which no placement of all is, by room and limits alone:
// for each set of nodes that shapes are confined to, if these sets do not overlap, and for the whole
// cluster otherwise.
func fewest(p *constraint.Problem) int {
	var sets [][]bool
	within := make([]int, len(p.Shapes))
	for c := range p.Shapes {
		set := p.Shapes[c].Eligible
		within[c] = slices.IndexFunc(sets, func(s []bool) bool { return slices.Equal(s, set) && (s == nil) == (set == nil) })
		if within[c] < 0 {
			within[c] = len(sets)
			sets = append(sets, set)
		}
	}
	if overlap(sets, len(p.Nodes)) {
		sets, within = [][]bool{nil}, make([]int, len(p.Shapes))
	}
	sum := 0
	for i, set := range sets {
		sum += fewestOf(p, set, func(shape int32) bool { return within[shape] == i })
	}
	return sum
}

// overlap reports whether a node is in two of the sets; nil is all nodes.
func overlap(sets [][]bool, nodes int) bool {
	for n := range nodes {
		in := 0
		for _, set := range sets {
			if set == nil || set[n] {
				in++
			}
		}
		if in > 1 {
			return true
		}
	}
	return false
}

// fewestOf is that number for the shapes of one set.
func fewestOf(p *constraint.Problem, set []bool, of func(shape int32) bool) int {
	asked, apart := make(cluster.Vector, len(p.Kinds)), map[int32]int{}
	least := 0
	for i := range p.Containers {
		shape := p.Containers[i].Shape
		if !of(shape) {
			continue
		}
		for k, q := range p.Shapes[shape].Demand {
			asked[k] += q
		}
		apart[shape]++
	}
	for _, role := range constraint.FindRoles(p).Bounds {
		for shape, count := range apart {
			subject, target := role.Affects(p.Shapes[shape].Tags)
			if subject && target && role.Max < cluster.Unbounded {
				least = max(least, (count+int(role.Max))/(int(role.Max)+1))
			}
		}
	}
	for k, q := range asked {
		var capacities []int64
		for n := range p.Nodes {
			if set == nil || set[n] {
				capacities = append(capacities, p.Nodes[n].Capacity[k])
			}
		}
		slices.SortFunc(capacities, func(a, b int64) int { return int(max(min(b-a, 1), -1)) })
		nodes := 0
		for ; q > 0 && nodes < len(capacities); nodes++ {
			q -= capacities[nodes]
		}
		least = max(least, nodes)
	}
	return least
}
