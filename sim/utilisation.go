package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// utilisation is how much of each kind worked, and how much was placed, of what there was.
// Sums over time are quantity × µs, as floats because they outgrow int64.
type utilisation struct {
	kinds               []cluster.Kind
	capacity, used, run []float64
	busy                cluster.Vector // demand of what works now
	peak                []float64      // largest share of the capacity that worked
	arrived             []wide.Number  // demand of all tasks so far
}

func newUtilisation(kinds []cluster.Kind) utilisation {
	n := len(kinds)
	return utilisation{
		kinds: kinds, capacity: make([]float64, n), used: make([]float64, n), run: make([]float64, n),
		busy: make(cluster.Vector, n), peak: make([]float64, n), arrived: make([]wide.Number, n),
	}
}

func (u *utilisation) happened(h *happening) {
	switch h.what {
	case submitted:
		for k, q := range h.task.demand {
			u.arrived[k] = u.arrived[k].Plus(wide.Of(q))
		}
	case begins:
		u.working(h.task.takes().demand, 1)
	case rests:
		u.working(h.task.takes().demand, -1)
	default:
	}
}

// working adds sign times the demand to what works now.
func (u *utilisation) working(demand cluster.Vector, sign int64) {
	for k, q := range demand {
		u.busy[k] += sign * q
	}
}

func (u *utilisation) advance(s *span) {
	if s.from == s.to {
		return
	}
	spent, totals := float64(s.to-s.from), s.state.Totals()
	for k := range u.kinds {
		u.capacity[k] += float64(spent * float64(totals.Capacity[k]))
		u.used[k] += float64(spent * float64(totals.Used[k]))
		u.run[k] += float64(spent * float64(u.busy[k]))
		if totals.Capacity[k] > 0 {
			u.peak[k] = max(u.peak[k], float64(u.busy[k])/float64(totals.Capacity[k]))
		}
	}
}

func (u *utilisation) result(s *span, r *report.Run) {
	totals := s.state.Totals()
	r.Utilisation, r.Allocation = map[string]report.Utilisation{}, map[string]report.Allocation{}
	for k, kind := range u.kinds {
		r.Utilisation[kind.Name] = report.Utilisation{Mean: report.Ratio(u.run[k], u.capacity[k]), Max: report.Number(u.peak[k])}
		r.Allocation[kind.Name] = report.Allocation{
			Mean:  report.Ratio(u.used[k], u.capacity[k]),
			Final: report.Ratio(float64(totals.Used[k]), float64(totals.Capacity[k])),
		}
	}
}
