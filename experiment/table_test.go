package experiment

import (
	"math"
	"strings"
	"testing"
)

// TestStoredTable runs ECSched's table on the authors' job list by its name, and
// wants their four means to the hundredth of a second: what goes from the name of
// an experiment to the policies must not lose an option.
func TestStoredTable(t *testing.T) {
	if testing.Short() {
		t.Skip("16 runs take some seconds")
	}
	folder := data(t)
	e, err := Find("ecsched-table1")
	if err != nil {
		t.Fatal(err)
	}
	results, err := e.Run(Options{Seed: 1, Data: folder})
	if err != nil {
		t.Fatal(err)
	}
	if !results.Experiment.Real || results.Experiment.Quick {
		t.Errorf("it ran on %s", results.Experiment.Data)
	}
	found := 0
	for _, c := range results.Experiment.Compared {
		if !strings.HasPrefix(c.What, "mean completion, stored set") || c.Published == nil {
			continue
		}
		found++
		if got := math.Round(100*float64(*c.Ours)) / 100; got != float64(*c.Published) {
			t.Errorf("%s: %.2f s, published %.2f", c.What, got, float64(*c.Published))
		}
	}
	if found != 4 {
		t.Errorf("%d published means, want those of four policies", found)
	}
}
