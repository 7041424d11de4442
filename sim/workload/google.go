package workload

import (
	"fmt"
	"io"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// Google describes a cluster and a workload like Google's of 2011.
type Google struct {
	Nodes int
	// TasksPerNode is how many tasks a node are there at the start; 0 for an
	// empty cluster.
	TasksPerNode float64
	// Seed chooses one of the workloads that fit the description. Nodes,
	// stock, flow, churn and requirements are drawn apart from each other, so
	// that a change of one leaves the others as they were.
	Seed uint64
	// Rate multiplies how often jobs arrive; 1 is Google's mean per node, 0
	// is never.
	Rate float64
	// Churn multiplies how often nodes are lost; 1 is once in 41 days for
	// each node, 0 is never.
	Churn float64
	// Length is when the stream ends; 0 or cluster.Never for an endless one.
	Length cluster.Time
	// Constrained is the share of tasks with requirements.
	Constrained float64
}

// Default returns Google's cluster at a thousand nodes, full as it was, without
// churn and without end.
func Default() Google {
	return Google{Nodes: 1000, TasksPerNode: 11.57, Seed: 1, Rate: 1, Constrained: 0.06}
}

// The largest and smallest values for which times and counts cannot overflow.
const (
	maxNodes        = 1_000_000
	maxTasksPerNode = 100
	minRate         = 1e-4
	maxRate         = 1e4
)

// Validate reports the first field that has no meaning.
func (g Google) Validate() error {
	rate := func(name string, value float64) error {
		if value == 0 || value >= minRate && value <= maxRate {
			return nil
		}
		return fmt.Errorf("workload: %s = %g, want 0 or %g to %g", name, value, minRate, maxRate)
	}
	switch {
	case g.Nodes < 1 || g.Nodes > maxNodes:
		return fmt.Errorf("workload: Nodes = %d, want 1 to %d", g.Nodes, maxNodes)
	case !(g.TasksPerNode >= 0 && g.TasksPerNode <= maxTasksPerNode):
		return fmt.Errorf("workload: TasksPerNode = %g, want 0 to %d", g.TasksPerNode, maxTasksPerNode)
	case !(g.Constrained >= 0 && g.Constrained <= 1):
		return fmt.Errorf("workload: Constrained = %g, want a share from 0 to 1", g.Constrained)
	case g.Length < 0:
		return fmt.Errorf("workload: Length = %v, want 0 or more", g.Length)
	}
	if err := rate("Rate", g.Rate); err != nil {
		return err
	}
	return rate("Churn", g.Churn)
}

// Each part draws from a stream of its own.
const (
	nodeStream = iota + 1
	stockStream
	flowStream
	churnStream
	stockWantStream
	flowWantStream
)

func (g Google) stream(number uint64) *rand.Rand { return rand.New(rand.NewPCG(g.Seed, number)) }

// source makes the records of a workload.
type source struct {
	end   cluster.Time
	nodes *machines
	added int // nodes that have been emitted
	stock []job
	flow  *flow
	churn *churn
	now   job // whose tasks are being emitted
}

// New returns the workload that g describes.
func New(g Google) (trace.Source, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	d := load()
	nodes := newMachines(d, g)
	wants := newRequirements(d, g, nodes)
	s := &source{end: g.Length, nodes: nodes, stock: newStock(d, g, nodes, wants)}
	if s.end == 0 {
		s.end = cluster.Never
	}
	s.flow = newFlow(d, g, nodes, wants)
	s.churn = newChurn(d, g)
	return s, nil
}

// Kinds are cpu and memory, as the reader of Google's own trace measures them.
func (s *source) Kinds() []cluster.Kind {
	return []cluster.Kind{
		{Name: "cpu", Unit: "of the largest node", PerUnit: perUnit},
		{Name: "memory", Unit: "of the largest node", PerUnit: perUnit},
	}
}

// Next fills in the next record: all nodes and the stock at time 0, then churn
// and flow as they come.
func (s *source) Next(r *trace.Record) error {
	if s.added < len(s.nodes.kind) {
		s.nodes.emit(r, 0, trace.NodeAdded, s.added)
		s.added++
		return nil
	}
	if s.now.emitted < s.now.task.JobTasks {
		s.now.emit(r)
		return nil
	}
	if len(s.stock) > 0 {
		s.now, s.stock = s.stock[0], s.stock[1:]
		s.now.emit(r)
		return nil
	}
	s.stock = nil
	flow, churn := s.flow.at, s.churn.next()
	switch {
	case min(flow, churn) > s.end || min(flow, churn) == cluster.Never:
		return io.EOF
	case churn <= flow:
		what, node := s.churn.step()
		s.nodes.emit(r, churn, what, node)
	default:
		s.now = s.flow.step()
		s.now.emit(r)
	}
	return nil
}

// Close does nothing: there are no files.
func (s *source) Close() error { return nil }
