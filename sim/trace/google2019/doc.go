// Package google2019 reads the Google cluster traces of 2019 (ClusterData2019, one of eight cells over a month; Tirmazi et
// al., EuroSys'20) as a workload to be replayed. No bytes of them were at hand: it is written from the published schema,
// clusterdata_trace_format_v3.proto of google/cluster-data, and tested on made-up rows of that schema.
//
// # Files
//
// A folder holds tables as BigQuery exports them, each in any number of shards: as lines of JSON, perhaps compressed with
// gzip, in which integers may be texts, or as Parquet.
//
//	machine_events-000000000000.json.gz      must be there
//	instance_events-000000000000.json.gz     must be there
//	collection_events-000000000000.json.gz   users, and how many instances a machine may hold
//	machine_attributes-000000000000.json.gz  labels of machines
//
// or the same in folders, instance_events/part-0.parquet. A database exports rows in any order, so rows are put in that of
// time, what does not fit in memory in a temporary file (internal/spill). At equal times they go by kind of event, in the
// order of a life: SUBMIT, QUEUE, ENABLE, SCHEDULE, EVICT and so on. instance_usage is not read.
//
// # What of the trace is input, and what is Borg's outcome
//
// As of 2011 (package google2011): inputs are machine events and attributes; the SUBMIT of an instance, with its
// constraints; its work, from its last SCHEDULE to its FINISH or FAIL; and its KILL. SCHEDULE and EVICT are outcomes, and
// so are QUEUE and ENABLE, by which Borg's batch scheduler held jobs back until there was room for them: that is for the
// simulated scheduler to decide. A KILL because a parent has ended counts as one by a user. A LOST instance finishes then.
//
// Rows at time 0 say what there was before the trace begins, at 600 s. An instance that was scheduled then runs on its
// machine at the start and its work counts from 0; it asks for what its SCHEDULE and UPDATE rows of time 0 say. Where
// machine_id is 0 or -1, none or a dedicated machine that is not in the trace, it waits.
//
// # Alloc sets
//
// An alloc set holds room, in instances of its own, for the tasks of jobs. Those instances are tasks here, as all others
// are. A task in an alloc takes none but the alloc's room, so it is left out and counted; with Options.OpenAllocs it is
// the other way: allocs are left out, and the tasks in them are placed as any others.
//
// # Priorities
//
// Priorities go from 0 to some 450. Google's tiers become priorities of 2011, which tables of classes and policies know:
//
//	0 to 99      free                0
//	100 to 115   best-effort batch   2
//	116 to 119   mid                 8
//	120 to 359   production          9
//	from 360     monitoring          11
//
// The bounds are those of Google's own analysis (clusterdata_analysis_colab.ipynb), which has monitoring with production; that
// it begins at 360 says the paper. With Options.OwnPriorities they are as they stand in the trace.
//
// # What the model does not have
//
// Vertical scaling changes what a task asks for as it runs, by what it was seen to use. A task asks here for what it asked
// for when it was submitted, or at time 0; UPDATE rows after that are outcomes of Autopilot, and are ignored. That a job
// starts after others, and how many of it a switch may hold, is not simulated: its tasks come when they came in the trace.
// Notes count such jobs.
//
// # Quantities
//
// The kinds are cpu and memory, in 2^-20 of the largest machine, in which the published rows are whole numbers; anything
// finer is rounded up in demands and down in capacities. The switch of a machine is its rack, its platform a label.
package google2019
