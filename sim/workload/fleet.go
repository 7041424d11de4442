package workload

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sim/trace"
)

// How large a cluster has to be for a workload, as in QoS-driven scheduling (JISA 2020,
// §5): on one host without limits everything runs at once, and the most that is then
// asked for at one time, of the kind of which that is more, is the size N. Hosts drawn
// from a larger cluster are added until they have so much of that kind. Smaller clusters
// are this one with hosts removed at random: as hosts were drawn in random order, with
// the last ones removed.

// Peak is the most of each kind that the tasks of src ask for at one time, until a time,
// if every task runs as soon as it is submitted. What ends at a moment makes room for
// what comes at it.
func Peak(src trace.Source, until cluster.Time) (cluster.Vector, error) {
	now, most := make(cluster.Vector, len(src.Kinds())), make(cluster.Vector, len(src.Kinds()))
	var running heap.Heap[runningTask]
	err := eachTask(src, until, func(at cluster.Time, t *trace.Task) {
		for len(running) > 0 && running[0].end <= at {
			for k, v := range running.Pop().demand {
				now[k] -= v
			}
		}
		for k, v := range t.Demand {
			now[k] += v
			most[k] = max(most[k], now[k])
		}
		if t.Work <= until-at {
			running.Push(runningTask{at + t.Work, slices.Clone(t.Demand)})
		}
	})
	return most, err
}

// runningTask is a task that ends. Which of two that end at once is first is all one.
type runningTask struct {
	end    cluster.Time
	demand cluster.Vector
}

// Before orders by the end.
func (t runningTask) Before(o runningTask) bool { return t.end < o.end }

// Nodes are the nodes that src names at its start.
func Nodes(src trace.Source) ([]trace.Node, error) {
	var nodes []trace.Node
	var r trace.Record
	for {
		switch err := src.Next(&r); {
		case errors.Is(err, io.EOF) || err == nil && (r.Time > 0 || !r.What.OfNode()):
			return nodes, nil
		case err != nil:
			return nil, err
		case r.What == trace.NodeAdded:
			n := r.Node
			n.Capacity, n.Labels, n.Groups = slices.Clone(n.Capacity), slices.Clone(n.Labels), slices.Clone(n.Groups)
			nodes = append(nodes, n)
		}
	}
}

// Fleet is a cluster that is as large as a workload needs, or a part of it.
type Fleet struct {
	// Kind is that of which the workload needs most, and Need is how much: N.
	Kind  int
	Need  int64
	hosts []trace.Node
}

// NewFleet draws hosts like the given nodes until they have as much as the peak says of
// the kind of which that is most; a node may be drawn again and again. The nodes' kinds
// say in which units.
func NewFleet(nodes []trace.Node, kinds []cluster.Kind, peak cluster.Vector, seed uint64) (*Fleet, error) {
	f := &Fleet{}
	share := func(k int) float64 { return float64(peak[k]) / float64(kinds[k].PerUnit) }
	for k := range kinds {
		if share(k) > share(f.Kind) {
			f.Kind = k
		}
	}
	f.Need = peak[f.Kind]
	if !slices.ContainsFunc(nodes, func(n trace.Node) bool { return n.Capacity[f.Kind] > 0 }) {
		return nil, fmt.Errorf("workload: of %d nodes none has any %s", len(nodes), kinds[f.Kind].Name)
	}
	chance := rand.New(rand.NewPCG(seed, hostStream))
	for has := int64(0); has < f.Need; {
		n := nodes[chance.IntN(len(nodes))]
		n.ID, n.Name = uint64(len(f.hosts)+1), ""
		f.hosts = append(f.hosts, n)
		has += n.Capacity[f.Kind]
	}
	return f, nil
}

// Part are the hosts that are left when others were removed, as long as they have so
// large a share of what is needed. The hosts of a smaller share are among those of a
// larger one.
func (f *Fleet) Part(share float64) []trace.Node {
	need := int64(share * float64(f.Need))
	for i, has := 0, int64(0); i < len(f.hosts); i++ {
		if has >= need {
			return f.hosts[:i]
		}
		has += f.hosts[i].Capacity[f.Kind]
	}
	return f.hosts
}

// onNodes is the tasks of a source on these nodes, which are there from the start on, in
// place of its own, until an end.
type onNodes struct {
	trace.Source
	nodes   []trace.Node
	emitted int
	end     cluster.Time
}

// End is when a run stops unless told otherwise: what it holds may go on for ever.
func (o *onNodes) End() cluster.Time { return o.end }

// Next fills in the next record: the nodes, then the tasks.
func (o *onNodes) Next(r *trace.Record) error {
	if o.emitted < len(o.nodes) {
		*r = trace.Record{What: trace.NodeAdded, Node: o.nodes[o.emitted]}
		o.emitted++
		return nil
	}
	for {
		if err := o.Source.Next(r); err != nil || !r.What.OfNode() {
			return err
		}
	}
}
