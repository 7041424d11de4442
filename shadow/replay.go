package shadow

import (
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// Replay follows one file of a recording, whose policies build makes, and returns what was found in it. The files of one scheduler are to come in their order.
func (c *Comparison) Replay(in io.Reader, name string, build func(recording.Lane) (sched.Policy, error)) (recording.Result, error) {
	result, err := recording.Follow(in, name, build, func(call *recording.Call, core *sched.Core) {
		c.Follow(&Call{
			At: call.At, Snapshot: call.Kind == recording.Snapshot, In: call.In, Out: call.Out, View: core.View(), Rounds: core.Counts().Rounds,
			Undecided: func(t cluster.TaskID) bool { return sched.Undecided(core, t) },
		})
	})
	if err != nil {
		return result, err
	}
	c.origin = result.Header.Origin
	for _, lane := range result.Header.Lanes {
		if lane.User != "" && !slices.Contains(c.schedulers, lane.User) {
			c.schedulers = append(c.schedulers, lane.User)
		}
	}
	return result, nil
}
