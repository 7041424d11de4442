package calibration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// This file keeps what happened, so that it can be simulated here and by anybody.

// The files of a folder that Write writes.
const (
	traceFile     = "came.jsonl"    // nodes, and pods when they came, which work for as long as they did
	overheadsFile = "overheads.txt" // of a pod that finds room at once
)

// The vectors of the trace.
const (
	cpu    = iota // in thousandths of a core
	memory        // in MiB
)

func kinds() []cluster.Kind {
	return []cluster.Kind{cpu: {Name: "cpu", Unit: "cores", PerUnit: 1000}, memory: {Name: "memory", Unit: "GiB", PerUnit: 1024}}
}

// Write writes the files into the folder.
func Write(folder string, nodes int, out *Outcome) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the trace: %w", err)
	}
	var text strings.Builder
	for _, d := range out.Overheads {
		fmt.Fprintf(&text, "%.6f\n", d.Seconds())
	}
	if err := os.WriteFile(filepath.Join(folder, overheadsFile), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write overheads: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, traceFile))
	if err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return writeTrace(stream.NewWriter(file, kinds()), nodes, out.Pods)
}

func writeTrace(w *stream.Writer, nodes int, pods []Ran) error {
	for i := range nodes {
		node := trace.Node{ID: uint64(i + 1), Name: fmt.Sprintf("node-%d", i), Capacity: cluster.Vector{cpu: nodeCores * 1000, memory: nodeGiB * 1024}}
		if err := w.Write(&trace.Record{What: trace.NodeAdded, Node: node}); err != nil {
			return fmt.Errorf("write a node: %w", err)
		}
	}
	for _, i := range inOrder(pods) {
		task := trace.Task{
			Job: uint64(i + 1), JobTasks: 1, User: "default", Unowned: true, Work: micros(pods[i].Ended - pods[i].Bound),
			Demand: cluster.Vector{cpu: pods[i].size.halves * 1000 / halfCores, memory: pods[i].size.gib * 1024},
		}
		if err := w.Write(&trace.Record{Time: micros(pods[i].Created), What: trace.TaskSubmitted, Task: task}); err != nil {
			return fmt.Errorf("write a pod: %w", err)
		}
	}
	return w.Close()
}

// inOrder are the numbers of the pods in the order in which they came.
func inOrder(pods []Ran) []int {
	order := make([]int, len(pods))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(pods[a].Created - pods[b].Created) })
	return order
}

func micros(d time.Duration) cluster.Time { return cluster.Time(d.Microseconds()) }
