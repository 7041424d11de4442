package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"fairlead.dev/fairlead/kube/testbed/perf"
)

// perfRow is what a workload came to with one scheduler: it was skipped, it failed, or it was measured once a round.
type perfRow struct {
	*contender
	skip *perf.Skip
	err  error
	// rounds holds, for each measurement of the workload, what each round came to.
	rounds [][]perf.Measured
}

// add adds a round.
func (r *perfRow) add(measured []perf.Measured) {
	if r.rounds == nil {
		r.rounds = make([][]perf.Measured, len(measured))
	}
	for i, m := range measured {
		r.rounds[i] = append(r.rounds[i], m)
	}
}

// print writes a line for each measurement.
func (r *perfRow) print(w io.Writer, name string) {
	for _, rounds := range r.rounds {
		fmt.Fprintf(w, "| %s | %s | ran | %d | %s | %s | %s | %s |\n", name, r.with, rounds[0].Pods,
			spread(rounds, func(m *perf.Measured) float64 { return m.PerSecond() }, func(x float64) string { return fmt.Sprintf("%.0f", x) }),
			spread(rounds, func(m *perf.Measured) time.Duration { return m.P50 }, func(d time.Duration) string { return short(d).String() }),
			spread(rounds, func(m *perf.Measured) time.Duration { return m.P99 }, func(d time.Duration) string { return short(d).String() }),
			r.cpuPerPod(rounds))
	}
}

// leastCPU is what a process must have used for its share per pod to say anything: the kernel counts in ticks of 10 ms.
const leastCPU = 200 * time.Millisecond

// cpuPerPod is the scheduler's processor time a pod, and nothing if it is too little to say.
func (r *perfRow) cpuPerPod(rounds []perf.Measured) string {
	if slices.ContainsFunc(rounds, func(m perf.Measured) bool { return m.CPU[r.process] < leastCPU }) {
		return ""
	}
	return spread(rounds, func(m *perf.Measured) time.Duration { return m.CPUPerPod(r.process) },
		func(d time.Duration) string { return fmt.Sprintf("%.2f", millis(d)) })
}

// spread is the median of what the rounds came to, and from which to which they went if there were several.
func spread[T cmp.Ordered](rounds []perf.Measured, of func(*perf.Measured) T, text func(T) string) string {
	all := make([]T, len(rounds))
	for i := range rounds {
		all[i] = of(&rounds[i])
	}
	slices.Sort(all)
	median := text(all[(len(all)-1)/2])
	if len(all) == 1 {
		return median
	}
	return fmt.Sprintf("%s (%s–%s)", median, text(all[0]), text(all[len(all)-1]))
}
