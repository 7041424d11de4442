package sched_test

import (
	"testing"

	"fairlead.dev/fairlead/sched/schedtest"
)

func TestScenarios(t *testing.T) {
	schedtest.RunScenarios(t, "testdata", nil)
}
