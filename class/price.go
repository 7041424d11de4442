package class

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
)

// This file is what classes cost, and what is given back where a promise was broken: a
// price list and a table of credits, both plain data. Neither paper gives its numbers.
// What a price is made of is the economic model of the SLA paper: waiting, reputation of
// the nodes, cores × time, and replicas. Credits are those of the QoS paper's penalties,
// modelled on what providers give back (specification §10). All numbers here are
// reconstructions.
//
// Money is whole numbers. Each item of a charge is computed from what was used and rounded
// once: down, to a millionth. A credit is a share of such charges, and so is rounded again.

// Money is an amount in millionths of a currency that has no name.
type Money int64

// One is one of the currency.
const One Money = 1_000_000

// mostMoney bounds what a task owes, so that a thousand such amounts can be added up; sums
// of more stop at the most there is (see Plus).
const mostMoney Money = 1 << 53

// String prints m with all its digits: "12.500000".
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return fmt.Sprintf("%s%d.%06d", sign, m/One, m%One)
}

// Plus is both amounts together, neither of which is negative: at most the most there is.
func (m Money) Plus(o Money) Money { return m + min(o, math.MaxInt64-m) }

// Part is a share of an amount that is at least 0.
func (m Money) Part(s cluster.Share) Money {
	high, low := bits.Mul64(uint64(m), uint64(s))
	if high >= uint64(cluster.Whole) {
		return mostMoney
	}
	part, _ := bits.Div64(high, low, uint64(cluster.Whole))
	return Money(min(part, uint64(mostMoney)))
}

// Price is what a class costs. What is 0 costs nothing.
type Price struct {
	// UnitHour is for one unit of the priced kind, such as a core, for an hour at work.
	UnitHour Money
	// Urgency and Tier are what the place in the queue and the reputation of the nodes
	// cost on top, as shares of that.
	Urgency, Tier cluster.Share
	// Copy is what the time of each copy beyond a task's first costs, as a share of
	// what the first one's costs: cluster.Whole is as much.
	Copy cluster.Share
}

// Credit is a row of the table of credits.
type Credit struct {
	// Attained is the least share of the promised availability, A/σ, for the row.
	Attained cluster.Share
	// Back is the share of the price that is given back.
	Back cluster.Share
}

// Credits are those of the QoS paper as we reconstruct them: nothing where the promise
// was kept, 10 % from 0.99 of it on, 30 % from 0.95 on, and below that all of the price.
func Credits() []Credit {
	return []Credit{
		{Attained: cluster.Whole, Back: 0},
		{Attained: cluster.Whole * 99 / 100, Back: cluster.Whole / 10},
		{Attained: cluster.Whole * 95 / 100, Back: cluster.Whole * 3 / 10},
		{Attained: 0, Back: cluster.Whole},
	}
}

// PriceOf is the price list unless a table has its own, by what the class promises: a
// unit costs 1 an hour, times the promised availability where there is one; each level of
// urgency and of reputation above best effort costs a quarter on top; and a copy costs as
// much as the first one.
func PriceOf(c *cluster.Class) Price {
	p := Price{UnitHour: One, Urgency: surcharge(c.Urgency), Tier: surcharge(c.Tier), Copy: cluster.Whole}
	if c.Promises() {
		p.UnitHour = One.Part(c.Availability)
	}
	return p
}

func surcharge(l cluster.Level) cluster.Share {
	return cluster.Whole / 4 * cluster.Share(max(l, cluster.BestEffort)-cluster.BestEffort)
}

// UnitHours is quantities × µs of a kind of which perUnit are one unit, in units × hours as
// an amount: what it costs at One a unit-hour.
func UnitHours(used wide.Number, perUnit int64) Money {
	p := Price{UnitHour: One}
	return p.item(used, perUnit)
}

// Charge is what a task costs, item by item.
type Charge struct {
	// Units is units × time of a task, or of its first copy; Copies is that of another
	// copy. One of them is 0.
	Units, Copies Money
	Urgency, Tier Money
}

// Sum is all of the charge.
func (c Charge) Sum() Money { return c.Units.Plus(c.Copies).Plus(c.Urgency).Plus(c.Tier) }

// Charge is the price of so much, in quantities × µs, of a kind of which perUnit quantities
// are one unit. A copy is a task that runs beside the first of its kind.
func (p *Price) Charge(used wide.Number, perUnit int64, isCopy bool) Charge {
	of := cluster.Whole // of what a first one costs
	if isCopy {
		of = p.Copy
	}
	c := Charge{Units: p.item(used, perUnit, of), Urgency: p.item(used, perUnit, of, p.Urgency), Tier: p.item(used, perUnit, of, p.Tier)}
	if isCopy {
		c.Units, c.Copies = 0, c.Units
	}
	return c
}

// item is usage × UnitHour / perUnit / hour, times each of the shares.
func (p *Price) item(used wide.Number, perUnit int64, shares ...cluster.Share) Money {
	by, over := append(make([]int64, 0, 4), int64(p.UnitHour)), append(make([]int64, 0, 4), max(perUnit, 1), int64(cluster.Hour)) // on the stack
	for _, share := range shares {
		by, over = append(by, int64(share)), append(over, int64(cluster.Whole))
	}
	return min(Money(used.Scaled(by, over...)), mostMoney)
}

// tolerance is how long a task that is promised all of its time may wait and have what it
// was promised: a tick of the authors' simulator, and the tolerance of their evaluation
// (specification, Ambiguities).
const tolerance = cluster.Second

