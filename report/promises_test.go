package report_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// Where no task of a class was there for any time, results of earlier versions say that
// none kept its promise. None broke it either, and there is no table of promises.
func TestNobodyBrokeAPromise(t *testing.T) {
	for _, c := range []struct {
		availability *report.Availability
		shown        bool
	}{{nil, false}, {availability(10, 9, 8), true}} {
		r := bare("kube")
		r.Classes = map[string]report.Class{"gold": {Submitted: 1, Availability: c.availability, Promise: &report.Promise{Target: 1}, Bill: &report.Bill{}}}
		var table bytes.Buffer
		if err := report.Write(&table, report.Table, report.Results{Runs: []report.Run{r}}); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(table.String(), "Promises of availability"); shown != c.shown {
			t.Errorf("availability %v: the table of promises is there: %v, want %v\n%s", c.availability, shown, c.shown, &table)
		}
	}
}
