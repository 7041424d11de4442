package report

// Power says what the nodes drew, by a table of their hardware.
type Power struct {
	Mean  Number `json:"mean_w"`
	Final Number `json:"final_w"` // at the end
	// Energy is what they drew in all.
	Energy Number `json:"energy_kwh"`
}

// powerMetrics are those of runs in which it was measured.
func powerMetrics() []metric {
	of := func(name string, unit Unit, pick func(*Power) Number) metric {
		return metric{"power." + name, unit, LowerIsBetter, func(r *Run) (Number, bool) {
			if r.Power == nil {
				return 0, false
			}
			return pick(r.Power), true
		}}
	}
	return []metric{
		of("mean_w", InWatts, func(p *Power) Number { return p.Mean }),
		of("energy_kwh", InKilowattHours, func(p *Power) Number { return p.Energy }),
	}
}
