package experiment

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
)

// This file measures how promises were kept, in runs of which all tasks are there at
// the end.

// promised is the accounts of a run, by class, and how often tasks were placed.
type promised struct {
	classes     []cluster.Class
	accounts    [][]cluster.Account
	allocations int64
	until       cluster.Time // to which they are counted; 0: to the last event
}

// take takes the accounts out of a run that has ended.
func (p *promised) take(end sim.Ending) {
	s := end.Core.View()
	p.classes, p.allocations = s.Classes(), end.Core.Counts().Placed
	p.accounts = make([][]cluster.Account, len(p.classes))
	for row := range s.TaskRows() {
		if t := s.Task(cluster.TaskID(row)); t.Phase != cluster.Absent {
			p.accounts[t.Class] = append(p.accounts[t.Class], t.Account.At(max(s.Now(), p.until), t.Phase))
		}
	}
}

// kept is how a class fared: availabilities and their Gini coefficient, and the share
// of the tasks that had what was promised.
type kept struct {
	name                  string
	rising                []float64
	mean, fulfilled, gini float64
}

func (k *kept) least() float64 { return k.rising[0] }
func (k *kept) most() float64  { return k.rising[len(k.rising)-1] }

// above is the share of the class that had at least that availability.
func (k *kept) above(least float64) float64 {
	at, _ := slices.BinarySearch(k.rising, least)
	return float64(len(k.rising)-at) / float64(len(k.rising))
}

// kept is how the classes fared that had tasks.
func (p *promised) kept() []kept {
	var all []kept
	for i, accounts := range p.accounts {
		if len(accounts) == 0 {
			continue
		}
		k := kept{name: p.classes[i].Name}
		good, sum := 0, 0.0
		var equity report.Equity
		for _, a := range accounts {
			share := 1.0
			if age := a.Age(); age > 0 {
				share = float64(a.Running) / float64(age)
			}
			k.rising, sum = append(k.rising, share), sum+share
			equity.Add(0, a.Running, a.Age()) // all of them are there at the same time
			if a.Availability() >= p.classes[i].Availability {
				good++
			}
		}
		slices.Sort(k.rising)
		n := float64(len(accounts))
		k.mean, k.fulfilled, k.gini = sum/n, float64(good)/n, float64(equity.Gini())
		all = append(all, k)
	}
	return all
}

// preempted is how many tasks of the class were evicted for another.
func preempted(o *outcome, class string) report.Number {
	return report.Number(o.run.Classes[class].Preempted)
}

// measure is a number of a run.
type measure struct {
	what string
	unit report.Unit
	of   func(*outcome) float64
}

// digits is how a value of the measure is printed.
func (m *measure) digits() string {
	if m.unit == report.InEvents {
		return "%.0f"
	}
	return "%.4f"
}

// measures are those of all classes that the runs have.
func measures(o *outcome) []measure {
	list := []measure{{"preempted", report.InEvents, func(o *outcome) float64 { return float64(o.run.Tasks.Preempted) }}}
	for i, k := range o.kept() {
		list = append(list,
			measure{k.name + " availability, mean", report.InShares, func(o *outcome) float64 { return o.kept()[i].mean }},
			measure{k.name + " availability, least", report.InShares, func(o *outcome) float64 { return o.kept()[i].least() }},
			measure{k.name + " shortfall", report.InShares, func(o *outcome) float64 { return o.shortfall(k.name) }},
			measure{k.name + " fulfilled", report.InShares, func(o *outcome) float64 { return o.kept()[i].fulfilled }},
			measure{k.name + " Gini", report.InShares, func(o *outcome) float64 { return o.kept()[i].gini }},
		)
	}
	return list
}

// shortfall is by how much the tasks of a class missed what was promised, on average over
// all of them; those that had more count as 0.
func (p *promised) shortfall(class string) float64 {
	at := slices.IndexFunc(p.classes, func(c cluster.Class) bool { return c.Name == class })
	sum, n := 0.0, 0
	for _, a := range p.accounts[at] {
		if age := a.Age(); age > 0 {
			sum += max(0, float64(p.classes[at].Availability)/float64(cluster.Whole)-float64(a.Running)/float64(age))
		}
		n++
	}
	return sum / float64(max(1, n))
}
