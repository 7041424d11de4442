// Package lifetime says how much longer tasks will run, to policies that place them beside those who leave at about
// the same time, so that nodes come to be empty.
//
// A Predictor is asked for a task that waits, or has run for a while already. Three are here:
//
//   - oracle: what the world has said of the task (cluster.Lasts), less what it has run. No real world knows; it is the
//     bound of what lifetimes can be of use for;
//   - mean: how long tasks like it have run, in the mean, less what it has run. It is one prediction for the whole life of a
//     task, and of no use for one that has outlived it;
//   - learned: the conditional expectation E[remaining | has lived t], by survival curves of tasks like it. As a task lives
//     on it is predicted anew, so that one which was taken for a short one is taken for a long one in time (LAVA and
//     NILAS: Ling et al., MLSys 2025, arXiv 2412.09840).
//
// What is learned is learned of what was shown up to now and of nothing else. What makes tasks alike is in keys.go, how a
// curve is made in curve.go.
package lifetime

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Predictor says how much longer tasks will run.
type Predictor interface {
	// Learn takes in what changed since it was called last.
	Learn(s *cluster.View, c *sched.Changed)
	// Remaining is how much longer the task will run: from its start on if it does not run now. It is
	// cluster.Never of one that does not end by itself, where that is known.
	Remaining(s *cluster.View, t cluster.TaskID) cluster.Time
}

// The names of the predictors.
const (
	Curves = "learned"
	Means  = "mean"
	Truth  = "oracle"
)

// Names lists them, the one for everyday use first.
func Names() []string { return []string{Curves, Means, Truth} }

// Named makes the predictor of that name; empty is the first. It is false if there is none.
func Named(name string) (Predictor, bool) {
	switch name {
	case "", Curves:
		return &learned{}, true
	case Means:
		return &mean{}, true
	case Truth:
		return &oracle{}, true
	}
	return nil, false
}

// oracle is told; of whom nobody has said anything it goes by what it has learned.
type oracle struct{ learned }

// Remaining is what was said, less what the run has worked.
func (o *oracle) Remaining(s *cluster.View, t cluster.TaskID) cluster.Time {
	switch lasts := cluster.Lasts(s, t); lasts {
	case 0:
		return o.learned.Remaining(s, t)
	case cluster.Never:
		return cluster.Never
	default:
		return max(lasts-lived(s, t), 0)
	}
}

// lived is how long the task's present run has worked.
func lived(s *cluster.View, t cluster.TaskID) cluster.Time {
	task := s.Task(t)
	if task.Phase != cluster.Running {
		return 0
	}
	return s.Now() - task.Account.Since
}
