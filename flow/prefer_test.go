package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/spread"
)

// TestPreferencesKeepNobodyWaiting lets tasks come with more preferences than count, of which a node meets none, and with
// more input than has a price: they are placed, under every model that lets nobody wait for his data.
func TestPreferencesKeepNobodyWaiting(t *testing.T) {
	for _, m := range watchedModels() {
		if m.moves > 0 {
			continue // they wait for their data
		}
		t.Run(m.name, func(t *testing.T) {
			st := newStage(t, flow.New(m.model(), flow.Options{Name: m.name, Stages: m.stages}))
			n := st.node(cluster.Vector{9, 9, 9})
			shape := cluster.Shape{Demand: cluster.Vector{2, 2, 2}}
			for set := range cluster.SetID(2 * flow.MostUnmet) {
				st.events = append(st.events, cluster.SetDefined{Set: 1 + set})
				shape.Prefers = append(shape.Prefers, cluster.Preference{Set: 1 + set, Weight: cluster.MostPreference})
			}
			job, id := st.job(), st.shape(shape)
			far := cluster.Block{Bytes: 1 << 43, Replicas: [3]cluster.NodeID{n + 1, cluster.NoNode, cluster.NoNode}}
			for range 2 {
				st.task(job, id)
				st.task(job, id, far)
			}
			if st.mustStep(); st.waiting() > 0 {
				t.Errorf("%d tasks wait for nodes that they prefer:\n%s", st.waiting(), st.core.View().Picture())
			}
		})
	}
}

// TestPreferencesEvictNobody lets a task that was promised much come to a full node that it prefers, while another has room.
func TestPreferencesEvictNobody(t *testing.T) {
	for _, m := range watchedModels() {
		if m.moves > 0 {
			continue // it waits, as for data
		}
		t.Run(m.name, func(t *testing.T) {
			st := newStage(t, flow.New(m.model(), flow.Options{Name: m.name, Stages: m.stages}))
			first := st.node(cluster.Vector{1, 1, 1})
			st.task(st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 1}}))
			st.mustStep()
			st.node(cluster.Vector{1, 1, 1})
			st.events = append(st.events, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{first}})
			prefers := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 1}, Prefers: []cluster.Preference{{Set: 1, Weight: cluster.MostPreference}}})
			task := st.task(st.job(), prefers)
			submitted := st.events[len(st.events)-1].(cluster.TaskSubmitted)
			submitted.Class = 3
			st.events[len(st.events)-1] = submitted
			st.mustStep()
			if got := st.core.View().Task(task).Node; got != 1 || len(st.decided) != 1 {
				t.Errorf("decided %+v, want a place on the second node and nothing else:\n%s", st.decided, st.core.View().Picture())
			}
		})
	}
}

// TestPreferenceIsExplained wants what a node does not meet as a part of its price by a name of its own.
func TestPreferenceIsExplained(t *testing.T) {
	st := newStage(t, flow.New(&cpumem.Model{}, flow.Options{Name: "cpu-mem"}))
	n := st.node(cluster.Vector{1, 1, 1})
	st.events = append(st.events, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{n}})
	job := st.job()
	st.mustStep()
	shuns := st.task(job, st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 1}, Prefers: []cluster.Preference{{Set: 1, Weight: -50}}}))
	if _, err := st.core.Observe(st.now, st.events, nil); err != nil {
		t.Fatal(err)
	}
	x, err := flow.New(&cpumem.Model{}, flow.Options{Name: "cpu-mem"}).Explain(st.core.View(), st.core.Everything(0), shuns, 1)
	want := flow.Term{Name: flow.TermPreferences, Cost: (&cpumem.Model{}).Preference() / 2}
	if err != nil || len(x.Candidates) != 1 || !slices.Contains(x.Candidates[0].Terms, want) {
		t.Errorf("candidates %+v (%v), want one with %+v", x.Candidates, err, want)
	}
}

// partial is load-spreading with another price of a preference.
type partial struct {
	spread.Model
	price flow.Cost
}

func (m *partial) Preference() flow.Cost { return m.price }

// TestPreferenceContract lets a model ask for a preference what it may not: it is told so, and places by the rest.
func TestPreferenceContract(t *testing.T) {
	const most flow.Cost = flow.MaxCost / flow.MostUnmet
	for _, price := range []flow.Cost{-1, most + 1, most} {
		st := newStage(t, flow.New(&partial{price: price}, flow.Options{Name: "partial"}))
		st.node(cluster.Vector{1, 1, 1})
		st.task(st.job(), st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 1}}))
		want := fmt.Sprintf("policy partial: a preference that is not met costs %d, want 0 to %d", price, most)
		if err := st.step(); price != most && (err == nil || !strings.Contains(err.Error(), want)) || price == most && err != nil {
			t.Errorf("the step says %v, want %s", err, want)
		}
		if st.waiting() > 0 {
			t.Errorf("%d tasks wait", st.waiting())
		}
	}
}
