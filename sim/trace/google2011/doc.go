// Package google2011 reads the Google cluster trace of 2011 (ClusterData 2011,
// Reiss et al.) as a workload to be replayed.
//
// # What of the trace is input, and what is Borg's outcome
//
// A replay must not repeat what Borg's own scheduler did. Inputs are
//
//   - machine events: ADD, REMOVE and UPDATE, with the platform as the label
//     "platform", and machine attributes, if that table is there, as labels;
//   - the SUBMIT of a task, with its constraints, if that table is there, as
//     requirements;
//   - the work of a task, from its last SCHEDULE to its FINISH or FAIL;
//   - the KILL of a task by its user, at its time in the trace.
//
// Outcomes, which are ignored, are SCHEDULE, EVICT and the SUBMIT that follows
// an EVICT. So one life of a task reaches from its SUBMIT to its FINISH, FAIL,
// KILL or LOST, whatever happens in between; a SUBMIT after that begins another
// life of the same job and index. It comes when the earlier life has ended in
// the trace, which is not to say that it has in the replay. A life without an
// end in the files at hand never ends: its work is [cluster.Never].
//
// A LOST task has ended without a record of how; it is taken to finish then.
// A FINISH, FAIL or LOST of a task that was not scheduled gives no work, and
// counts as a KILL. UPDATE_PENDING and UPDATE_RUNNING rows are ignored.
//
// # The snapshot
//
// Rows at time 0 give the state of the cell as the trace begins, 600 s before
// the events; these times are kept. A SCHEDULE at time 0 says that the task
// runs on that machine, and its other columns replace those of the SUBMIT:
// they give what the task has now. In part 0, 37,627 of 132,982 differ, and
// all statistics of the snapshot are those of the SCHEDULE rows. Such a task
// has Running and OnNode set and its work counts from 0. For 13 of them, on 13
// machines, OnNode is no node at time 0: three of these machines are in no
// table, ten are added hours or days later.
//
// # Quantities
//
// The kinds are cpu and memory, in units of the largest machine, kept to seven
// decimals, which is all that the trace has; were there more, demand would be
// rounded up and capacity down. Disk is dropped, for no machine has any. Empty
// quantities are 0. They are those of 291 SUBMIT rows marked as reconstructed
// (all replaced by a SCHEDULE row at time 0), and those of 32 ADD rows
// (platform JQ1t…), each of which an UPDATE corrects within a millisecond.
//
// # Cost
//
// The work of a life is in the future when the life begins, so task events are
// read twice: Open reads them once and notes each life's work in a temporary
// file. Memory is that of the tasks alive at once, not of the trace.
package google2011
