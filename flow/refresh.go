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
}

// update looks at each node that changed, or at all of them where other requests ask than
// before.
func (z *slots) update(s *cluster.View) {
	if len(z.turn.asking) == 0 {
		return // what is old by the next time is looked at then
	}
	dropped := z.supply.ranking.dropped
	if !slices.Equal(z.turn.asking, z.asked) || z.dropped != dropped || !z.journal.Reaches(z.synced) || z.tier != z.turn.tier {
		z.asked, z.tier, z.dropped = append(z.asked[:0], z.turn.asking...), z.turn.tier, dropped
		for row := range z.ports.nodes {
			n := cluster.NodeID(row)
			if m := &z.ports.nodes[n]; m.port != mcmf.None || m.shared > 0 || len(z.tenants.of(s, n)) > 0 {
				z.updatePort(s, n)
			}
		}
	}
	for n := range z.journal.Since(z.synced) {
		z.updatePort(s, n)
	}
	z.synced = z.journal.End()
	for _, n := range z.ports.stale {
		z.updatePort(s, n)
	}
	z.ports.stale = z.ports.stale[:0]
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
