package workload

import (
	"cmp"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// nodesPerRack is how many nodes with consecutive numbers share a rack.
const nodesPerRack = 40

// machines are the nodes of the cluster: Google's mix of platforms and sizes
// at any number of nodes, in random order.
type machines struct {
	kinds   []machineKind
	kind    []uint8 // of each node, an index of kinds
	version []uint8 // of each node, from 1
}

type machineKind struct {
	platform, memorySize string
	capacity             cluster.Vector
	count                int
}

func newMachines(d *data, g Google) *machines {
	m := &machines{}
	counts := make([]int, len(d.Machines.Rows))
	for i, r := range d.Machines.Rows {
		counts[i] = r.Count
	}
	for i, n := range apportion(counts, g.Nodes) {
		r := d.Machines.Rows[i]
		m.kinds = append(m.kinds, machineKind{r.Platform, memorySize(r), vector(r.CPU, r.Memory), n})
		for range n {
			m.kind = append(m.kind, uint8(i))
		}
	}
	draw := g.stream(nodeStream)
	draw.Shuffle(len(m.kind), func(i, j int) { m.kind[i], m.kind[j] = m.kind[j], m.kind[i] })
	for i, n := range apportion(d.Versions.Weights, g.Nodes) {
		for range n {
			m.version = append(m.version, uint8(i+1))
		}
	}
	draw.Shuffle(len(m.version), func(i, j int) { m.version[i], m.version[j] = m.version[j], m.version[i] })
	return m
}

// memorySize says whether a machine has little or much memory for its cpu.
// Most have as much of the one as of the other.
func memorySize(r machineRow) string {
	switch {
	case r.Memory < 0.75*r.CPU:
		return "low"
	case r.Memory > 1.25*r.CPU:
		return "high"
	}
	return "standard"
}

// apportion divides total in proportion to the weights, by largest remainder.
func apportion(weights []int, total int) []int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	out := make([]int, len(weights))
	order := make([]int, len(weights))
	left := total
	for i, w := range weights {
		out[i] = w * total / sum
		left -= out[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(weights[b]*total%sum, weights[a]*total%sum)
	})
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

// room counts the nodes that are large enough for the demand.
func (m *machines) room(demand cluster.Vector) int {
	n := 0
	for _, k := range m.kinds {
		if demand.Fits(k.capacity) {
			n += k.count
		}
	}
	return n
}

// labels are the facts of a node that requirements may speak of.
func (m *machines) labels(node int) []cluster.Label {
	k := m.kinds[m.kind[node]]
	return []cluster.Label{
		{Key: "memory-class", Value: k.memorySize},
		{Key: "platform", Value: k.platform},
		{Key: "rack", Value: "r" + strconv.Itoa(node/nodesPerRack+1)},
		{Key: "version", Value: strconv.Itoa(int(m.version[node]))},
	}
}

// emit fills in what happens to a node. Numbers of nodes start from 1.
func (m *machines) emit(r *trace.Record, at cluster.Time, what trace.What, node int) {
	r.Time, r.What = at, what
	r.Node = trace.Node{ID: uint64(node + 1)}
	if what == trace.NodeAdded {
		r.Node.Capacity = m.kinds[m.kind[node]].capacity
		r.Node.Labels = m.labels(node)
	}
}
