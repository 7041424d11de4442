package queue_test

import (
	"testing"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestScenarios runs the stories of testdata, where the lowest row breaks ties.
func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", func(name string) (sched.Policy, error) {
		return queue.New(name, queue.Options{Ties: book.Lowest})
	})
}
