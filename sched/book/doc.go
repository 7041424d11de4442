// Package book is what all policies keep of a cluster: who waits, which nodes changed, and which
// of them are best for whom.
//
//   - Waiting is the waiting tasks in groups of those that are the same to a policy: where one does
//     not fit, none does. A group that fits nowhere sleeps until something changes by which it could.
//   - Queue is tasks in their order, of which each stands in one queue at most (Tickets): those of a
//     group, or whatever else a policy keeps in line.
//   - Line is groups in the order of their first tasks.
//   - Window is the waiting tasks first come, first served, seen from the front.
//   - Journal is the nodes in the order in which they changed, for whoever catches up later.
//   - Indexes are the nodes by score, one index for each shape, brought up to date when it is used.
//   - Rooms is the nodes by what they have left.
//   - Zones is which nodes are in which zone.
//   - Users numbers the users of jobs, and ClassRanks are the service classes by importance.
//
// All of it is a function of the changed rows that a policy is shown (sched.Changed), in work that
// goes with what changed.
package book
