package scheduler

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/recording"
)

// TestWeightsReachThePolicy: the weights of the table of classes are those by which the
// policy sla orders its queue, and recordings say them.
func TestWeightsReachThePolicy(t *testing.T) {
	table := class.SLA()
	table.Criteria = class.SAFC()
	s := &Scheduler{Options: Options{Config: &config.SchedulerConfiguration{Classes: config.Classes{Table: table}}}}
	profile := config.Profile{SchedulerName: "fairlead", Policy: "sla"}
	if _, _, err := s.newPolicy(&profile); err != nil {
		t.Fatal(err)
	}
	want := []recording.Criterion{{Weight: 2, Function: "usual"}, {Function: "usual"}, {Weight: 1, Function: "usual"}, {Function: "usual"}}
	if got := s.criteria(); !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	for i := range table.Criteria {
		table.Criteria[i].Weight = 0
	}
	if _, _, err := s.newPolicy(&profile); err == nil || !strings.Contains(err.Error(), "sum to 0") {
		t.Errorf("weights that sum to 0: %v", err)
	}
}
