package validation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/experiment"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/report"
)

// This file holds a run on the bed against the simulator. Availabilities of a class are compared request by request, by Welch's t-test and by two one-sided tests of
// whether the means are equivalent: no further apart than those of the authors' proof of concept were from their simulator's. Preemptions are to be no fewer and no
// more than in any of several simulations, which take what each start and each leaving took on the bed, and each of which moves every arrival by up to a tenth of a request's distance, and every such time by up to a tenth of itself.

// bound is how far apart means of a class may be in a test and count as the same.
type bound struct {
	test, class string
	most        float64
}

// bounds are what the authors' proof of concept was from their simulator: silver .910 from .9054 and bronze, in the worst of nine replications, .487 from .4719 in the
// first test, silver .896 from .8999 in the second. Of gold nothing is published but that it had all its time.
func bounds() []bound {
	return []bound{{"v1", "gold", 0.001}, {"v1", "silver", 0.0046}, {"v1", "bronze", 0.0151}, {"v2", "silver", 0.0039}}
}

// significance is the probability below which a test says that something is not chance.
const significance = 0.05

// Comparison is a run on the bed beside simulations.
type Comparison struct {
	Classes []ClassComparison // the most important first
	// Bed is how many preemptions there were; Least and Most how many in simulations.
	Bed, Least, Most int
	Simulations      int
	// First and Again are how long starts took on the bed, Leave how long pods went on that were told to leave, and Bursts how long it took from pods that left together to the next that did; rising.
	First, Again, Leave, Bursts []cluster.Time
}

// ClassComparison is of one class.
type ClassComparison struct {
	Name           string
	Bed, Simulated []float64 // availabilities, rising; those of the first simulation
	// Different is the probability of means as different as these by chance, by Welch's t-test, and Apart that of means as near as these where they are the Bound apart.
	Different, Apart, Bound float64
}

// Equivalent reports whether the means are the same, as far as the bound goes.
func (c *ClassComparison) Equivalent() bool { return c.Apart < significance }

// Within reports whether there were as many preemptions as in simulations.
func (c *Comparison) Within() bool { return c.Least <= c.Bed && c.Bed <= c.Most }

// Compare simulates what came so many times, and compares.
func Compare(o Options, out *Outcome, simulations int) (*Comparison, error) {
	if simulations < 1 {
		return nil, fmt.Errorf("%d simulations: want one at least", simulations)
	}
	c := &Comparison{Bed: out.Preemptions, Simulations: simulations, First: rising(out.replica.First), Again: rising(out.replica.Again), Leave: rising(out.replica.Leave), Bursts: rising(out.bursts)}
	for i := range uint64(simulations) {
		fared, err := perturbed(&out.replica, i, cluster.Second/cluster.Time(o.Pace)).Simulate(o.Seed + i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			c.Least, c.Most = fared.Preemptions, fared.Preemptions
			c.compare(o.Test, out, &fared)
		}
		c.Least, c.Most = min(c.Least, fared.Preemptions), max(c.Most, fared.Preemptions)
	}
	return c, nil
}

// perturbed is the replica with each arrival moved by up to a tenth of the distance of requests, and what starts and leaving took by up to a tenth of it; the first is as it was.
func perturbed(r *experiment.Replica, i uint64, distance cluster.Time) *experiment.Replica {
	moved := *r
	if i == 0 {
		return &moved
	}
	chance := rand.New(rand.NewPCG(i, 0xA221))
	moved.Arrivals = slices.Clone(r.Arrivals)
	for at := range moved.Arrivals {
		moved.Arrivals[at] = max(0, moved.Arrivals[at]+cluster.Time(chance.Int64N(int64(distance/5)+1))-distance/10)
	}
	slices.Sort(moved.Arrivals) // requests keep their order
	moved.Bursts = slices.Clone(r.Bursts)
	for at := range moved.Bursts {
		b := &moved.Bursts[at]
		for _, list := range []*[]cluster.Time{&b.First, &b.Again, &b.Leave, &b.Anew} {
			*list = slices.Clone(*list)
			for i, took := range *list {
				(*list)[i] = took - took/10 + cluster.Time(chance.Int64N(int64(took/5)+1))
			}
		}
	}
	return &moved
}

// compare compares the classes.
func (c *Comparison) compare(test string, out *Outcome, simulated *experiment.Fared) {
	for _, b := range bounds() {
		bed := rising(out.Availability[b.class])
		if b.test != test || len(bed) == 0 {
			continue
		}
		of := ClassComparison{Name: b.class, Bed: bed, Simulated: rising(simulated.Availability[b.class]), Bound: b.most}
		contrast := report.Contrasted(of.Simulated, of.Bed)
		of.Different, of.Apart = contrast.Chance(), contrast.Apart(b.most)
		c.Classes = append(c.Classes, of)
	}
}

func rising[T cluster.Time | float64](list []T) []T { return slices.Sorted(slices.Values(list)) }

// Write writes the comparison as a table of Markdown.
func (c *Comparison) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| class | | least | mean | most | different by chance (Welch) | equivalent within | by chance (two one-sided tests) |\n|---|---|---|---|---|---|---|---|\n")
	for i := range c.Classes {
		of := &c.Classes[i]
		verdict := "no"
		if of.Equivalent() {
			verdict = "yes"
		}
		fmt.Fprintf(&b, "| %s, %d | bed | %s | %s | %s | %s | ±%s: %s | %s |\n", of.Name, len(of.Bed), share(of.Bed[0]), share(mean(of.Bed)), share(of.Bed[len(of.Bed)-1]),
			probability(of.Different), share(of.Bound), verdict, probability(of.Apart))
		fmt.Fprintf(&b, "| | simulated | %s | %s | %s | | | |\n", share(of.Simulated[0]), share(mean(of.Simulated)), share(of.Simulated[len(of.Simulated)-1]))
	}
	within := "within"
	if !c.Within() {
		within = "not within"
	}
	fmt.Fprintf(&b, "\nPreemptions: %d on the bed, %s the %d to %d of %d simulations.\n", c.Bed, within, c.Least, c.Most, c.Simulations)
	fmt.Fprintf(&b, "On the bed, starts: %s; %s; and %s; %s.\n", spread("first", c.First), spread("again", c.Again), spread("leaving", c.Leave), spread("from one burst of evictions to the next", c.Bursts))
	_, err := io.WriteString(w, b.String())
	return err
}

// share is a share without its leading zero.
func share(x float64) string { return strings.TrimPrefix(fmt.Sprintf("%.4f", x), "0") }

// probability is a probability in two digits.
func probability(p float64) string {
	if p < 1e-6 {
		return "<1e-6"
	}
	return fmt.Sprintf("%.2g", p)
}

// spread says how times are spread that rise.
func spread(what string, rising []cluster.Time) string {
	if len(rising) == 0 {
		return what + " none"
	}
	all, sum := make([]time.Duration, len(rising)), time.Duration(0)
	for i, t := range rising {
		all[i] = time.Duration(t) * time.Microsecond
		sum += all[i]
	}
	s := testbed.Summarize(0, all, nil)
	return fmt.Sprintf("%s %d, mean %s, p50 %s, p99 %s, most %s", what, s.Pods, millis(sum/time.Duration(len(all))), millis(s.P50), millis(s.P99), millis(s.Max))
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
