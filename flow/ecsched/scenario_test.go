package ecsched

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", parse)
}

// parse reads the name of a policy with its options, "ecsched-dp solves=1 keep".
func parse(text string) (sched.Policy, error) {
	var o Options
	for i, word := range strings.Fields(text) {
		name, number, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(number)
		switch {
		case i == 0 && word == "ecsched-dp":
		case i == 0 && word == "ecsched-ml":
			o.Score = MostLoaded
		case word == "keep":
			o.Keep = true
		case name == "window" && err == nil:
			o.Window = n
		case name == "solves" && err == nil:
			o.Solves = n
		default:
			return nil, fmt.Errorf("%q is no part of a policy", word)
		}
	}
	return New(o)
}
