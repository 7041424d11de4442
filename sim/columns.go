package sim

import (
	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/keeper"
)

// overTime samples the columns of report.Series, of what other observers know.
type overTime struct {
	series
	draws  *draws          // nil: nobody asks
	unused func() []string // the columns that say nothing
}

// sampleColumns registers the columns, and where their values come from.
func (m *measures) sampleColumns(core *sched.Core, kinds []cluster.Kind, classes *class.Table) {
	s, state := &m.overTime.series, core.View()
	s.gauge("pending", func() float64 {
		return float64(state.InPhase(cluster.Waiting) + state.InPhase(cluster.Gated))
	})
	s.gauge("running", func() float64 { return float64(m.holdings.running) })
	s.counter("decisions", func() float64 { return float64(decisions(core.Counts())) })
	s.gauge("nodes", func() float64 { return float64(state.Totals().Nodes) })
	s.gauge("nodes_active", func() float64 { return float64(m.holdings.nodesActive) })
	for k, kind := range kinds {
		capacity := s.level(func() int64 { return state.Totals().Capacity[k] })
		s.share("utilisation."+kind.Name, s.level(func() int64 { return m.utilisation.busy[k] }), capacity)
		for c, service := range classes.Rows() {
			held := s.level(func() int64 { return m.holdings.by[c][k] })
			s.share("allocation."+kind.Name+"."+service.Name, held, capacity)
		}
		s.gauge("arrived."+kind.Name, func() float64 {
			return float64(report.Ratio(m.utilisation.arrived[k].Float(), float64(state.Totals().Capacity[k])))
		})
	}
	bound, one := s.level(func() int64 { return m.bounds.now.bound }), s.level(func() int64 { return 1000 })
	s.share("violated", s.level(func() int64 { return m.bounds.now.violated }), bound)
	s.share("violation_cost", s.level(func() int64 { return m.bounds.now.cost }), one)
	if m.waste != nil {
		for k, name := range m.waste.kinds {
			s.gauge("fragmentation."+name, func() float64 { return m.waste.share(state, k) })
		}
	}
	if draws := m.overTime.draws; draws != nil {
		s.gauge("power_w", func() float64 { return float64(draws.now()) })
		if draws.switched {
			s.gauge("nodes_off", func() float64 { return float64(draws.all[keeper.Off].nodes) })
			s.gauge("nodes_waking", func() float64 { return float64(draws.all[keeper.Waking].nodes) })
		}
	}
	m.overTime.unused = func() []string { return m.unusedColumns(kinds, classes) }
}

// unusedColumns are those of classes that never had a task, and those of constraints where
// there were none.
func (m *measures) unusedColumns(kinds []cluster.Kind, classes *class.Table) (names []string) {
	if m.bounds.of.Count == 0 {
		names = append(names, "violated", "violation_cost")
	}
	for c, service := range classes.Rows() {
		if m.holdings.seen[c] || m.services.classes[c].Submitted > 0 {
			continue
		}
		for _, kind := range kinds {
			names = append(names, "allocation."+kind.Name+"."+service.Name)
		}
	}
	return names
}

func (o *overTime) advance(s *span) {
	if s.from < s.to {
		o.series.advance(s.from, s.to)
	}
}

func (o *overTime) result(s *span, r *report.Run) {
	r.Series = o.series.result(s.to)
	for _, name := range o.unused() {
		delete(r.Series.Columns, name)
	}
}

// decisions is how many decisions commit has accepted.
func decisions(c sched.Counts) int64 { return c.Placed + c.Evicted + c.Resized + c.Ended }
