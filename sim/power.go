package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched/keeper"
)

// draws is what the nodes draw by the table of the world, and have drawn. Between two looks only the nodes that changed are looked at anew.
type draws struct {
	meter    power.Meter
	world    *nodes
	switched bool // they may be off
	node     []drawn
	all      flows // by standing
	off      int   // how often a node was switched off
}

// drawn is what a node draws, of one that is live.
type drawn struct {
	live     bool
	standing keeper.Standing
	watts    int64
}

// flows are what nodes draw that stand alike, by keeper.Standing.
type flows [keeper.Standings]struct {
	nodes, watts int64
	hours, past  wide.Number // nodes × µs, watts × µs
}

// newDraws is nil where nothing is to be measured.
func newDraws(n *nodes, world *World) *draws {
	switched := world.Switches.OffAfter > 0
	if world.Power == nil && !switched {
		return nil
	}
	return &draws{meter: power.NewMeter(n.kinds, world.Power), world: n, switched: switched}
}

func (d *draws) advance(s *span) {
	for n := range s.nodes() {
		d.look(s.state, n)
	}
	for _, n := range d.world.turned {
		d.look(s.state, n)
	}
	d.world.turned = d.world.turned[:0]
	for i := range d.all {
		f := &d.all[i]
		f.hours = f.hours.Plus(wide.Product(f.nodes, int64(s.to-s.from)))
		f.past = f.past.Plus(wide.Product(f.watts, int64(s.to-s.from)))
	}
}

// look brings up to date what a node draws.
func (d *draws) look(s *cluster.View, n cluster.NodeID) {
	d.node = grown(d.node, n, drawn{})
	was := &d.node[n]
	d.count(was, -1)
	before := was.standing
	*was = drawn{live: s.NodeLive(n), standing: d.world.list[n].standing}
	if was.standing == keeper.Off {
		was.watts = d.meter.Hardware(s, n).Off
		if before != keeper.Off {
			d.off++
		}
	} else if was.live {
		was.watts = d.meter.Watts(s, n)
	}
	d.count(was, 1)
}

// count takes a node in, or out.
func (d *draws) count(of *drawn, sign int64) {
	if of.live {
		f := &d.all[of.standing]
		f.nodes += sign
		f.watts += sign * of.watts
	}
}

// now is what all nodes draw.
func (d *draws) now() (watts int64) {
	for i := range d.all {
		watts += d.all[i].watts
	}
	return watts
}

func (d *draws) result(s *span, r *report.Run) {
	energy := func(watts wide.Number) report.Number {
		return report.Number(watts.Float() / (1000 * float64(cluster.Hour)))
	}
	var all wide.Number
	for i := range d.all {
		all = all.Plus(d.all[i].past)
	}
	r.Power = &report.Power{Mean: report.Ratio(all.Float(), float64(s.to)), Final: report.Number(d.now()), Energy: energy(all)}
	if d.switched {
		part := func(standing keeper.Standing) report.Sleeping {
			f := &d.all[standing]
			return report.Sleeping{Final: int(f.nodes), Hours: report.Number(f.hours.Float() / float64(cluster.Hour)), Energy: energy(f.past)}
		}
		r.Power.Switched = &report.Switched{Times: d.off, Off: part(keeper.Off), Waking: part(keeper.Waking)}
	}
}
