package experiment

import (
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is the workload of Firmament's experiments: Google's trace of 2011, or
// what its generator makes up, in slots, with input that is made up for either.

// cell is Google's cluster and its work, for some time.
type cell struct {
	data   string // the folder of the trace; empty for the generator
	nodes  int    // of the generator
	tasks  int    // of it, on a node at the start; 0 is as many as Google had
	slots  int64  // of a node
	length cluster.Time
	seed   uint64
}

// googleCell is the cell that the options allow: the trace is as large as it is,
// and as long.
func googleCell(o *Options, slots int64, length cluster.Time) (cell, error) {
	c := cell{slots: slots, length: length, seed: o.Seed, nodes: of(o.Size, 12_500, 2_500, 200)}
	if o.Data == "" || o.Size != Full { // a small part of the trace would be another trace
		return c, nil
	}
	c.data = filepath.Join(o.Data, "google2011")
	if _, err := os.Stat(c.data); err != nil {
		return c, fmt.Errorf("the data: %w; a folder of that name holds Google's machine_events and task_events", err)
	}
	src, err := google2011.Open(c.data, google2011.Options{})
	if err != nil {
		return c, err
	}
	defer src.Close() //nolint:errcheck // it was only read
	c.length = min(c.length, src.Counts().LastTaskEvent)
	return c, nil
}

// open opens the workload.
func (c cell) open() (src trace.Source, err error) {
	if c.data != "" {
		src, err = google2011.Open(c.data, google2011.Options{})
	} else {
		g := workload.Default()
		g.Nodes, g.Seed, g.Length, g.Constrained = c.nodes, c.seed, c.length, 0
		if c.tasks > 0 {
			g.TasksPerNode = float64(c.tasks)
		}
		src, err = workload.New(g)
	}
	if err != nil {
		return nil, err
	}
	return workload.WithData(trace.Slots(src, c.slots), c.input())
}

// input is where tasks' data lie, as in Firmament's experiments: racks of 30 nodes,
// blocks of a GiB, three replicas of
// each on nodes of a pool of the job's.
func (c cell) input() workload.Data {
	d := workload.DefaultData()
	d.Layout, d.Block, d.Seed = workload.Bounded, 1<<30, c.seed
	return d
}

// name is what results call it.
func (c cell) name() string {
	if c.data != "" {
		return fmt.Sprintf("google2011?slots=%d", c.slots)
	}
	if c.tasks > 0 {
		return fmt.Sprintf("synthetic:google?nodes=%d&tasks-per-node=%d&constrained=0&seed=%d&slots=%d", c.nodes, c.tasks, c.seed, c.slots)
	}
	return fmt.Sprintf("synthetic:google?nodes=%d&constrained=0&seed=%d&slots=%d", c.nodes, c.seed, c.slots)
}

// describe says in a sentence what it is.
func (c cell) describe() string {
	if c.data != "" {
		return fmt.Sprintf("Google's trace of 2011, its 12,477 nodes with %d slots each, the first %v", c.slots, c.length)
	}
	return fmt.Sprintf("generator like Google's trace of 2011: %d nodes with %d slots each, %v, seed %d", c.nodes, c.slots, c.length, c.seed)
}
