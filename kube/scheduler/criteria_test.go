package scheduler

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
)

// TestWeightsReachThePolicy: the weights of the table of classes are those by which the
// policy sla orders its queue, and recordings say them.
func TestWeightsReachThePolicy(t *testing.T) {
	table := class.SLA()
	table.Criteria = class.SAFC()
	s := &Scheduler{Options: Options{Config: &config.SchedulerConfiguration{Classes: config.Classes{Table: table}}}}
	s.epochs.options = &s.Options
	profile := config.Profile{SchedulerName: "fairlead", Policy: chosen.Policy{Name: "sla"}}
	lane, err := s.laneOf(&profile)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.epochs.newPolicy(&lane); err != nil {
		t.Fatal(err)
	}
	want := []recording.Criterion{{Weight: 2, Function: "usual"}, {Function: "usual"}, {Weight: 1, Function: "usual"}, {Function: "usual"}}
	if !slices.Equal(lane.Criteria, want) {
		t.Errorf("recorded %v, want %v", lane.Criteria, want)
	}
	for i := range lane.Criteria {
		lane.Criteria[i].Weight = 0
	}
	if _, _, err := s.epochs.newPolicy(&lane); err == nil || !strings.Contains(err.Error(), "sum to 0") {
		t.Errorf("weights that sum to 0: %v", err)
	}
}
