package request

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
)

// What is written is read as the same problem, in either form.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := planted.Draw(planted.Options{
			Nodes:        rapid.IntRange(20, 60).Draw(t, "nodes"),
			Applications: rapid.IntRange(1, 4).Draw(t, "applications"),
			Running:      rapid.IntRange(0, 3).Draw(t, "running"),
			Utilisation:  700,
			InterApp:     3,
			Movable:      rapid.Bool().Draw(t, "movable"),
			Seed:         rapid.Uint64().Draw(t, "seed"),
		})
		if err != nil {
			t.Skip(err)
		}
		written := New(d.Problem, d.Parts)
		written.Planted = d.Witness
		written.Problem.Objective.Loose = rapid.Int64Range(0, 5_000_000).Draw(t, "loose")
		written.Problem.Objective.Least = cluster.Vector{rapid.Int64Range(0, 5).Draw(t, "least"), 1}
		encode := written.YAML
		if rapid.Bool().Draw(t, "JSON") {
			encode = written.JSON
		}
		text, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read("file", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(written, got, cmp.AllowUnexported(Request{}), cmpopts.IgnoreFields(Request{}, "source", "written"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("written (-) and read (+) differ:\n%s", diff)
		}
		if report := constraint.Evaluate(&got.Problem, got.Planted); len(report.Violations) > 0 {
			t.Fatalf("%d violations of what was planted", len(report.Violations))
		}
	})
}
