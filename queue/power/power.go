// Package power says how many watts nodes draw, by what is placed on them: the model of Lettich et al. (Power- and
// Fragmentation-aware Online Scheduling for GPU Datacenters, CCGrid 2025). A socket draws as little as it can while none of its cores is asked
// for, and else as much as it is built for; so does a GPU of which nothing or something is taken. As many sockets are at work as the cores
// asked for need. All else of a node counts for nothing. What a node draws that is switched off is no part of the paper, where none is.
//
// Policies pwr and pwr-fgd place by it, and the simulator measures by it.
package power

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
)

// Draw is how many watts one of a thing draws, idle and at work.
type Draw struct{ Idle, Full int64 }

// Hardware is what nodes are made of that have the label.
type Hardware struct {
	Label  cluster.Label // without a key it is every node's
	Cores  int64         // of a socket; a node counts two threads of each as cores
	Socket Draw
	// Curve is what a socket draws at even steps from none of its cores asked for to all, as many as there are, in place of Socket; all of a
	// node are taken to be as busy as the node.
	Curve []int64
	GPU   Draw
	Off   int64        // of the node as a whole while it is switched off
	Wake  cluster.Time // how long it takes to be on again; 0: nobody says
}

// Table lists hardware; of a node the first that has its label.
type Table []Hardware

// standby is what a server draws that waits to be switched on: 5 to 15 W are usual. The authors say nothing of it.
const standby = 8

// gpuKind is the kind that GPUs are.
const gpuKind = "gpu"

// Openb is the hardware of the nodes of Alibaba's GPU trace of 2023 as the paper assumes it, whose trace names GPUs alone. G2 and G3 are taken for A10 and A100; of nodes
// without a GPU the processors are those beside P100. Draws at work are what the makers name, idle ones are measurements of others.
func Openb() Table {
	socket := func(cores, idle, full int64) Hardware {
		return Hardware{Cores: cores, Socket: Draw{idle, full}, Off: standby}
	}
	xeon8163, xeon2682, xeon6326, xeon8369 := socket(24, 20, 165), socket(16, 15, 120), socket(16, 20, 185), socket(32, 20, 270)
	var table Table
	for _, of := range []struct {
		model string
		Hardware
		gpu Draw
	}{
		{"T4", xeon8163, Draw{10, 70}},
		{"P100", xeon2682, Draw{25, 250}},
		{"V100M16", xeon6326, Draw{30, 300}},
		{"V100M32", xeon6326, Draw{30, 300}},
		{"A10", xeon8369, Draw{30, 150}},
		{"G2", xeon8369, Draw{30, 150}},
		{"A100", xeon8369, Draw{50, 400}},
		{"G3", xeon8369, Draw{50, 400}},
	} {
		row := of.Hardware
		row.Label, row.GPU = cluster.Label{Key: "gpu-model", Value: of.model}, of.gpu
		table = append(table, row)
	}
	return append(table, xeon2682)
}

// Named is the table of that name; the error names one that is near it.
func Named(name string) (Table, error) {
	if name == Names()[0] {
		return Openb(), nil
	}
	return nil, nearest.Unknown("table of power", name, Names())
}

// Names are those of the tables that there are.
func Names() []string { return []string{"openb"} }

// of is what the node is made of.
func (t Table) of(s *cluster.View, n cluster.NodeID) Hardware {
	labels := s.NodeSpec(n).Labels
	at := slices.IndexFunc(t, func(h Hardware) bool { return h.Label.Key == "" || slices.Contains(labels, h.Label) })
	if at < 0 {
		return Hardware{}
	}
	return t[at]
}

// Meter works out what nodes draw. It works in memory of its own, so that two must not run at once.
type Meter struct {
	table  Table
	cpu    int   // kind; -1 if there is none
	thread int64 // quantity of a core of a node
	gpus   *cluster.DeviceKind
	free   []int64 // scratch
}

