package sim

import (
	"fmt"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
)

// This file measures what is in use on each node, and tells the core of it, for
// policies that look at that and not only at what tasks ask for. A run uses a
// part of what its task asks for, of each kind another, and the same part for as
// long as it works, wherever it does; it is drawn by what the trace says of the
// task, so that it is the same under every policy. A measurement is off by some
// noise.

// Usage says what nodes measure. The zero value is nothing.
type Usage struct {
	// Every is how often all nodes measure; 0 is never.
	Every cluster.Time
	// Least and Most bound what a run uses of what its task asks for, in
	// thousandths. More than 1000 is more than it asks for.
	Least, Most int
	// Noise is how far a measurement may be off, in thousandths.
	Noise int
}

// DefaultUsage is usage as it is measured unless told otherwise: runs use a tenth to
// all of what they ask for, and measurements are off by up to a twentieth.
func DefaultUsage() Usage {
	return Usage{Every: 30 * cluster.Second, Least: 100, Most: 1000, Noise: 50}
}

// maxPart bounds the parts of Usage, in thousandths.
const maxPart = 10_000

// Validate says what is wrong with the description.
func (u Usage) Validate() error {
	switch {
	case u.Every < 0:
		return fmt.Errorf("usage is measured every %v, want at least 0", u.Every)
	case u.Least < 0 || u.Least > u.Most || u.Most > maxPart:
		return fmt.Errorf("runs use %d to %d thousandths of what they ask for, want least to most, from 0 to %d", u.Least, u.Most, maxPart)
	case u.Noise < 0 || u.Noise > 1000:
		return fmt.Errorf("noise of %d thousandths, want 0 to 1000", u.Noise)
	}
	return nil
}

// meter measures nodes.
type meter struct {
	Usage
	seed   uint64
	noise  *rand.Rand
	kernel *kernel
	nodes  *nodes
	tasks  *tasks
	outbox *outbox
}

func newMeter(u Usage, seed uint64) meter {
	return meter{Usage: u, seed: mix(seed), noise: rand.New(rand.NewPCG(seed, 0x75))}
}

// start sets the first time.
func (m *meter) start() {
	if m.Every > 0 {
		m.kernel.set(timer{at: m.Every, kind: nodesMeasure})
	}
}

// measure lets every node measure, and sets the next time.
func (m *meter) measure() {
	m.kernel.set(timer{at: m.kernel.now + m.Every, kind: nodesMeasure})
	for row := range m.nodes.list {
		if m.nodes.isOn(cluster.NodeID(row)) {
			m.outbox.emit(cluster.UsageReported{Node: cluster.NodeID(row), Usage: m.usageOf(cluster.NodeID(row))})
		}
	}
}

// usageOf is what is measured on the node. A run that is yet to begin uses
// nothing.
func (m *meter) usageOf(row cluster.NodeID) cluster.Vector {
	usage := make(cluster.Vector, len(m.nodes.kinds))
	for _, id := range m.nodes.list[row].runs {
		t := m.tasks.list[id]
		if t.node == row && t.phase == beginning {
			continue
		}
		for k, q := range t.takes().demand {
			usage[k] += thousandths(q, m.part(t, k))
		}
	}
	for k, q := range usage {
		off := 1000
		if m.Noise > 0 {
			off += m.noise.IntN(2*m.Noise+1) - m.Noise
		}
		usage[k] = min(thousandths(q, off), cluster.MaxQuantity)
	}
	return usage
}

// part is what runs of the task use of a kind that they ask for, in thousandths.
func (m *meter) part(t *task, kind int) int {
	h := mix(m.seed ^ mix(hashOf(t)^uint64(kind)<<52))
	return m.Least + int(h%uint64(m.Most-m.Least+1))
}

// thousandths is so many thousandths of q, rounded down, where q is up to some
// hundred times cluster.MaxQuantity.
func thousandths(q int64, part int) int64 {
	return q/1000*int64(part) + q%1000*int64(part)/1000
}
