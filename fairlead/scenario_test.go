package fairlead_test

import (
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestScenarios runs the stories of testdata, where the lowest row breaks ties. A policy may be given a price of nodes:
// "policy fairlead node-price=100".
func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", func(name string) (sched.Policy, error) {
		o := fairlead.Options{Ties: book.Lowest}
		if _, price, given := strings.Cut(name, " node-price="); given {
			var err error
			if o.NodePrice, err = strconv.ParseInt(price, 10, 64); err != nil {
				return nil, err
			}
		}
		return fairlead.New(o), nil
	})
}
