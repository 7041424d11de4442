// Package recording keeps what happened to a core, call by call with what it
// decided, so that a day of a real cluster can be replayed elsewhere, and
// decides the same, byte for byte.
//
// A Recorder stands before a sched.Core, has its methods, and hands each call
// to a Writer; whoever makes the calls otherwise hands them to Writer.Append. Replay feeds a recording to a fresh core and compares.
//
// # The format, version 11
//
// A recording is one or more files, each an epoch that stands for itself: a
// new leader, a full file and a new set of resource kinds all begin with a
// fresh core, fresh policies and a snapshot. A file is JSON lines, compressed
// with zstd. It is flushed now and then, so that a process that is killed loses
// the end of its last file alone; a reader uses all that comes before.
//
// The first line is the header. (Lines are broken here only to be shown.)
//
//	{"fairlead": "recording", "version": 11, "comment": "fairlead-scheduler in kube-system",
//	  "origin": "2026-11-21T13:45:20Z",
//	  "kinds": [{"name": "cpu", "unit": "cores", "per_unit": 1000}],
//	  "classes": [{"name": "gold", "importance": 1}],
//	  "lanes": [{"name": "all", "policy": "kube", "seed": 1, "options": {"tie_break": "fixed"},
//	    "heartbeat": 1000000, "watchdog": 10000000}]}
//
//	origin     the moment that is time 0; may be omitted
//	kinds      as in cluster.Kind; "devices": true if it comes in devices
//	classes    may be omitted, as in cluster.NewState; what was promised besides is
//	           availability and budget in millionths, margin, restart, urgency, tier,
//	           size, redundancy and replicas, as in cluster.Class
//	spec       what a simulated run was made of, as in package setup; omitted of others
//	lanes      as in sched.Lane; options are what was chosen about the policy, by name;
//	           user is the one whose jobs a lane owns, and long_running says that it
//	           owns long-running ones alone; both omitted:
//	           every job that no lane before it owns; patient is IgnoreOutcomes of
//	           sched.Trigger; criteria are how the policy sla orders its queue, each
//	           with weight, function, indifference and preference; omitted: the
//	           policy's own.
//	           Times are in microseconds, here and below
//
// Each line after it is one call on the core, in the order in which they were
// made: what was called, when, the events that went in, the decisions that came
// out. What is omitted is 0, false or empty.
//
//	{"call": "snapshot", "at": 0, "in": [{"e": "node", "node": 0, "name": "n1", "capacity": [4000]},
//	  {"e": "shape", "shape": 0, "set": 0, "demand": [500]}, {"e": "job", "job": 0, "name": "web"}]}
//	{"call": "step", "at": 70, "in": [{"e": "task", "task": 0, "seq": 1, "job": 0, "shape": 0}],
//	  "out": [{"d": "place", "task": 0, "seq": 1, "attempt": 1, "node": 0}]}
//	{"call": "begin", "at": 90, "lane": 0}
//	{"call": "observe", "at": 95, "in": [{"e": "started", "task": 0, "attempt": 1, "node": 0}]}
//	{"call": "finish", "at": 99, "lane": 0, "budget": 1000}
//
//	snapshot   Core.Observe, with the events that rebuild the state from nothing;
//	           always the first call, and never later
//	observe    Core.Observe
//	step       Core.Step
//	begin      Core.Begin of the lane, by its place in the header
//	finish     Core.Finish of the lane's round, which ran with that budget
//	won        of step and finish: who won each race of their rounds, in their
//	           order, as in "won": ["incremental", "cost-scaling"]; where the
//	           solver is race. A replay lets the same ones win
//	given_up   of finish: at which model of the round, from 1, the solver of integer
//	           programs was given up, as it was too slow or crashed; omitted: at none.
//	           A replay gives up there
//	more       no call: the first part of the events of the next one, so that no
//	           line grows long
//
// Events are those of package cluster, with their fields, and among them are those that
// the core refused, such as one that names a wild row (cluster.RowsOf): a replay refuses
// them as well.
//
//	node             node, name, capacity, overcommit, labels, groups, tier; labels
//	                 and groups are pairs: [["zone", "a"]]
//	node_changed     the same
//	node_lost        node
//	usage            node, usage
//	set              set, nodes: which may be used, and not what for (sched.Filters)
//	set_forgotten    set
//	eligible         set, node, eligible
//	shape            shape, set, usual, demand, max, per_node, tags, never_preempts, stays, prefers:
//	                 sets with a weight each, [[3, 100], [4, -50]]
//	shape_forgotten  shape
//	room             shape, coming: whether room is on its way for those who wait with it
//	constraint       constraint, spec: name, owner, hard or else weight, arriving, and any,
//	                 which lists alternatives, each a list of bounds: subject, target, min, max
//	                 (omitted: none), group, self_counted, or_first, over_fewest, least_sets
//	constraint_forgotten  constraint
//	class            class, promise: name, importance and the rest of what a class in the
//	                 header has
//	class_forgotten  class
//	solver_ready     that of integer programs may be asked from now on
//	job              job, name, user, foreign, yields, together, first_ends, long_running, loose, service, disruption, gang, due
//	job_changed      job, disruption, gang
//	job_forgotten    job
//	task             task, seq, job, shape, class, priority, gated, input: of each block its
//	                 bytes and up to 3 nodes that hold it, [[67108864, 4, 9]]; account, of
//	                 a task that another core knew: when it was submitted and first ran,
//	                 how long it was waiting, starting or leaving, that since it first
//	                 ran, and running; lasts, how long a run of it will work, where somebody says; coming: it comes in
//	                 place of a task that is yet to leave, as an eviction ends its run
//	ungated          task, seq, lasts: for how long it has waited while it was gated
//	gated            task, seq
//	reshaped         task, seq, shape, priority
//	found            task, seq, node, devices, grant; of devices, a bit for each
//	started          task, attempt, node, devices, grant
//	refused          task, attempt; the bind
//	left             task, attempt
//	stays            task, attempt; its eviction was refused
//	protected        task, attempt, until, reason; it is not to be evicted before until
//	budget           budget, spare; so many of the runs that it guards may leave without violating it
//	guarded          task, attempt, budgets
//	leaving          task, attempt; somebody else told it to
//	ended            task, seq, finished
//
// Decisions are place, evict, resize and end, with task, seq, attempt, node, devices
// and grant.
//
// A vector that is omitted is none; one that is empty is written, as "grant": [], since a
// core refuses it. Text is UTF-8. A byte of a name that is part of no character is written
// as the lone surrogate \udc80 to \udcff, as Python's surrogateescape does.
//
// # Limits
//
// A file that somebody made up is an error and not a full memory. A line has at most 64 MiB,
// the first one 1 MiB, an event or a decision 4 MiB, and what a line says beside its lists
// 64 KiB; compressed text refers back by at most 8 MiB. The events and decisions of a call
// take at most 1 GiB when they are read. The tables of the core take at most 1 GiB, and 16 bytes
// more for each byte of text read before, up to 4 GiB, as far as the rows, kinds, sets, bounds
// of constraints and lanes in the file let that be foreseen. Errors name the line and the limit.
//
// # Versions
//
// Names that are not listed are errors. The version changes when a name is added, goes or
// changes its meaning. Versions 2 to 10 are read, too:
//
//	2       lacks usage, together and input
//	2 to 3  lack won
//	2 to 4  lack max, grant, first_ends, finished, resize, end, account, patient and criteria
//	2 to 5  lack constraint, constraint_forgotten, tags and long_running
//	2 to 6  lack protected, leaving, and vectors that are empty and not omitted, and have
//	        replaced what is no UTF-8
//	2 to 7  lack class_forgotten, and class as an event; they lack spec, loose, lenient, beside, given_up, never_preempts, stays,
//	        prefers, usual, budget, budgets, guarded, spare, yields, service, disruption, gang, arriving and what goes with it, and lanes lack long_running and options, and have ties, solver and
//	        migrations instead
//	2 to 8  lack least_run of classes, due of jobs and lasts of tasks
//	2 to 9  lack room
//	2 to 10 lack coming of tasks, and lasts where they are ungated
package recording
