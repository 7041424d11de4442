package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// slots keeps the ports true: it makes slots of what is left of each node that changed, and
// lets all arcs that have to do with a port say so.
type slots struct {
	journal *journal
	turn    *turn
	tenants *tenants
	ports   *ports
	stays   *stays
	supply  *supply

	synced  uint64  // position in the journal up to which ports are true
	asked   []int32 // the requests that asked then
	tier    int32   // the tier then
	dropped uint64  // requests that had been dropped then
	visit   nodeSet // scratch
}

// update looks at each node that changed; and where other requests ask than before, at those that
// are in the network, and those with tenants who share their place by that, or no more.
func (z *slots) update(s *cluster.View) {
	if len(z.turn.asking) == 0 {
		return // what is old by the next time is looked at then
	}
	dropped := z.supply.ranking.dropped
	cut := !z.journal.Reaches(z.synced)
	if cut || !slices.Equal(z.turn.asking, z.asked) || z.dropped != dropped || z.tier != z.turn.tier {
		z.asked, z.tier, z.dropped = append(z.asked[:0], z.turn.asking...), z.turn.tier, dropped
		z.updateOthers(s, cut)
	} else {
		for n := range z.journal.Since(z.synced) {
			z.updatePort(s, n)
		}
	}
	z.synced = z.journal.End()
	for _, n := range z.ports.stale {
		z.updatePort(s, n)
	}
	z.ports.stale = z.ports.stale[:0]
}

// updateOthers looks at the nodes for which it makes a difference that others ask, or at all that
// were ever known where it is not known which of them changed.
func (z *slots) updateOthers(s *cluster.View, all bool) {
	z.visit = append(z.visit[:0], z.ports.open...)
	z.ports.turned(s, &z.visit)
	if all {
		for n := range z.ports.nodes {
			z.visit.add(cluster.NodeID(n))
		}
	}
	for n := range z.journal.Since(z.synced) {
		z.visit.add(n)
	}
	for n := range z.visit.all() {
		z.updatePort(s, n)
	}
}

// updatePort counts the slots of a node, and lets its arcs say so.
func (z *slots) updatePort(s *cluster.View, n cluster.NodeID) {
	m := z.ports.node(n)
	before, cheapest, free := m.shared, m.cheapest(), m.slots > 0
	m.slots, m.shared, m.stale = 0, 0, false
	if int(n) < s.NodeRows() && s.NodeLive(n) {
		m.slots = z.ports.slots(s, n)
	}
	for _, row := range z.stays.of(n) {
		m.shared += z.stays.update(s, row)
	}
	z.ports.shareTenants(s, n)
	if m.shared != before || m.cheapest() != cheapest || len(m.evictions) > 0 && (m.slots > 0) != free {
		z.journal.Note(n) // what leads there, or could, is to know
	}
	if m.port == mcmf.None {
		return
	}
	z.ports.updateLoad(s, n)
	z.supply.updatePreferred(s, n)
}
