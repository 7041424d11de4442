package experiment

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is NVIDIA's Knavigator: its benchmark of gangs, a burst that fills the cluster nine times over if none is passed over for a smaller
// one, and its case of topology, of which the best place is known. NVIDIA publishes the workloads and no results, so that ours stand beside what
// is best.

const (
	knavigatorNodes = 32
	knavigatorGPUs  = 8 // of a node, which a pod takes whole
	knavigatorCores = 128
	knavigatorWork  = 2 * cluster.Minute
	knavigatorIdeal = 9 * knavigatorWork
)

// scored are the experiments of which others keep the score.
func scored() []Experiment {
	return []Experiment{
		{
			Name: "knavigator", What: "gangs that fill a cluster nine times; one gang below the nearest switches", Paper: "Knavigator, NVIDIA: gang scheduling and topology",
			Policies: []string{"fairlead", "kube"}, Free: true, setUp: setUpKnavigator,
		},
		{
			Name: "kai-reclaim", What: "time to decide who leaves half of the cluster for one gang", Paper: "KAI Scheduler, NVIDIA: BenchmarkReclaimLargeJobs",
			Policies: []string{"fairlead"}, setUp: setUpReclaim,
		},
		{
			Name: "power", What: "what nodes draw while pods with GPUs arrive, against fgd", Paper: "PWR, CCGrid 2025",
			Policies: []string{"pwr-fgd", "pwr", "fgd"}, setUp: setUpPower,
		},
	}
}

// recorded is a source of records that are there.
type recorded struct {
	kinds   []cluster.Kind
	records []trace.Record
}

// Kinds are those of the records.
func (l *recorded) Kinds() []cluster.Kind { return l.kinds }

// Next fills in the next record.
func (l *recorded) Next(r *trace.Record) error {
	if len(l.records) == 0 {
		return io.EOF
	}
	*r, l.records = l.records[0], l.records[1:]
	return nil
}

// Close has nothing to close.
func (l *recorded) Close() error { return nil }

// onGPUNodes are the kinds of nodes with GPUs.
func onGPUNodes() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}, {Name: "gpu", Unit: "GPUs", PerUnit: 1, Devices: true}}
}

// knavigatorNode is a node that is all free.
func knavigatorNode(id uint64) trace.Node {
	return trace.Node{ID: id, Capacity: cluster.Vector{knavigatorCores, knavigatorGPUs}}
}

// knavigatorPod is a pod that takes a node.
func knavigatorPod(job uint64, index int) trace.Task {
	return trace.Task{Job: job, Index: uint32(index), Demand: cluster.Vector{knavigatorCores / 2, knavigatorGPUs}, Work: knavigatorWork}
}

// burst is the benchmark: all gangs at once, in its order.
func burst() *recorded {
	l := &recorded{kinds: onGPUNodes()}
	for i := range uint64(knavigatorNodes) {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: knavigatorNode(i + 1)})
	}
	job := uint64(0)
	for _, of := range [][2]int{ // so many gangs of so many pods
		{1, 32},
		{2, 16},
		{3, 10},
		{1, 2},
		{4, 8},
		{5, 6},
		{2, 1},
		{6, 5},
		{1, 2},
		{7, 4},
		{1, 2},
		{2, 1},
		{8, 4},
		{9, 3},
		{1, 5},
	} {
		for range of[0] {
			job++
			for i := range of[1] {
				pod := knavigatorPod(job, i)
				pod.JobTasks, pod.Gang = uint32(of[1]), int32(of[1])
				l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: pod})
			}
		}
	}
	return l
}

// The case of topology: twelve nodes in pairs below a switch, pairs of pairs below a spine. Five are busy, and of the seven others only three are below
// one spine.
const (
	nearNodes = 12
	nearGang  = 3
	nearJob   = 1
)

// nearBest is where the gang belongs.
func nearBest() []string { return []string{"n5", "n7", "n8"} }

// switched are the nodes, numbered and in an order by chance, those who are busy, and the gang.
func switched(seed uint64) *recorded {
	l := &recorded{kinds: onGPUNodes()}
	busy := []int{1, 3, 6, 11, 12}
	var running []trace.Record
	for i, at := range rand.New(rand.NewPCG(seed, 0x6b6e)).Perm(nearNodes) { //nolint:gosec // no secret
		node := knavigatorNode(uint64(i + 1))
		node.Name = fmt.Sprintf("n%d", at+1)
		node.Groups = []cluster.Label{{Key: "leaf", Value: fmt.Sprintf("sw1%d", at/2+1)}, {Key: "spine", Value: fmt.Sprintf("sw2%d", at/4+1)}}
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: node})
		if slices.Contains(busy, at+1) {
			pod := knavigatorPod(nearJob+uint64(at+1), 0)
			pod.Running, pod.OnNode, pod.Work = true, node.ID, cluster.Never
			running = append(running, trace.Record{What: trace.TaskSubmitted, Task: pod})
		}
	}
	for _, level := range []string{"leaf", "spine"} {
		l.records = append(l.records, trace.Record{What: trace.ConstraintAdded, Constraint: preferring("gang", level)})
	}
	l.records = append(l.records, running...)
	for i := range nearGang {
		pod := knavigatorPod(nearJob, i)
		pod.JobTasks, pod.Gang, pod.Tags = nearGang, nearGang, []string{"gang"}
		l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: pod})
	}
	return l
}

