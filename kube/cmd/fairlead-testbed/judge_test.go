package main

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/kube/testbed"
)

// TestComplaint: what makes a run of the judge fail, and what does not.
func TestComplaint(t *testing.T) {
	const plain, group = "[sig-scheduling] plain", "[sig-scheduling] Gang [FeatureGate:GenericWorkload] [Beta]"
	verdicts := func(states ...string) (list []testbed.Verdict) {
		for i, state := range states {
			list = append(list, testbed.Verdict{Test: []string{plain, group}[i], State: state})
		}
		return list
	}
	both := []candidate{{name: "kube-scheduler"}, {name: "fairlead"}}
	defaults, workloads := settings()[0], settings()[1]
	for _, test := range []struct {
		setting        setting
		focused        bool
		upstream, ours []string // states of plain, and of group
		want           string
	}{
		{defaults, false, []string{"passed"}, []string{"passed"}, "<nil>"},
		{defaults, false, []string{"failed"}, []string{"failed"}, "<nil>"},
		{defaults, false, []string{"passed"}, []string{"skipped"}, "1 tests pass with kube-scheduler and not with fairlead"},
		{defaults, false, nil, []string{"failed"}, "1 tests do not pass with fairlead"},
		{defaults, false, nil, []string{"skipped"}, "1 tests skip themselves: none of the reasons why a test may be left out"},
		{workloads, false, []string{"passed", "passed"}, []string{"passed", "passed"}, "<nil>"},
		{workloads, false, []string{"skipped", "passed"}, []string{"skipped", "passed"}, "1 tests skip themselves: none of the reasons why a test may be left out"},
		{workloads, false, []string{"passed", "skipped"}, []string{"passed", "skipped"}, "1 tests of pod groups are skipped, although their gates are on"},
		{workloads, false, nil, []string{"passed", "skipped"}, "1 tests of pod groups are skipped, although their gates are on"},
		{workloads, false, nil, []string{"passed"}, "no test of pod groups ran"},
		{workloads, true, nil, []string{"passed"}, "<nil>"},
	} {
		candidates, found := both, [][]testbed.Verdict{verdicts(test.upstream...), verdicts(test.ours...)}
		if test.upstream == nil {
			candidates, found = both[1:], found[1:]
		}
		if got := fmt.Sprint(complaint(test.setting, test.focused, candidates, found)); got != test.want {
			t.Errorf("%v and %v with %s: %s, want %s", test.upstream, test.ours, test.setting.words, got, test.want)
		}
	}
}
