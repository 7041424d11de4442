package mcmftest

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/mcmf"
)

// Print is a network as text, a line for each node that gives or takes something
// and for each arc, with their numbers in the graph.
func Print(g *mcmf.Graph) string {
	var b strings.Builder
	for v := range g.NodeBound() {
		if g.HasNode(v) && g.Supply(v) != 0 {
			fmt.Fprintf(&b, "node %d gives %d\n", v, g.Supply(v))
		}
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e := g.Arc(a)
		fmt.Fprintf(&b, "arc %d: %d->%d from %d to %d units, ", a, e.From, e.To, e.Lower, e.Capacity)
		if steps := g.Curve(a); steps != nil {
			for _, step := range steps {
				fmt.Fprintf(&b, "%d at %d, ", step.Capacity, step.Cost)
			}
			b.WriteString("in steps\n")
		} else {
			fmt.Fprintf(&b, "cost %d\n", e.Cost)
		}
	}
	return b.String()
}
