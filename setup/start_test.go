package setup

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// TestAtStart: all of time 0 is read ahead, however nodes and tasks are mixed, and given
// out with the nodes first; where it is more than is read ahead, nothing is lost.
func TestAtStart(t *testing.T) {
	const text = `{"fairlead":"trace","version":5,"kinds":[{"name":"cpu","unit":"cores","per_unit":1000}]}
{"t":0,"submit":{"job":1,"task":0,"demand":{"cpu":1},"tags":["a"]}}
{"t":0,"add":{"node":2,"capacity":{"cpu":2},"labels":{"two":"2"}}}
{"t":0,"submit":{"job":3,"task":0,"demand":{"cpu":3},"require":[["three","=","3"]]}}
{"t":0,"constrain":{"name":"apart","any":[[{"subject":["a"],"target":["a"],"max":0,"group":"node"}]]}}
{"t":0,"add":{"node":4,"capacity":{"cpu":4},"groups":{"rack":"four"}}}
{"t":0,"submit":{"job":5,"task":0,"demand":{"cpu":5},"max":{"cpu":6}}}
{"t":6,"add":{"node":6,"capacity":{"cpu":6}}}
{"t":7,"submit":{"job":7,"task":0,"demand":{"cpu":7}}}
`
	for _, c := range []struct {
		most int
		all  bool
		want string
	}{
		{4, true, "node 2 cpu 2, node 4 cpu 4, job 1 cpu 1, job 3 cpu 3, apart, job 5 cpu 5, node 6 cpu 6, job 7 cpu 7"},
		{3, false, "node 2 cpu 2, node 4 cpu 4, job 1 cpu 1, job 3 cpu 3, apart, job 5 cpu 5, node 6 cpu 6, job 7 cpu 7"},
		{1, false, "node 2 cpu 2, job 1 cpu 1, job 3 cpu 3, apart, node 4 cpu 4, job 5 cpu 5, node 6 cpu 6, job 7 cpu 7"},
		{0, false, "job 1 cpu 1, node 2 cpu 2, job 3 cpu 3, apart, node 4 cpu 4, job 5 cpu 5, node 6 cpu 6, job 7 cpu 7"},
	} {
		src, err := stream.NewReader("t", strings.NewReader(text), stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		head, err := atStart(src, c.most)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		var r trace.Record
		for err = head.Next(&r); err == nil; err = head.Next(&r) {
			switch r.What {
			case trace.NodeAdded:
				list = append(list, fmt.Sprintf("node %d cpu %d", r.Node.ID, r.Node.Capacity[0]))
			case trace.TaskSubmitted:
				list = append(list, fmt.Sprintf("job %d cpu %d", r.Task.Job, r.Task.Demand[0]))
			default:
				list = append(list, r.Constraint.Name)
			}
		}
		if got := strings.Join(list, ", "); got != c.want || head.all != c.all || !errors.Is(err, io.EOF) {
			t.Errorf("of %d ahead: all %v, %s, %v; want %v, %s", c.most, head.all, got, err, c.all, c.want)
		}
	}
}

// crowd is a source with so many tasks at time 0 before its last node, which alone is in no
// rack.
type crowd struct {
	trace.Source

	tasks, at int
}

func (c *crowd) Next(r *trace.Record) error {
	c.at++
	switch at := c.at - 1; {
	case at == 0:
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 1, Groups: []cluster.Label{{Key: "rack", Value: "r"}}}}
	case at <= c.tasks:
		*r = trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: uint64(at)}}
	case at == c.tasks+1:
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: 2}}
	case at == c.tasks+2:
		*r = trace.Record{What: trace.NodeAdded, Time: 1, Node: trace.Node{ID: 3}}
	default:
		return io.EOF
	}
	return nil
}

// TestNodesBehindManyTasks: more tasks than a simulation reads ahead hide no node of the
// start, without which constraints check took it that all nodes have a rack.
func TestNodesBehindManyTasks(t *testing.T) {
	standing, err := NodesAtStart(&crowd{tasks: mostAhead + 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(standing)), []uint64{1, 2}; !slices.Equal(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
}
