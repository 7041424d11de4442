package sim

import (
	"fmt"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// services takes stock of what was promised to tasks and what they owe. A task counts
// once, with its last account: when it ends, or as it stands when the run does. What it
// used is counted by the world, from when a run works until it stops, so that it follows
// what the task is given; what it was promised, by the core's account of its time.
type services struct {
	bystander
	table    *class.Table
	unit     int64 // of the kind that has a price
	priced   int   // which of the kinds that is
	kinds    []cluster.Kind
	classes  []classStats // by cluster.ClassID
	invoices invoices
}

func newServices(kinds []cluster.Kind, table *class.Table, invoiced bool) (services, error) {
	priced, err := table.PricedKind(kinds)
	if err != nil {
		return services{}, fmt.Errorf("the table of classes: %w", err)
	}
	a := services{kinds: kinds, table: table, classes: make([]classStats, len(table.Classes)), priced: priced, unit: kinds[priced].PerUnit}
	if invoiced {
		a.invoices = invoices{}
	}
	return a, nil
}

// classStats are the stats of one service class.
type classStats struct {
	report.Class
	latency      report.Histogram
	availability report.Availabilities
	equity       report.Equity

	// Of tasks that were there for some time.
	counted, kept int
	missed        float64     // σ − A, summed over those that missed it
	age, overhead wide.Number // µs

	dues    dues
	lasting lasting

	worked  int         // tasks that did, for some time
	cores   wide.Number // quantities, the mean of each of these tasks
	revenue class.Money
	credits class.Money
}

// usage is what a task has used so far of the kind that is priced.
type usage struct {
	used   wide.Number  // quantities × µs
	worked cluster.Time // how long it worked
	since  cluster.Time // until when that is counted, while it works
}

// mean is the quantity that the task had on average while it worked, rounded down.
func (u *usage) mean() wide.Number {
	mean, _ := u.used.Over(int64(u.worked))
	return wide.Of(mean)
}

// tally counts what the task, which works, has used of a kind until now.
func (t *task) tally(kind int, now cluster.Time) {
	spent := now - t.usage.since
	t.usage.used = t.usage.used.Plus(wide.Product(t.takes().demand[kind], int64(spent)))
	t.usage.worked += spent
	t.usage.since = now
}

func (a *services) happened(h *happening) {
	t := h.task
	if h.what == jobEnded {
		a.over(h.job, h.at)
	}
	if t == nil {
		return
	}
	c := &a.classes[t.service]
	switch h.what {
	case submitted:
		c.Submitted++
	case placed:
		c.Placed++
		if h.latency != cluster.Never {
			c.latency.Add(h.latency)
		}
	case begins:
		t.usage.since = h.at
	case rests:
		t.tally(a.priced, h.at)
	case evicted:
		a.classes[h.row.Class].lasting.left(h.row)
		if h.row.Phase == cluster.Leaving && h.row.Next == cluster.NoNode {
			a.classes[h.row.Class].Preempted++
		}
	case ended:
		a.ended(h)
	case left:
		if t.phase == working {
			t.tally(a.priced, h.at)
		}
		a.settled(t, h.account)
		a.overdue(t.job, h.at)
		if h.waits.code != "" {
			c.Pending++
		}
	default:
	}
}

// ended takes stock of a task that is done. One that was not needed in the end was
// promised nothing by itself, but is paid for.
func (a *services) ended(h *happening) {
	if h.why == superseded {
		a.charges(h.task, 0)
		return
	}
	if h.why == byItself && !h.task.fails {
		a.classes[h.task.service].Finished++
	}
	a.settled(h.task, h.account)
}

// credit is what the task gets back by its account, which may be more than the charge.
func (a *services) credit(t *task, account cluster.Account) class.Money {
	return a.table.Classes[t.service].Refund(a.table.Credits, account, class.Demand{
		Quantity: t.demand[a.priced], PerUnit: a.unit, Work: t.longest(a.kinds), Copy: t.isCopy(),
	})
}

// longest is how long the task works in all with the least that it may take.
func (t *task) longest(kinds []cluster.Kind) cluster.Time {
	for k := range t.most {
		if least := t.demand[k]; t.most[k] != least && least > 0 && t.work != cluster.Never {
			return cluster.Time(wide.Product(max(kinds[k].PerUnit, 1), int64(t.work)).OverUp(least))
		}
	}
	return t.work
}

// isCopy reports whether the task is a copy beside the first one.
func (t *task) isCopy() bool { return t.copy > 1 }

// charges counts what the task used, and what it owes for that.
func (a *services) charges(t *task, credit class.Money) {
	charge := a.table.Classes[t.service].Price.Charge(t.usage.used, a.unit, t.isCopy())
	c := &a.classes[t.service]
	c.revenue = c.revenue.Plus(charge.Sum())
	c.credits = c.credits.Plus(credit)
	if t.usage.worked > 0 {
		c.worked++
		c.cores = c.cores.Plus(t.usage.mean())
	}
	a.invoices.add(t, charge, credit)
}

// settled takes stock of a task by its last account.
func (a *services) settled(t *task, account cluster.Account) {
	a.charges(t, a.credit(t, account))
	age := account.Age()
	if age <= 0 {
		return
	}
	c := &a.classes[t.service]
	c.counted++
	c.lasting.tasks++
	c.lasting.waited += float64(account.Waiting)
	c.age = c.age.Plus(wide.Of(int64(age)))
	c.overhead = c.overhead.Plus(wide.Of(int64(account.Overhead)))
	c.availability.Add(account.Running, age)
	c.equity.Add(account.Submitted, account.Running, age)
	promised := &a.table.Classes[t.service]
	if promised.Kept(account) {
		c.kept++
	} else {
		target := float64(promised.Availability) / float64(cluster.Whole)
		c.missed += target - float64(account.Running)/float64(age)
	}
}

func (a *services) result(_ *span, r *report.Run) {
	r.Classes = map[string]report.Class{}
	for i := range a.classes {
		c, promised := &a.classes[i], &a.table.Classes[i]
		if curve := c.availability.Curve(); curve != nil {
			if r.Availabilities == nil {
				r.Availabilities = map[string]report.Curve{}
			}
			r.Availabilities[promised.Name] = curve
		}
		if curve := c.latency.Curve(); curve != nil {
			r.Latencies[promised.Name] = curve
		}
		if c.Submitted > 0 {
			r.Classes[promised.Name] = c.result(promised, a.unit)
		}
	}
}

// result is what the report says of the class.
func (c *classStats) result(promised *class.Class, perUnit int64) report.Class {
	c.PlacementLatency = c.latency.Distribution()
	c.Availability = c.availability.Summary()
	c.Bill = &report.Bill{
		Overhead: report.Ratio(c.overhead.Float(), c.age.Float()),
		Cores:    report.Ratio(c.cores.Float(), float64(float64(c.worked)*float64(max(perUnit, 1)))),
		Revenue:  amount(c.revenue),
	}
	c.Deadlines, c.Lasting = c.dues.result(), c.lasting.result(&promised.Class)
	if promised.Promises() && c.counted > 0 { // else nothing was kept, and nothing broken
		c.Promise = &report.Promise{
			Target:     report.Ratio(float64(promised.Availability), float64(cluster.Whole)),
			Fulfilment: report.Ratio(float64(c.kept), float64(c.counted)),
			Deficit:    report.Ratio(c.missed, float64(c.counted-c.kept)),
			Gini:       c.equity.Gini(),
			Penalties:  amount(c.credits),
		}
	}
	return c.Class
}

// amount is money as the report has it.
func amount(m class.Money) report.Number {
	return report.Ratio(float64(m), float64(class.One))
}
