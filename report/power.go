package report

import (
	"bytes"
	"slices"
)

// Power says what the nodes drew, by a table of their hardware.
type Power struct {
	Mean  Number `json:"mean_w"`
	Final Number `json:"final_w"` // at the end
	// Energy is what they drew in all.
	Energy Number `json:"energy_kwh"`
	// Switched is nil where none could be switched off.
	Switched *Switched `json:"switched,omitempty"`
}

// Switched says which nodes were not on, though they were there.
type Switched struct {
	Times  int      `json:"times"` // a node was switched off
	Off    Sleeping `json:"off"`
	Waking Sleeping `json:"waking"`
}

// Sleeping is about nodes while they are off, or while they wake.
type Sleeping struct {
	Final  int    `json:"final"` // how many they are at the end
	Hours  Number `json:"node_hours"`
	Energy Number `json:"energy_kwh"` // that they drew meanwhile
}

// writePower prints what nodes drew where it was measured, a row for each experiment, as means over the seeds; and for how long they were off.
func writePower(text *bytes.Buffer, groups [][]Run, labels []label) {
	labels = withoutSeed(labels)
	metrics := powerMetrics()
	titles := map[string]string{
		"power.mean_w": "MEAN W", "power.energy_kwh": "KWH",
		"power.switched.off.node_hours": "NODE HOURS OFF", "power.switched.waking.node_hours": "WAKING", "power.switched.times": "TIMES",
	}
	metrics = slices.DeleteFunc(metrics, func(m metric) bool {
		has := func(r Run) bool { _, known := m.value(&r); return known }
		return !slices.ContainsFunc(slices.Concat(groups...), has)
	})
	if len(metrics) == 0 {
		return
	}
	head := line{}
	for _, l := range labels {
		head = append(head, l.title)
	}
	var measures []measure
	for _, m := range metrics {
		head = append(head, titles[m.name])
		measures = append(measures, measure{show: m.unit.show, values: func(r *Run) []float64 {
			if x, known := m.value(r); known {
				return []float64{float64(x)}
			}
			return nil
		}})
	}
	lines := []line{head}
	for _, group := range groups {
		lines = append(lines, row(measures, group, labelCells(&group[0].Setup, labels)...))
	}
	text.WriteString("\nPower:\n")
	align(text, lines, len(labels))
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
	switched := func(name string, unit Unit, pick func(*Switched) Number) metric {
		return metric{"power.switched." + name, unit, NeitherBetter, func(r *Run) (Number, bool) {
			if r.Power == nil || r.Power.Switched == nil {
				return 0, false
			}
			return pick(r.Power.Switched), true
		}}
	}
	return []metric{
		of("mean_w", InWatts, func(p *Power) Number { return p.Mean }),
		of("energy_kwh", InKilowattHours, func(p *Power) Number { return p.Energy }),
		switched("off.node_hours", InNodeHours, func(s *Switched) Number { return s.Off.Hours }),
		switched("waking.node_hours", InNodeHours, func(s *Switched) Number { return s.Waking.Hours }),
		switched("times", InEvents, func(s *Switched) Number { return Number(s.Times) }),
	}
}
