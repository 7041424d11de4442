package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestScenarios runs the stories of testdata, where the lowest row breaks ties.
func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", func(string) (sched.Policy, error) {
		return fairlead.New(fairlead.Options{Ties: book.Lowest}), nil
	})
}
