package world

import "fairlead.dev/fairlead/cluster"

// Kept is how many workloads have replicas of a class that promises an availability, to how many of these it is kept by all replicas, and how many have one that is critical.
type Kept struct{ Workloads, Kept, AtRisk int32 }

// KeptOf counts that of each class, by name.
func KeptOf(w *World) map[string]Kept {
	ledger, all := w.slots.classes.ledger, map[string]Kept{}
	if !ledger.keeps() {
		return all
	}
	known := map[string]*cluster.Class{}
	for i := range w.slots.classes.rows {
		if row := &w.slots.classes.rows[i]; row.live && row.class.Promises() {
			known[row.class.Name] = &row.class
		}
	}
	for _, of := range ledger.workloads {
		broken, critical, has := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, s := range of.slots {
			class := known[s.name]
			if class == nil {
				continue
			}
			account := ledger.spent(s).Account
			has[s.name] = true
			broken[s.name] = broken[s.name] || account.Age() > 0 && account.Availability() < class.Availability
			critical[s.name] = critical[s.name] || class.Slack(account) < 0
		}
		for name := range has {
			k := all[name]
			k.Workloads++
			if !broken[name] {
				k.Kept++
			}
			if critical[name] {
				k.AtRisk++
			}
			all[name] = k
		}
	}
	return all
}