// Kept reports whether a task with that account has the availability that the class
// promises: R/age ≥ σ, exactly. Where that is all of its time, it may have waited for a
// second, what it cost to be evicted counted in; and it may take its time to begin for the
// first time, which no scheduler can spare it. In the authors' stored runs that is none.
func (c *Class) Kept(a cluster.Account) bool {
	if c.Availability == cluster.Whole && a.Waiting+a.Restarting <= tolerance {
		return true
	}
	return c.attained(a, cluster.Whole)
}

// attained reports whether the availability is at least a share of what was promised.
func (c *Class) attained(a cluster.Account, share cluster.Share) bool {
	ranHigh, ranLow := bits.Mul64(uint64(a.Running), uint64(cluster.Whole*cluster.Whole))
	owedHigh, owedLow := bits.Mul64(uint64(a.Age()), uint64(share*c.Availability))
	return ranHigh > owedHigh || ranHigh == owedHigh && ranLow >= owedLow
}

// Owed is the time for which a task with that account was promised to run, of the work
// that it brought: the promised share of its age, but no more than its work. It is what
// credits are shares of, so that a task that was never let run has one too.
func (c *Class) Owed(a cluster.Account, work cluster.Time) cluster.Time {
	high, low := bits.Mul64(uint64(a.Age()), uint64(c.Availability))
	owed, _ := bits.Div64(high, low, uint64(cluster.Whole)) // at most its age
	return min(cluster.Time(owed), work)
}

// Demand is what a task asks for of the priced kind, of which PerUnit quantities are one
// unit, and for how long it works at most. A copy runs beside the first of its kind.
type Demand struct {
	Quantity, PerUnit int64
	Work              cluster.Time
	Copy              bool
}

// Cost is what a task of the class with that account owes for the time for which it ran with
// what it asks for.
func (c *Class) Cost(a cluster.Account, d Demand) Money {
	return c.Price.Charge(wide.Product(d.Quantity, int64(a.Running)), d.PerUnit, d.Copy).Sum()
}

// Refund is what a task of the class with that account gets back: a share of the price of
// what was promised to it, which is what it asks for, for as long as it was promised to run.
// So it may be more than what it owes.
func (c *Class) Refund(credits []Credit, a cluster.Account, d Demand) Money {
	back := c.creditFor(credits, a)
	if back == 0 {
		return 0
	}
	owed := wide.Product(d.Quantity, int64(c.Owed(a, d.Work)))
	return c.Price.Charge(owed, d.PerUnit, d.Copy).Sum().Part(back)
}

// creditFor is the share of the price of what was promised that a task of the class with
// that account gets back.
func (c *Class) creditFor(credits []Credit, a cluster.Account) cluster.Share {
	if !c.Promises() || c.Kept(a) {
		return 0
	}
	for _, credit := range credits {
		if c.attained(a, credit.Attained) {
			return credit.Back
		}
	}
	return 0
}

// PricedKind is which of a cluster's kinds prices are for, and an error if none is.
func (t *Table) PricedKind(kinds []cluster.Kind) (int, error) {
	if t.Priced == "" {
		return 0, nil
	}
	var there []string
	for k, kind := range kinds {
		if kind.Name == t.Priced {
			return k, nil
		}
		there = append(there, kind.Name)
	}
	return 0, fmt.Errorf("priced: no node has the kind %s; there are %s", t.Priced, strings.Join(there, ", "))
}

// mostPrice bounds prices, mostShare surcharges.
const (
	mostPrice = 1_000_000 * One
	mostShare = 100 * cluster.Whole
)

// CheckPrices says what is wrong with the prices and credits of the table.
func (t *Table) CheckPrices() error {
	for i := range t.Classes {
		if err := t.Classes[i].Price.check(); err != nil {
			return fmt.Errorf("class %q: price: %w", t.Classes[i].Name, err)
		}
	}
	for i, c := range t.Credits {
		switch {
		case c.Attained < 0 || c.Attained > cluster.Whole:
			return fmt.Errorf("credits[%d]: attained is %v, want 0 to 1", i, c.Attained)
		case c.Back < 0 || c.Back > cluster.Whole:
			return fmt.Errorf("credits[%d]: back is %v, want 0 to 1", i, c.Back)
		case c.Attained == cluster.Whole && c.Back > 0:
			return fmt.Errorf("credits[%d]: back is %v where all was attained, want 0: a promise that was kept gives nothing back", i, c.Back)
		case i > 0 && c.Attained >= t.Credits[i-1].Attained:
			return fmt.Errorf("credits[%d]: attained is %v after %v, want less", i, c.Attained, t.Credits[i-1].Attained)
		case i > 0 && c.Back < t.Credits[i-1].Back:
			return fmt.Errorf("credits[%d]: back is %v after %v, want no less", i, c.Back, t.Credits[i-1].Back)
		}
	}
	if n := len(t.Credits); n > 0 && t.Credits[n-1].Attained != 0 {
		return fmt.Errorf("credits[%d]: attained is %v, want 0 in the last row, so that there is one for every task", n-1, t.Credits[n-1].Attained)
	}
	return nil
}

func (p *Price) check() error {
	if p.UnitHour < 0 || p.UnitHour > mostPrice {
		return fmt.Errorf("unit_hour is %v, want 0 to %v", p.UnitHour, mostPrice)
	}
	for _, s := range []struct {
		name  string
		share cluster.Share
	}{{"urgency", p.Urgency}, {"tier", p.Tier}, {"copy", p.Copy}} {
		if s.share < 0 || s.share > mostShare {
			return fmt.Errorf("%s is %v, want 0 to %v", s.name, s.share, mostShare)
		}
	}
	return nil
}
