package queue_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestScenarios runs the stories of testdata, where the lowest row breaks ties. A policy may be told who says how long tasks
// will run: "policy nilas lifetimes=oracle".
func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", func(name string) (sched.Policy, error) {
		name, lifetimes, _ := strings.Cut(name, " lifetimes=")
		return queue.New(name, queue.Options{Ties: book.Lowest, Lifetimes: lifetimes})
	})
}
