package workload

import (
	"errors"
	"io"
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// ec2World is what a workload says, sorted by what it is.
type ec2World struct {
	Nodes    []trace.Node
	Load     []trace.Task
	Requests []trace.Task
}

func readEC2(t *testing.T, e EC2) ec2World {
	t.Helper()
	s, err := NewEC2(e)
	if err != nil {
		t.Fatal(err)
	}
	var w ec2World
	var r trace.Record
	for err = s.Next(&r); err == nil; err = s.Next(&r) {
		switch {
		case r.What == trace.NodeAdded && r.Time == 0 && len(w.Load)+len(w.Requests) == 0:
			w.Nodes = append(w.Nodes, r.Node)
		case r.What == trace.TaskSubmitted && r.Time == 0 && r.Task.Running && len(w.Requests) == 0:
			w.Load = append(w.Load, r.Task)
		case r.What == trace.TaskSubmitted && r.Time == cluster.Second && !r.Task.Running:
			w.Requests = append(w.Requests, r.Task)
		default:
			t.Fatalf("%+v out of place", r)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return w
}

// TestEC2 checks the definition: 19 types in equal numbers, that share of each
// node in use by tasks that stay, as many requests as asked for, each of which
// fits an empty half of some node.
func TestEC2(t *testing.T) {
	for _, e := range []EC2{DefaultEC2(), {Nodes: 5000, Tasks: 100, Load: 0.5, Seed: 7}, {Nodes: 1, Tasks: 50, Load: 1}, {Nodes: 20, Tasks: 0, Load: 0}} {
		w := readEC2(t, e)
		types := map[string]int{}
		rest := map[uint64]cluster.Vector{}
		var largest cluster.Vector
		for _, n := range w.Nodes {
			types[n.Labels[0].Value]++
			used := cluster.Vector{int64(float64(n.Capacity[0]) * e.Load), int64(float64(n.Capacity[1]) * e.Load)}
			rest[n.ID] = used
			if largest == nil || largest.Fits(n.Capacity) {
				largest = n.Capacity
			}
		}
		for name, count := range types {
			if few := e.Nodes / 19; count < few || count > few+1 {
				t.Errorf("%+v: %d nodes of type %s", e, count, name)
			}
		}
		if len(w.Nodes) != e.Nodes || len(types) != min(e.Nodes, 19) || len(w.Requests) != e.Tasks {
			t.Errorf("%+v: %d nodes of %d types, %d requests", e, len(w.Nodes), len(types), len(w.Requests))
		}
		jobs := map[uint64]bool{}
		for _, task := range w.Load {
			jobs[task.Job] = true
			for k, q := range task.Demand {
				rest[task.OnNode][k] -= q
				if q < 0 {
					t.Fatalf("%+v: %+v", e, task)
				}
			}
		}
		for id, v := range rest {
			if v[0] != 0 || v[1] != 0 {
				t.Errorf("%+v: node %d: of what should be in use, %v is not", e, id, v)
			}
		}
		for _, task := range w.Requests {
			jobs[task.Job] = true
			if task.Work < 1 || task.Demand[1] < 1 || 2*task.Demand[0] > largest[0] || 2*task.Demand[1] > largest[1] {
				t.Errorf("%+v: a request %+v, the largest node has %v", e, task, largest)
			}
		}
		if len(jobs) != len(w.Load)+len(w.Requests) {
			t.Errorf("%+v: %d jobs of %d tasks", e, len(jobs), len(w.Load)+len(w.Requests))
		}
	}
}

// TestEC2Mean compares a long list of requests with the mean of the flow, which
// is that of the data without what fits no half of a node (there is none).
func TestEC2Mean(t *testing.T) {
	e := DefaultEC2()
	e.Tasks = 50_000
	var cpu, memory float64
	for _, task := range readEC2(t, e).Requests {
		cpu += float64(task.Demand[0]) / 96_000
		memory += float64(task.Demand[1]) / (384 * 1024)
	}
	cpu, memory = cpu/float64(e.Tasks), memory/float64(e.Tasks)
	if math.Abs(cpu-0.03805) > 0.0005 || math.Abs(memory-0.03368) > 0.0005 {
		t.Errorf("a request asks for %.5f and %.5f of the largest node, in the data 0.03805 and 0.03368", cpu, memory)
	}
}

// Nodes, load and requests are drawn apart.
func TestEC2Seeds(t *testing.T) {
	e := EC2{Nodes: 100, Tasks: 100, Load: 0.5, Seed: 1}
	w := readEC2(t, e)
	if diff := gocmp.Diff(w, readEC2(t, e)); diff != "" {
		t.Error("the same seed twice: ", diff)
	}
	other := e
	other.Seed = 2
	o := readEC2(t, other)
	for part, same := range map[string]bool{
		"nodes": gocmp.Equal(w.Nodes, o.Nodes), "load": gocmp.Equal(w.Load, o.Load), "requests": gocmp.Equal(w.Requests, o.Requests),
	} {
		if same {
			t.Errorf("another seed gives the same %s", part)
		}
	}
	other = e
	other.Load, other.Tasks = 0.3, 50
	o = readEC2(t, other)
	if !gocmp.Equal(w.Nodes, o.Nodes) || !gocmp.Equal(w.Requests[:50], o.Requests) {
		t.Error("less load, or fewer requests, changes the others")
	}
}

func TestEC2Validate(t *testing.T) {
	for _, e := range []EC2{{}, {Nodes: maxNodes + 1}, {Nodes: 1, Tasks: -1}, {Nodes: 1, Load: -0.1}, {Nodes: 1, Load: 1.1}, {Nodes: 1, Load: math.NaN()}} {
		if _, err := NewEC2(e); err == nil {
			t.Errorf("NewEC2(%+v) found nothing wrong", e)
		}
	}
}
