package calibration

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
)

// This file simulates what happened on the bed, and compares.

// Comparison is a run on the bed beside simulations of it.
type Comparison struct {
	Rows []Row
	// Apart is how far simulations with overheads are from one another that draw other overheads for the pods: nothing can be told apart that is nearer.
	Apart float64
	// BedAlone and SimulatedAlone are how many pods waited for room on one side, and not on the other; Waited on both.
	BedAlone, SimulatedAlone, Waited int
}

// Row is a distribution of latencies in seconds, rising, beside that of the same pods on the bed.
type Row struct {
	Name      string
	Latencies []float64
	// Distance is that of Kolmogorov and Smirnov, and Chance the probability of one as large by chance; of the bed's own rows neither is given.
	Distance, Chance float64
	bed              bool
}

// soon is up to which latency a pod has not waited for room in a simulation without overheads, where only planning takes time.
const soon = time.Millisecond

// Compare simulates what Write wrote into the folder, with so many draws of overheads.
func Compare(folder string, o *Options, out *Outcome, draws int) (*Comparison, error) {
	if draws < 2 {
		return nil, fmt.Errorf("%d draws of overheads: want two at least, as one says nothing of how far others are from it", draws)
	}
	without, err := simulate(folder, o.Policy, "", o.Seed)
	if err != nil {
		return nil, err
	}
	var with [][]time.Duration
	for i := range uint64(draws) {
		drawn, err := simulate(folder, o.Policy, filepath.Join(folder, overheadsFile), o.Seed+i)
		if err != nil {
			return nil, err
		}
		with = append(with, drawn)
	}
	bed := make([]time.Duration, len(out.Pods))
	for i := range bed {
		bed[i] = out.Pods[i].Latency()
	}
	c := &Comparison{}
	everyone := func(int) bool { return true }
	c.add("all pods", everyone, bed, without, with[0])
	c.add("found room at once", func(i int) bool { return without[i] <= soon }, bed, without, with[0])
	c.add("waited for room", func(i int) bool { return without[i] > soon }, bed, without, with[0])
	for _, other := range with[1:] {
		distance, _ := report.KolmogorovSmirnov(rising(with[0], everyone), rising(other, everyone))
		c.Apart = max(c.Apart, distance)
	}
	// On the bed a pod has waited for room if it took longer than any took that had the cluster to itself.
	longest := out.Overheads[len(out.Overheads)-1]
	for i := range bed {
		switch there, here := bed[i] > longest, without[i] > soon; {
		case there && here:
			c.Waited++
		case there:
			c.BedAlone++
		case here:
			c.SimulatedAlone++
		}
	}
	return c, nil
}

// add adds the rows of some pods, if there are any.
func (c *Comparison) add(name string, which func(i int) bool, bed, without, with []time.Duration) {
	measured := rising(bed, which)
	if len(measured) == 0 {
		return
	}
	c.Rows = append(c.Rows, Row{Name: name, Latencies: measured, bed: true})
	for _, of := range []struct {
		name string
		list []time.Duration
	}{{"simulated", without}, {"simulated with overheads", with}} {
		row := Row{Name: of.name, Latencies: rising(of.list, which)}
		row.Distance, row.Chance = report.KolmogorovSmirnov(measured, row.Latencies)
		c.Rows = append(c.Rows, row)
	}
}

// rising are the latencies of some pods in seconds.
func rising(list []time.Duration, which func(i int) bool) []float64 {
	var seconds []float64
	for i, d := range list {
		if which(i) {
			seconds = append(seconds, d.Seconds())
		}
	}
	slices.Sort(seconds)
	return seconds
}

// simulate is how long each pod of the trace waited for its node in the simulator; overheads is a file, or empty.
func simulate(folder, policy, overheads string, seed uint64) ([]time.Duration, error) {
	spec := setup.Default()
	spec.Source.Cluster, spec.Classes = filepath.Join(folder, traceFile), "none"
	spec.Policies, spec.Seeds = []chosen.Policy{{Name: policy}}, setup.Seeds{seed}
	spec.World.Overheads.File = overheads
	plan, err := spec.Plan(policies.All())
	if err != nil {
		return nil, fmt.Errorf("plan the simulation: %w", err)
	}
	run := plan.Runs()[0]
	source, err := plan.Sources.Open(run.Seed)
	if err != nil {
		return nil, err
	}
	config, err := plan.Config(run, source, setup.Env{})
	if err != nil {
		return nil, err
	}
	var tasks bytes.Buffer
	config.Output.Tasks = &tasks
	if _, err := sim.Run(config); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return latencies(&tasks)
}

// latencies reads a table of tasks: how long each waited and then took to begin, in the order of their jobs.
func latencies(table io.Reader) ([]time.Duration, error) {
	rows, err := csv.NewReader(table).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the table of tasks: %w", err)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	job, waiting, overhead := column("job"), column("waiting_s"), column("overhead_s")
	list := make([]time.Duration, len(rows)-1)
	for _, row := range rows[1:] {
		at, err := strconv.Atoi(row[job])
		if err != nil || at < 1 || at > len(list) {
			return nil, fmt.Errorf("the table of tasks names job %q: want one of %d", row[job], len(list))
		}
		for _, text := range []string{row[waiting], row[overhead]} {
			d, err := time.ParseDuration(text + "s")
			if err != nil {
				return nil, fmt.Errorf("the table of tasks, job %d: %w", at, err)
			}
			list[at-1] += d
		}
	}
	return list, nil
}

// Write writes the comparison as tables of Markdown.
func (c *Comparison) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| latency | pods | mean | p10 | p50 | p90 | p99 | most | distance (Kolmogorov–Smirnov) | by chance |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range c.Rows {
		r := &c.Rows[i]
		name, distance, chance := r.Name, fmt.Sprintf("%.3f", r.Distance), fmt.Sprintf("%.2g", r.Chance)
		if r.bed {
			name, distance, chance = r.Name+": bed", "", ""
		}
		fmt.Fprintf(&b, "| %s | %d | %s |", name, len(r.Latencies), millis(mean(r.Latencies)))
		for _, q := range []float64{0.1, 0.5, 0.9, 0.99, 1} {
			fmt.Fprintf(&b, " %s |", millis(quantile(r.Latencies, q)))
		}
		fmt.Fprintf(&b, " %s | %s |\n", distance, chance)
	}
	fmt.Fprintf(&b, "\nSimulations that draw other overheads are up to %.3f apart. %d pods waited for room on both sides, %d on the bed alone, %d in the simulation alone.\n", c.Apart, c.Waited, c.BedAlone, c.SimulatedAlone)
	_, err := io.WriteString(w, b.String())
	return err
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// quantile is the nearest rank of a rising list.
func quantile(rising []float64, q float64) float64 {
	return rising[max(0, min(len(rising)-1, int(q*float64(len(rising))+0.999999)-1))]
}

func millis(seconds float64) string { return fmt.Sprintf("%.1f ms", 1000*seconds) }
