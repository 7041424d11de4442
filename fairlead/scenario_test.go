package fairlead_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestScenarios runs the stories of testdata, where the lowest row breaks ties. A policy may be given a price of nodes:
// "policy fairlead node-price=100", or be without some of what it does: "policy fairlead without=claims+moves".
func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", func(name string) (sched.Policy, error) {
		o := fairlead.Options{Ties: book.Lowest}
		for _, word := range strings.Fields(name)[1:] {
			var err error
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "node-price":
				o.NodePrice, err = strconv.ParseInt(value, 10, 64)
			case "without":
				without, known := fairlead.ParseWithout(value)
				if !known {
					err = fmt.Errorf("without=%s: they are %s", value, fairlead.Mechanisms())
				}
				o.Without = without
			default:
				err = fmt.Errorf("%s: want node-price=, or without=", word)
			}
			if err != nil {
				return nil, err
			}
		}
		return fairlead.New(o), nil
	})
}
