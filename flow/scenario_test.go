package flow_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/slack"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

func TestScenarios(t *testing.T) { schedtest.RunScenarios(t, "testdata", parse) }

// parse reads the name of a policy with its options: "quincy delay moves=1".
func parse(text string) (sched.Policy, error) {
	var model flow.Model
	var o flow.Options
	q, isQuincy := quincy.Standard(), false
	for i, word := range strings.Fields(text) {
		name, number, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(number)
		switch {
		case i == 0 && word == "load-spreading":
			model = &spread.Model{}
		case i == 0 && word == "cpu-mem":
			model = &cpumem.Model{}
		case i == 0 && word == "quincy":
			isQuincy = true
		case i == 0 && word == "qos-flow":
			model = slack.New(slack.Standard())
		case name == "period" && err == nil && i > 0 && strings.HasPrefix(text, "qos-flow"):
			model = slack.New(slack.Options{Period: cluster.Time(n) * cluster.Second})
		case name == "algorithm" && slices.Contains(mcmf.Algorithms(), mcmf.Algorithm(number)):
			o.Algorithm = mcmf.Algorithm(number)
		case name == "stages":
			for stage := range strings.SplitSeq(number, ",") {
				o.Stages = append(o.Stages, flow.Stage(stage))
			}
		case name == "moves" && err == nil:
			o.Moves = n
		case name == "threshold" && err == nil && isQuincy:
			q.Threshold = int64(n)
		case word == "delay" && isQuincy:
			q.Delay = true
		default:
			return nil, fmt.Errorf("%q is no part of a policy", word)
		}
		if i == 0 {
			o.Name = word
		}
	}
	if isQuincy {
		model = quincy.New(q)
	}
	if o.Stages == nil && (isQuincy || o.Name == "qos-flow") {
		o.Stages = []flow.Stage{flow.Spread, flow.Preempt}
	}
	return flow.New(model, o), nil
}
