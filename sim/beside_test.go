package sim

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// Jobs of a second source are called by the numbers that it gives them, and it is said whose
// they are; what is written for machines has the numbers that tell them apart.
func TestBesideIsCalledSo(t *testing.T) {
	second := story(0, 2)
	second.records[1].Task.Demand = cluster.Vector{9} // more than a node has
	second.records[1].Task.Job = 7
	source, err := trace.Beside(story(1, 1), second)
	if err != nil {
		t.Fatal(err)
	}
	var end Ending
	var tasks strings.Builder
	result, err := Run(Config{
		Source: source, Beside: true, Lanes: lane(t, "kube"), Until: 3 * cluster.Second,
		Finished: func(e Ending) { end = e }, Output: Output{Tasks: &tasks},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"0/0", "beside:0/0", "beside:7/1"}; !slices.Equal(end.Names, want) {
		t.Errorf("tasks are called %q, want %q", end.Names, want)
	}
	if example := result.Examples["unplaceable by cpu"]; !strings.HasPrefix(example, "task 1 of job 7 of --beside: ") {
		t.Errorf("reasons %v, such as %v", result.Reasons, result.Examples)
	}
	if !strings.Contains(tasks.String(), "9223372036854775815") {
		t.Errorf("no task has the number of its job:\n%s", &tasks)
	}
}

func TestCalled(t *testing.T) {
	const turned = 1 << 63
	for _, tc := range []struct {
		task           task
		called, listed string
	}{
		{task{job: &job{id: 17}, identity: identity{index: 3}}, "task 3 of job 17", "17/3"},
		{task{job: &job{id: turned + 17, beside: true}, identity: identity{index: 3}}, "task 3 of job 17 of --beside", "beside:17/3"},
		{task{job: &job{id: turned + 17}, identity: identity{index: 3}}, "task 3 of job 9223372036854775825", "9223372036854775825/3"},
		{task{job: &job{id: 17}, identity: identity{index: 3}, copy: 2}, "17/3#2", "17/3#2"},
		{task{job: &job{id: turned + 17, beside: true}, identity: identity{index: 3}, copy: 2}, "beside:17/3#2", "beside:17/3#2"},
		{task{job: &job{id: turned + 17, beside: true}, identity: identity{index: 3, name: "a"}}, "a", "a"},
		{task{job: &job{id: 17}, identity: identity{index: 3, name: "a"}, copy: 1}, "a#1", "a#1"},
	} {
		if called, listed := tc.task.called(), tc.task.listed(); called != tc.called || listed != tc.listed {
			t.Errorf("called %q and listed as %q, want %q and %q", called, listed, tc.called, tc.listed)
		}
	}
}
