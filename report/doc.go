// Package report is what a simulation yields and how it is printed: pure data
// in, text out. It measures nothing itself, and knows no simulator.
//
// The simulator counts durations in Histograms, fills one Run per policy and
// seed, and hands them to Write, which prints a table for people, JSON for
// programs or CSV for spreadsheets. Compare holds runs of several seeds against
// each other, and WriteComparison prints that.
//
// # The JSON contract
//
// A file holds one object, read back by ReadJSON:
//
//	{"version": 1, "spec": {...}, "runs": [{
//	  "policy", "tie_break", "lifetimes", "cluster", "workload", "data", "seed", "until_s",
//	  "speedup", "overcommit", "initial", "overheads", "evicted_work",
//	  "heartbeat_s", "watchdog_s", "long_running", "planner_time", "usage",
//	  "faults", "certain",
//	  "nodes", "nodes_active", "nodes_empty", "nodes_overfull", "simulated_s", "interrupted", "notes",
//	  "tasks": {"submitted", "placed", "finished", "failed", "killed", "superseded",
//	    "running", "pending", "unplaceable", "preempted", "migrated", "evicted",
//	    "without_placement", "evictions_refused"},
//	  "placement_latency_s": {"mean", "p50", "p90", "p99", "max"},
//	  "task_response_s": {"mean", "p50", "p90", "p99", "max"},
//	  "job_response_s": {"mean", "p50", "p90", "p99", "max"},
//	  "utilisation": {"cpu": {"mean", "max"}, ...},
//	  "allocation": {"cpu": {"mean", "final"}, ...},
//	  "classes": {"gold": {"submitted", "placed", "finished", "pending", "preempted",
//	    "placement_latency_s": {"mean", "p50", "p90", "p99", "max"},
//	    "availability": {"mean", "min", "p50", "max"}, "target", "slo_fulfilment",
//	    "deficit", "gini", "penalties", "overhead", "cores", "revenue"}, ...},
//	  "reads": {"runs", "bytes", "local_bytes", "rack_bytes", "remote_bytes",
//	    "missing_bytes", "locality", "run_locality", "moved_bytes_per_hour"},
//	  "fragmentation": {"gpu": {"final"}, ...},
//	  "latency_curves": {"all": [[value, share], ...], "gold": ..., ...},
//	  "availability_curves": {"gold": [[value, share], ...], ...},
//	  "series": {"step_s", "columns": {"pending": [number, ...], ...}},
//	  "heat": {"times_s", "nodes", "fill", "names"},
//	  "sample": {"tasks", "response_s", "latency_s", "of"},
//	  "planner": {"rounds", "decisions", "seconds", "wall_s", "decisions_per_s"},
//	  "reasons": {"cpu": 120, "unplaceable": 2, ...},
//	  "pending": [{"owner", "tasks", "names", "code", "why", "help"}, ...]
//	}]}
//
// The fields of Run and of the types below it say what each name means and in
// which unit. Names ending in _s, and planner.seconds, are seconds; shares are
// fractions of 1.
//
// The text is a function of the data, byte for byte: maps are sorted by key
// and numbers rounded to six decimals, which is a microsecond. There is no
// null, NaN or infinity. Lists of numbers stand on one line. A distribution or
// curve without samples is left out, and so are "spec", "notes", "wall_s", "examples", "pending", "certain", "nodes_empty", the names
// from "reads" to "sample", and those from "tie_break" to "faults", but for
// "seed", when they are 0 or empty; those from "target" to "penalties" are there in
// classes with a target alone; every other name is always there, and a map
// without entries is {}. CSV has the same values, but for lists.
//
// Names may be added within a version; a name never changes its meaning or
// goes. A reader refuses versions that it does not know. ReadJSON refuses names
// that it does not know too, and says where they stand and which known one is
// nearest: it reads for the program that wrote the file or a newer one, where such
// a name is a mistake. Other readers pass over them.
package report
