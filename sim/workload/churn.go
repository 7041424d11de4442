package workload

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// churn takes nodes away and brings them back. The node that goes is any that
// is up; all come back some time.
type churn struct {
	loss cluster.Time // of the next node; Never without churn
	draw *rand.Rand
	gap  table // in millionths of the mean
	mean float64
	away table
	up   []uint32
	down []outage // the next to end last
}

type outage struct {
	end  cluster.Time
	node uint32
}

func newChurn(d *data, g Google) *churn {
	if g.Churn == 0 {
		return &churn{loss: cluster.Never}
	}
	c := &churn{
		draw: g.stream(churnStream), gap: d.Churn.Gap.table(1e6), away: d.Churn.Down.table(float64(cluster.Minute)),
		mean: float64(cluster.Day) / (d.Churn.Removals * g.Churn * float64(g.Nodes)),
		up:   make([]uint32, g.Nodes),
	}
	for i := range c.up {
		c.up[i] = uint32(i)
	}
	c.advance()
	return c
}

func (c *churn) advance() {
	gap := float64(c.gap.at(c.draw.Uint32())) * c.mean / 1e6
	c.loss += cluster.Time(max(1, gap))
}

// next is when a node is next lost or back.
func (c *churn) next() cluster.Time {
	// While all are away, none can be lost.
	for len(c.up) == 0 && len(c.down) > 0 && c.loss < c.down[len(c.down)-1].end {
		c.advance()
	}
	if n := len(c.down); n > 0 {
		return min(c.loss, c.down[n-1].end)
	}
	return c.loss
}

// step does what happens at that time.
func (c *churn) step() (trace.What, int) {
	if n := len(c.down); n > 0 && c.down[n-1].end <= c.loss {
		node := c.down[n-1].node
		c.down = c.down[:n-1]
		c.up = append(c.up, node)
		return trace.NodeAdded, int(node)
	}
	i := int(uint64(c.draw.Uint32()) * uint64(len(c.up)) >> 32)
	node := c.up[i]
	last := len(c.up) - 1
	c.up[i] = c.up[last]
	c.up = c.up[:last]
	o := outage{c.loss + max(1, cluster.Time(c.away.at(c.draw.Uint32()))), node}
	at, _ := slices.BinarySearchFunc(c.down, o, func(a, b outage) int {
		return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(b.node, a.node))
	})
	c.down = slices.Insert(c.down, at, o)
	c.advance()
	return trace.NodeLost, int(node)
}
