package flow_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/quincy"
)

// TestMemory lets a few tasks run for long while nodes come and go, and then tasks come
// and go for long while nobody waits: what is kept for them is bounded by how many
// there are.
func TestMemory(t *testing.T) {
	const nodes, tasks = 4, 8
	p := flow.New(quincy.New(quincy.Standard()), flow.Options{Name: "quincy", Stages: []flow.Stage{flow.Spread, flow.Preempt}})
	st := newStage(t, p)
	for range nodes {
		st.node(cluster.Vector{4, 0, 0})
	}
	one := st.shape(cluster.Shape{Demand: cluster.Vector{1, 0, 0}})
	job := st.job()
	block := cluster.Block{Bytes: 1 << 30, Replicas: [3]cluster.NodeID{0, cluster.NoNode, cluster.NoNode}}
	var live []cluster.TaskID
	for range tasks {
		live = append(live, st.task(job, one, block))
	}
	st.mustStep()
	// Somebody else's task waits all the time, so that each change is worth a round.
	others := cluster.JobID(st.jobs.Take())
	st.events = append(st.events, cluster.JobSubmitted{Job: others, Name: "others", Foreign: true})
	st.task(others, one)
	most := 0
	note := func() {
		journal, due := p.Memory()
		most = max(most, journal, due)
	}
	for i := range 3000 {
		// An empty node is in another rack all the time.
		spec := cluster.NodeSpec{Name: "n3", Capacity: cluster.Vector{4, 0, 0}, Groups: []cluster.Label{{Key: "rack", Value: fmt.Sprint(i % 2)}}}
		st.events = append(st.events, cluster.NodeChanged{Node: 3, Spec: spec})
		st.mustStep()
		note()
	}
	for i := range 3000 {
		st.end(live[i%tasks])
		st.mustStep()
		live[i%tasks] = st.task(job, one, block)
		st.mustStep()
		note()
	}
	if most > 20*(nodes+tasks) {
		t.Errorf("%d entries for %d nodes and %d tasks", most, nodes, tasks)
	}
}
