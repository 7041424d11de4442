package experiment

import (
	"fmt"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/cputime"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file is the shape of KAI's benchmark of reclaiming: nodes of eight GPUs, full of jobs of one task with one GPU each, and one gang of a higher
// priority that asks for all GPUs of half of the nodes. Nothing is simulated: a core is asked once.

// reclaimGPUs is how many GPUs a node has.
const reclaimGPUs = 8

// reclaimed is what came of one size.
type reclaimed struct {
	nodes           int
	setUp, decision time.Duration
	victims, placed int
}

func setUpReclaim(o *Options) (*plan, error) {
	sizes := of(o.Size, []int{100, 200, 500, 1000}, []int{100, 200}, []int{20})
	var done []reclaimed
	p := &plan{
		data: fmt.Sprintf("up to %d nodes of %d GPUs, full of jobs with one GPU; no chance, and no seed", sizes[len(sizes)-1], reclaimGPUs),
		facts: []string{
			"All times are processor seconds; KAI's are of its own benchmark on a machine like ours, its set-up included. KAI goes through its snapshot of the cluster in each cycle; ours is told of changes, so that time to decide is what a running scheduler takes.",
			"As many leave as have to: eight for each pod of the gang.",
		},
	}
	for _, nodes := range sizes {
		p.steps = append(p.steps, step{fmt.Sprintf("%d nodes", nodes), func() error {
			r, err := reclaim(o.Policies[0], nodes)
			done = append(done, r)
			return err
		}})
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) { concludeReclaim(done, r) }
	return p, nil
}

// reclaim fills a cluster, submits the gang, and lets it have its room.
func reclaim(policy string, nodes int) (r reclaimed, err error) {
	r.nodes = nodes
	start := cputime.Used()
	made, err := policies.New(policy, policies.Options{Seed: 1})
	if err != nil {
		return r, err
	}
	core, err := sched.New(cluster.NewState(onGPUNodes(), nil), sched.Lane{Name: policy, Policy: made})
	if err != nil {
		return r, err
	}
	if _, _, err = core.Step(cluster.Second, fullOfJobs(nodes), nil); err != nil {
		return r, err
	}
	first, gang := cluster.TaskID(nodes*reclaimGPUs), cluster.JobID(nodes*reclaimGPUs)
	events := []cluster.Event{
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{reclaimGPUs, reclaimGPUs}}},
		cluster.JobSubmitted{Job: gang, Name: "gang", User: "v", Gang: int32(nodes / 2)},
	}
	for i := range cluster.TaskID(nodes / 2) {
		events = append(events, cluster.TaskSubmitted{Task: first + i, Seq: cluster.Seq(first + i), Job: gang, Shape: 1, Priority: 100})
	}
	r.setUp = cputime.Used() - start
	start = cputime.Used()
	decided, _, err := core.Step(2*cluster.Second, events, nil)
	r.decision = cputime.Used() - start
	if err != nil {
		return r, err
	}
	events = events[:0]
	for _, d := range decided {
		if d.Kind == sched.Evict {
			r.victims++
			events = append(events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
	if _, _, err = core.Step(3*cluster.Second, events, nil); err != nil {
		return r, err
	}
	r.placed = cluster.GangHas(core.View(), gang)
	return r, nil
}

// fullOfJobs is nodes on which a job of one task has each GPU.
func fullOfJobs(nodes int) (events []cluster.Event) {
	events = append(events, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1, 1}}})
	for n := range nodes {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{96, reclaimGPUs}}})
		for gpu := range reclaimGPUs {
			i := n*reclaimGPUs + gpu
			task := cluster.TaskID(i)
			events = append(events,
				cluster.JobSubmitted{Job: cluster.JobID(i), Name: fmt.Sprintf("j%d", i), User: "u"},
				cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(i), Job: cluster.JobID(i)},
				cluster.TaskFound{Task: task, Seq: cluster.Seq(i), Node: cluster.NodeID(n), Devices: 1 << gpu},
			)
		}
	}
	return events
}

// concludeReclaim puts both schedulers side by side.
func concludeReclaim(done []reclaimed, r *report.Reproduction) {
	kai := map[int]report.Number{100: 0.8, 200: 2.6, 500: 11.2, 1000: 41.2}
	theirs, all, decision := report.Line{Name: "KAI, set-up included"}, report.Line{Name: "fairlead, set-up included"}, report.Line{Name: "fairlead, to decide"}
	for _, d := range done {
		at := report.Number(d.nodes)
		took, decided := report.Number((d.setUp + d.decision).Seconds()), report.Number(d.decision.Seconds())
		beyond, left := report.Number(d.victims-d.nodes/2*reclaimGPUs), report.Number(d.nodes/2-d.placed)
		published, ran := kai[d.nodes]
		if ran {
			theirs.Points = append(theirs.Points, [2]report.Number{at, published})
		}
		all.Points, decision.Points = append(all.Points, [2]report.Number{at, took}), append(decision.Points, [2]report.Number{at, decided})
		size := fmt.Sprintf(", %d nodes", d.nodes)
		r.Compared = append(r.Compared,
			report.Compared{What: "time, set-up included" + size, Unit: report.InSeconds, Published: known(published, ran), Ours: &took},
			report.Compared{What: "time to decide" + size, Unit: report.InSeconds, Ours: &decided, Note: fmt.Sprintf("%d leave", d.victims)},
			report.Compared{What: "who leaves beyond those that have to" + size, Unit: report.InTasks, Ours: &beyond},
			report.Compared{What: "pods of the gang that are not placed" + size, Unit: report.InTasks, Ours: &left},
		)
	}
	f := report.Figure{
		Title: "Time to reclaim half of the cluster", X: report.Axis{Label: "nodes", Unit: report.InNodes, Log: true}, Y: report.Axis{Label: "time", Unit: report.InSeconds, Log: true},
		Lines: []report.Line{all, decision},
	}
	if len(theirs.Points) > 0 {
		f.Lines = append(f.Lines, theirs)
	}
	r.Figures = append(r.Figures, f)
}
