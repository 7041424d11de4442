package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file says which columns the series of a run has, and where their values
// come from.

// columns registers the columns of report.Series.
func (s *simulation) columns() {
	state := s.core.View()
	s.series.gauge("pending", func() float64 {
		return float64(state.InPhase(cluster.Waiting) + state.InPhase(cluster.Gated))
	})
	s.series.gauge("running", func() float64 { return float64(s.holdings.running) })
	s.series.counter("decisions", func() float64 { return float64(decisions(s.core.Counts())) })
	s.series.gauge("nodes", func() float64 { return float64(state.Totals().Nodes) })
	s.series.gauge("nodes_active", func() float64 { return float64(s.holdings.nodesActive) })
	for k, kind := range s.nodes.kinds {
		capacity := s.series.level(func() int64 { return state.Totals().Capacity[k] })
		s.series.share("utilisation."+kind.Name, s.series.level(func() int64 { return s.stats.busy[k] }), capacity)
		for c, class := range s.cfg.Classes.Rows() {
			held := s.series.level(func() int64 { return s.holdings.by[c][k] })
			s.series.share("allocation."+kind.Name+"."+class.Name, held, capacity)
		}
		s.series.gauge("arrived."+kind.Name, func() float64 {
			return float64(report.Ratio(s.stats.arrived[k].Float(), float64(state.Totals().Capacity[k])))
		})
	}
	bound, one := s.series.level(func() int64 { return s.bounds.now.bound }), s.series.level(func() int64 { return 1000 })
	s.series.share("violated", s.series.level(func() int64 { return s.bounds.now.violated }), bound)
	s.series.share("violation_cost", s.series.level(func() int64 { return s.bounds.now.cost }), one)
	if s.waste != nil {
		s.series.gauge("fragmentation."+s.nodes.kinds[s.nodes.devices].Name, func() float64 { return s.waste.share(state) })
	}
}

// overTime ends the series, and leaves out classes that never had a task, and constraints
// where there were none.
func (s *simulation) overTime() *report.Series {
	s.follow()
	r := s.series.result(s.now)
	if s.bounds.of.Count == 0 {
		delete(r.Columns, "violated")
		delete(r.Columns, "violation_cost")
	}
	for c, class := range s.cfg.Classes.Rows() {
		if s.holdings.seen[c] || s.stats.classes[c].Submitted > 0 {
			continue
		}
		for _, kind := range s.nodes.kinds {
			delete(r.Columns, "allocation."+kind.Name+"."+class.Name)
		}
	}
	return r
}

// decisions is how many decisions commit has accepted.
func decisions(c sched.Counts) int64 { return c.Placed + c.Evicted + c.Resized + c.Ended }
