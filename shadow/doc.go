// Package shadow compares what a core decides with what another scheduler does with the same tasks.
//
// A shadow watches the tasks of another scheduler, decides for them, and carries nothing out. Its world is the real cluster, one step ahead: each task is decided when it can be
// placed, on the cluster as the other scheduler has made it so far. The decision is noted, and holds its room, until the other scheduler has placed the task: then the task is moved to
// where it really is, so that the next one is decided on the same cluster as it was for the other. Each decision is thus compared by itself; what a cluster would come to look like
// after a day of such decisions is not said, and is a question for a simulation.
//
// All that is known of both sides is in the calls on the core, which are what a recording holds:
//
//	a task could be placed     TaskUngated
//	we decided                 a decision to place it; or it was given room that others are to leave, which the world refuses, and then takes the task back (TaskGated)
//	they bound it              TaskStarted, to our node; or BindRefused, TaskGated and TaskFound, elsewhere; or TaskFound alone, where we had decided nothing, or
//	                           nothing that stands
//	they preempted a run       TaskProtected with the reason Preempted
//
// So a Comparison that follows the calls of a core as they are made, and one that follows those of a replay of the recording, say the same. It keeps something for each task that
// waits, and for each of a class that promises an availability.
//
// A decision that was taken back within Holds, but not because the other scheduler has placed the task in the same moment, does not count: upstream's filters refused it, or the task has changed.
// One that has stood for longer is taken back by the world, so that its room is not kept for ever for a task that the other scheduler does not place, and stays what we decided.
// A new core begins anew: for tasks that wait then it is as if they could be placed from that moment on.
package shadow
