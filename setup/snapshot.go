package setup

import (
	"errors"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
)

// This file looks at the cluster of a source as it is, without a policy that decides: it plays a run in which
// nobody is placed. What runs there runs, over-commit, tiers and classes count as in any run, and all
// else waits.

// Snapshot is the cluster of the source at that moment; 0 is its start. The first policy of the plan says who could
// be promised what, and decides nothing.
func (p *Plan) Snapshot(source Opened, at cluster.Time, e Env) (sim.Ending, error) {
	config, err := p.Config(p.Runs()[0], source, e)
	if err != nil {
		return sim.Ending{}, err
	}
	var end sim.Ending
	config.Lanes = []sched.Lane{{Name: "nobody", Policy: nobody{}}}
	config.Until = max(at, cluster.Microsecond)
	config.Finished = func(e sim.Ending) { end = e }
	result, err := sim.Run(config)
	if err == nil && result.Interrupted {
		err = ErrInterrupted
	}
	return end, err
}

// ErrInterrupted says that Env.Stop ended what was under way.
var ErrInterrupted = errors.New("interrupted")

// nobody is a policy that places nobody.
type nobody struct{}

// Plan plans nothing.
func (nobody) Plan(*sched.Trial, *sched.Changed, int64, *sched.Plan) {}

// Why says what nodes refuse the task for.
func (nobody) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}