// preferring has all tasks with the tag rather stand in one set of the group.
func preferring(tag, group string) cluster.Constraint {
	return cluster.Constraint{Name: fmt.Sprintf("%s in one %s", tag, group), Weight: cluster.DefaultWeight, Arriving: true, Any: [][]cluster.Bound{{{
		Subject: []string{tag}, Target: []string{tag}, Min: 1, Max: cluster.Unbounded, Group: group, OrFirst: true,
	}}}}
}

// standing is on which nodes the gang is placed, by their names.
func standing(policy string, seed uint64) ([]string, error) {
	p, err := policies.New(policy, policies.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	src := switched(seed)
	names := map[string]string{}
	for i := range src.records {
		if n := &src.records[i].Node; src.records[i].What == trace.NodeAdded {
			names[fmt.Sprint(n.ID)] = n.Name
		}
	}
	var placed bytes.Buffer
	_, err = sim.Run(sim.Config{
		Source: src, Lanes: []sched.Lane{{Name: policy, Policy: p}}, Planner: sim.Planner{Time: sim.Zero}, World: sim.World{Seed: seed},
		Until: cluster.Minute, Output: sim.Output{Placements: &placed},
	})
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(&placed).ReadAll()
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, row := range rows {
		nodes = append(nodes, names[row[4]])
	}
	slices.Sort(nodes)
	return nodes, nil
}

func setUpKnavigator(o *Options) (*plan, error) {
	best, seeds := map[string]int{}, of[uint64](o.Size, 200, 200, 10)
	p := &plan{
		whole: true,
		data: fmt.Sprintf("%d nodes of %d GPUs, a burst of 53 gangs with 288 pods of a node each, for 2 minutes; %d nodes below two levels of switches, five of them busy, and a gang of %d, with seeds %d to %d",
			knavigatorNodes, knavigatorGPUs, nearNodes, nearGang, o.Seed, o.Seed+seeds-1),
		facts: []string{
			"NVIDIA publishes the workloads, and no results: what stands as published is the best that there can be. Deciding takes no time here, and pods start at once.",
			"In the case of topology the nodes come in an order by chance, by which they are numbered; the gang prefers to stand below one leaf, or else one spine, and requires neither.",
		},
	}
	for _, policy := range o.Policies {
		p.cases = append(p.cases, simulation{
			line: "gangs", policy: policy, open: func() (trace.Source, error) { return burst(), nil },
			source: fmt.Sprintf("%d nodes of %d GPUs, 53 gangs", knavigatorNodes, knavigatorGPUs), planner: sim.Zero,
		})
		p.steps = append(p.steps, step{"topology, " + policy, func() error {
			for seed := o.Seed; seed < o.Seed+seeds; seed++ {
				nodes, err := standing(policy, seed)
				if err != nil {
					return err
				}
				if slices.Equal(nodes, nearBest()) {
					best[policy]++
				}
			}
			return nil
		}})
	}
	p.conclude = func(all []outcome, r *report.Reproduction) { concludeKnavigator(all, best, seeds, r) }
	return p, nil
}

// concludeKnavigator holds each policy against the best that there can be.
func concludeKnavigator(all []outcome, best map[string]int, seeds uint64, r *report.Reproduction) {
	ideal, whole := report.Seconds(knavigatorIdeal), report.Number(1)
	taken := report.Figure{
		Title: "Nodes that gangs take", X: report.Axis{Label: "time", Unit: report.InSeconds}, Y: report.Axis{Label: "nodes", Unit: report.InNodes},
	}
	for i := range all {
		o := &all[i]
		note := ""
		if left := o.run.Tasks.Submitted - o.run.Tasks.Finished; left > 0 {
			note = fmt.Sprintf("%d pods have not finished", left)
		}
		near := report.Number(best[o.policy]) / report.Number(seeds)
		r.Compared = append(r.Compared,
			report.Compared{What: "time until all gangs are done, " + o.policy, Unit: report.InSeconds, Published: &ideal, Ours: &o.run.Simulated, Note: note},
			report.Compared{What: "GPUs taken in the mean until then, " + o.policy, Unit: report.InShares, Published: &whole, Ours: known(o.run.Allocation["gpu"].Mean, true)},
			report.Compared{What: "gangs on n5, n7 and n8, " + o.policy, Unit: report.InShares, Published: &whole, Ours: &near},
		)
		line := report.Line{Name: o.policy}
		for at, running := range o.run.Series.Columns["running"] {
			line.Points = append(line.Points, [2]report.Number{report.Number(at+1) * o.run.Series.Step, running})
		}
		taken.Lines = append(taken.Lines, line)
	}
	r.Figures = append(r.Figures, taken)
}
