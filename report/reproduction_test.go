package report_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// reproduction has every field filled in.
func reproduction() *report.Reproduction {
	three, five := report.Number(3), report.Number(1416.36)
	return &report.Reproduction{
		Name: "paper-fig1", What: "how <long> it takes", Paper: "A paper, figure 1", Quick: true,
		Data: "generator, seed 1", Real: true, Facts: []string{"measured here"},
		Compared: []report.Compared{
			{What: "at 10", Unit: report.InSeconds, Published: &three, Ours: &five, Note: "less than this"},
			{What: "at 20", Unit: report.InShares},
		},
		Figures: []report.Figure{
			{
				Title: "time", X: report.Axis{Label: "tasks", Unit: report.InTasks}, Y: report.Axis{Label: "time", Unit: report.InSeconds, Log: true},
				Lines: []report.Line{{Name: "ours", Points: [][2]report.Number{{10, 0.25}, {20, 5}}}, {Name: "theirs", Points: [][2]report.Number{{10, 1}}}},
			},
			{
				Title: "wait", Cumulative: true, X: report.Axis{Label: "wait", Unit: report.InSeconds, Log: true}, Y: report.Axis{Label: "share", Unit: report.InShares},
				Lines: []report.Line{{Name: "ours", Points: [][2]report.Number{{0.5, 0.5}, {2, 1}}}},
			},
		},
	}
}

// What is written as JSON is read again as it was, and names that are not known
// are refused.
func TestReproductionInJSON(t *testing.T) {
	want := report.Results{Experiment: reproduction(), Runs: []report.Run{run("quincy", 1, 1)}}
	var text bytes.Buffer
	if err := report.Write(&text, report.JSON, want); err != nil {
		t.Fatal(err)
	}
	got, err := report.ReadJSON(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Experiment, want.Experiment) || len(got.Runs) != 1 {
		t.Errorf("read %+v\nwrote %+v", got.Experiment, want.Experiment)
	}
	wrong := strings.Replace(text.String(), `"cumulative"`, `"cumulatif"`, 1)
	if _, err := report.ReadJSON(strings.NewReader(wrong)); err == nil || !strings.Contains(err.Error(), "did you mean cumulative?") {
		t.Errorf("a name that is not known: %v", err)
	}
}

func TestReproductionForPeople(t *testing.T) {
	const want = `paper-fig1: how <long> it takes
A paper, figure 1
Data: generator, seed 1
Quick: at a small size; its numbers are not to be held against the paper's
Note: measured here

       PUBLISHED      OURS
at 10       3.0s  1416.36s
at 20          -         -
at 10: less than this

time
tasks   ours  theirs
10     250ms    1.0s
20      5.0s       -

wait
wait     P1    P10    P25    P50   P60   P75   P80   P90   P99  P100
ours  500ms  500ms  500ms  500ms  2.0s  2.0s  2.0s  2.0s  2.0s  2.0s
`
	const csv = `experiment,figure,line,x,x_unit,y,y_unit
paper-fig1,time,ours,10,tasks,0.25,s
paper-fig1,time,ours,20,tasks,5,s
paper-fig1,time,theirs,10,tasks,1,s
paper-fig1,wait,ours,0.5,s,0.5,share
paper-fig1,wait,ours,2,s,1,share
`
	for format, want := range map[report.Format]string{report.Table: want, report.CSV: csv} {
		var text bytes.Buffer
		if err := report.Write(&text, format, report.Results{Experiment: reproduction()}); err != nil {
			t.Fatal(err)
		}
		if text.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, text.String(), want)
		}
	}
}

// Of a figure with more points than rows no line is passed over because its points fall
// between the rows.
func TestLinesThatTakeTurns(t *testing.T) {
	f := report.Figure{Title: "turns", X: report.Axis{Label: "place", Unit: report.InTasks}, Y: report.Axis{Label: "cores", Unit: report.InCores}}
	for i, name := range []string{"premium", "advanced", "best-effort"} {
		l := report.Line{Name: name}
		for place := 1 + i; place <= 90; place += 3 {
			l.Points = append(l.Points, [2]report.Number{report.Number(place), report.Number(30 - 10*i)})
		}
		f.Lines = append(f.Lines, l)
	}
	var text bytes.Buffer
	results := report.Results{Experiment: &report.Reproduction{Name: "turns", Figures: []report.Figure{f}}}
	if err := report.Write(&text, report.Table, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n1–3 ", "\n88–90 "} {
		_, row, found := strings.Cut(text.String(), want)
		if row, _, _ = strings.Cut(row, "\n"); !found || !reflect.DeepEqual(strings.Fields(row), []string{"30", "20", "10"}) {
			t.Errorf("the row %q has %q, want 30, 20 and 10:\n%s", want, row, text.String())
		}
	}
}
