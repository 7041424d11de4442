package report_test

import (
	"bytes"
	"reflect"
	"testing"

	"fairlead.dev/fairlead/report"
)

// targets has an acceptance table and variants, and no figures.
func targets() *report.Reproduction {
	n := func(v report.Number) *report.Number { return &v }
	r := &report.Reproduction{
		Name: "table", What: "targets", Paper: "specification", Data: "generator, seed 1",
		Goals: []report.Goal{
			{Row: "one", What: "pending", Unit: report.InTasks, Rival: "kube", Theirs: n(95), Target: n(0), Ours: n(0)},
			{Row: "one", What: "cpu allocated", Unit: report.InShares, Rival: "kube", Theirs: n(0.9), Target: n(0.96), AtLeast: true, Ours: n(0.95), Note: "means of 3 seeds"},
			{Row: "two", What: "wait", Unit: report.InSeconds, Rival: "mesos", Target: n(60), Verdict: report.NotRun, Note: "no data"},
		},
		Variants: &report.Variants{
			Names:   []string{"all", "no claims"},
			Numbers: []report.Variant{{Row: "two", What: "wait", Unit: report.InSeconds, Values: []*report.Number{n(4.8), nil}}},
		},
	}
	r.Goals[0].Hold()
	r.Goals[1].Hold()
	return r
}

func TestGoalsForPeople(t *testing.T) {
	const want = `table: targets
specification
Data: generator, seed 1

ROW  MEASURE        SO FAR     HAS    TARGET    OURS
one  pending        kube        95       ≤ 0       0      met
one  cpu allocated  kube    90.00%  ≥ 96.00%  95.00%   missed
two  wait           mesos        -  ≤ 60.00s       -  not run
one, cpu allocated: means of 3 seeds
two, wait: no data
1 targets met, 1 missed, 1 not run

row  measure   all  no claims
two  wait     4.8s          -
`
	var text bytes.Buffer
	if err := report.Write(&text, report.Table, report.Results{Experiment: targets()}); err != nil {
		t.Fatal(err)
	}
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}

func TestGoalsInJSON(t *testing.T) {
	want := report.Results{Experiment: targets()}
	var text bytes.Buffer
	if err := report.Write(&text, report.JSON, want); err != nil {
		t.Fatal(err)
	}
	got, err := report.ReadJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Experiment.Goals, want.Experiment.Goals) || !reflect.DeepEqual(got.Experiment.Variants, want.Experiment.Variants) {
		t.Errorf("read %+v\nwrote %+v", got.Experiment, want.Experiment)
	}
}
