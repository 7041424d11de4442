package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
)

// draws is what the nodes draw by the table of the world, and have drawn. Between two looks only the nodes that changed are looked at anew.
type draws struct {
	meter power.Meter
	node  []int64     // watts; 0 of one that is not live
	now   int64       // their sum
	past  wide.Number // watts × µs
}

// newDraws is nil where nothing is to be measured.
func newDraws(kinds []cluster.Kind, table power.Table) *draws {
	if table == nil {
		return nil
	}
	return &draws{meter: power.NewMeter(kinds, table)}
}

func (d *draws) advance(s *span) {
	for n := range s.nodes() {
		d.node = grown(d.node, n, 0)
		watts := int64(0)
		if s.state.NodeLive(n) {
			watts = d.meter.Watts(s.state, n)
		}
		d.now += watts - d.node[n]
		d.node[n] = watts
	}
	d.past = d.past.Plus(wide.Product(d.now, int64(s.to-s.from)))
}

func (d *draws) result(s *span, r *report.Run) {
	const perKilowattHour = 1000 * float64(cluster.Hour)
	past := d.past.Float()
	r.Power = &report.Power{Mean: report.Ratio(past, float64(s.to)), Final: report.Number(d.now), Energy: report.Number(past / perKilowattHour)}
}