// NewMeter is for a cluster of these kinds.
func NewMeter(kinds []cluster.Kind, table Table) Meter {
	m := Meter{table: table, cpu: slices.IndexFunc(kinds, func(k cluster.Kind) bool { return k.Name == "cpu" })}
	if m.cpu >= 0 {
		m.thread = max(kinds[m.cpu].PerUnit, 1)
	}
	for _, of := range cluster.DeviceKinds(kinds) {
		if kinds[of.Kind].Name == gpuKind {
			m.gpus = &of
		}
	}
	return m
}

// Hardware is what the node is made of; nothing where nobody says.
func (m *Meter) Hardware(s *cluster.View, n cluster.NodeID) Hardware { return m.table.of(s, n) }

// Watts are what the node draws while it is on.
func (m *Meter) Watts(s *cluster.View, n cluster.NodeID) int64 {
	h := m.table.of(s, n)
	watts := m.sockets(s, &h, n, 0)
	if m.gpus == nil {
		return watts
	}
	whole := m.look(s, n)
	for _, free := range m.free {
		if free == whole {
			watts += h.GPU.Idle
		} else {
			watts += h.GPU.Full
		}
	}
	return watts
}

// More is how many watts more the node would draw with a task of the shape, which has room there, on GPUs that are in use already as far as it may.
func (m *Meter) More(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	h := m.table.of(s, n)
	watts := int64(0)
	if m.cpu >= 0 {
		watts = m.sockets(s, &h, n, shape.Demand[m.cpu]) - m.sockets(s, &h, n, 0)
	}
	if m.gpus == nil {
		return watts
	}
	need, whole := m.gpus.Need(shape.Demand[m.gpus.Kind]), m.look(s, n)
	woken := need.Count
	for _, free := range m.free {
		if woken > 0 && free < whole && free >= need.Share {
			woken--
		}
	}
	return watts + int64(woken)*(h.GPU.Full-h.GPU.Idle)
}

// look looks at what the GPUs have free, and returns how much that is of one in no use.
func (m *Meter) look(s *cluster.View, n cluster.NodeID) (whole int64) {
	m.free = s.FreeDevices(n, *m.gpus, m.free[:0])
	return s.Limit(n)[m.gpus.Kind] / int64(max(len(m.free), 1))
}

// sockets are what the processors of the node draw with so much more asked of them.
func (m *Meter) sockets(s *cluster.View, h *Hardware, n cluster.NodeID, more int64) int64 {
	if m.cpu < 0 || h.Cores == 0 {
		return 0
	}
	core := 2 * m.thread
	cores := up(s.Capacity(n)[m.cpu], core)
	idle := min(max(s.Limit(n)[m.cpu]-s.Used(n)[m.cpu]-more, 0)/core, cores)
	all, busy := min(up(cores, h.Cores), MostSockets), min(up(cores-idle, h.Cores), MostSockets)
	if len(h.Curve) > 0 {
		return onCurve(h.Curve, all, cores-idle, cores)
	}
	return busy*h.Socket.Full + (all-busy)*h.Socket.Idle
}

// onCurve is what so many sockets draw of which a part of the whole is in use, on the straight line between two points of the curve.
func onCurve(curve []int64, sockets, part, whole int64) int64 {
	if whole == 0 {
		return sockets * curve[0]
	}
	for whole > mostParts {
		part, whole = part/2, whole/2
	}
	steps := int64(len(curve) - 1)
	at, rest := part*steps/whole, part*steps%whole
	if rest == 0 {
		return sockets * curve[at]
	}
	return (sockets*(curve[at]*(whole-rest)+curve[at+1]*rest) + whole/2) / whole
}

// MostSockets is how many sockets of a node are counted: of one that says that it has more the others draw nothing, so that what thousands of such nodes
// draw is a number of 64 bits.
const MostSockets = 1 << 20

// mostParts keeps products of sockets, parts and watts on a curve within 64 bits, whatever a node says that it has.
const mostParts = 1 << 20

// up is a quotient, rounded up.
func up(q, by int64) int64 { return (q + by - 1) / by }
