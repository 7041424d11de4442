package flow_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/slack"
)

// mixed is quincy, but for every other task that may be stopped and not moved.
type mixed struct{ *quincy.Model }

func (m mixed) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	terms := m.Model.Terms(s, t)
	if terms.May == flow.MayMove && t%2 == 0 {
		terms.May = flow.MayStop
	}
	return terms
}

// TestStagesCompose is testdata/pack_and_preempt.txt with each list of stages: the task that
// needs a node of its own is served only where the others are packed, and the one that needs
// three to leave only where several may.
func TestStagesCompose(t *testing.T) {
	for _, tc := range []struct {
		stages      []flow.Stage
		large, gold bool
	}{
		{[]flow.Stage{flow.Spread}, false, false},
		{[]flow.Stage{flow.Spread, flow.Pack}, true, false},
		{[]flow.Stage{flow.Spread, flow.Preempt}, false, true},
		{nil, true, false}, // as for most
		{[]flow.Stage{flow.Spread, flow.Preempt, flow.Pack}, true, true},
		{flow.Stages(), true, true},
	} {
		t.Run(fmt.Sprint(tc.stages), func(t *testing.T) {
			st := newStage(t, flow.New(slack.New(slack.Standard()), flow.Options{Name: "qos-flow", Stages: tc.stages}))
			st.node(cluster.Vector{8, 4, 0})
			job := st.job()
			filler := st.shape(cluster.Shape{Demand: cluster.Vector{2, 1, 0}})
			for range 4 {
				st.task(job, filler)
			}
			st.mustStep()
			st.mustStep()
			for range 2 {
				st.node(cluster.Vector{5, 6, 0})
			}
			small := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}})
			for range 3 {
				st.task(job, small)
			}
			large := st.task(job, st.shape(cluster.Shape{Demand: cluster.Vector{5, 6, 0}}))
			gold := st.task(job, st.shape(cluster.Shape{Demand: cluster.Vector{6, 1, 0}}))
			e := &st.events[len(st.events)-1]
			submitted := (*e).(cluster.TaskSubmitted)
			submitted.Class = 3
			*e = submitted
			st.mustStep()
			s := st.core.View()
			if got := s.Task(large).Placed(); got != tc.large {
				t.Errorf("the large task is placed: %t, want %t", got, tc.large)
			}
			if got := s.Task(gold).Placed(); got != tc.gold {
				t.Errorf("the gold task is placed: %t, want %t", got, tc.gold)
			}
		})
	}
}
