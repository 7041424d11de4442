// Package perf runs upstream's scheduler_perf workloads against any scheduler on a test bed.
//
// Upstream describes them in performance-config.yaml files beside its own benchmark, whose scheduler runs in the process of the
// benchmark. Here they are read as they are ([Load]), from the module cache, and carried out over the API alone ([Run]), so that
// whoever serves the default-scheduler is measured. What cannot be had that way is skipped, with a reason from a closed list ([Reason]).
package perf
