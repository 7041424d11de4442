package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/report"
)

// How promises of availability were kept: bars for each class that has a target, and the
// distribution of availability in each, with the target as a line.

// promisesSection draws Run.Classes and Run.Availabilities.
func promisesSection(d *island, groups []report.Group) section {
	s := section{
		ID: "promises", Title: "Promises of availability", Short: "Promises",
		How: "Availability is the share of its time, from submission on, that a task ran. The dashed line is what the class was promised. Bars of availability are means over tasks, with a line from the least available task to the most; " +
			"kept is the share of tasks that had what was promised, the deficit by how much the others missed it, the Gini coefficient how unequal tasks fared that arrived in the same hour, and penalties are what they get back (prices and credits are a reconstruction). " +
			"The curves below say which share of the tasks had at most so much: one further to the right and lower is better, and what lies left of the dashed line was broken.",
	}
	classes := promisingClasses(groups)
	if len(classes) == 0 {
		s.None = "No class with a target of availability had a task, or the file was written by a version of fairlead that did not record promises."
		return s
	}
	if slices.ContainsFunc(groups, func(e report.Group) bool { return len(e.Runs) > 1 }) {
		s.How += " Bars are means over the seeds." + quartiles
	}
	s.BarKeys = policyKeys(groups)
	s.Bars = promiseBars(groups, classes)
	g := panelRow{Title: "Distribution of availability"}
	low := lowestAvailability(groups)
	for _, c := range classes {
		if f := availabilityOf(groups, c, low); f != nil {
			g.Panels = append(g.Panels, d.panelOf(f))
		}
	}
	if len(g.Panels) > 0 {
		g.Size = sizeOfLarge(len(g.Panels))
		s.Rows = []panelRow{g}
	}
	s.Legend = append(policyKeys(groups), key{Name: "target", Colour: "ink", Dash: 1})
	return s
}

// promisingClass is a class with a target.
type promisingClass struct {
	name   string
	target float64
}

// promisingClasses are the classes with a target, the largest first.
func promisingClasses(groups []report.Group) []promisingClass {
	targets := map[string]float64{}
	var names []string
	for _, e := range groups {
		for _, r := range e.Runs {
			for name, c := range r.Classes {
				if c.Promise == nil {
					continue
				}
				if _, known := targets[name]; !known {
					names = append(names, name)
				}
				targets[name] = math.Max(targets[name], float64(c.Target))
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(targets[b], targets[a]), cmp.Compare(a, b)) })
	var classes []promisingClass
	for _, name := range names {
		classes = append(classes, promisingClass{name, targets[name]})
	}
	return classes
}

// promiseBars are the charts of bars.
func promiseBars(groups []report.Group, classes []promisingClass) []panel {
	available := func(pick func(*report.Availability) report.Number) func(report.Class) (report.Number, bool) {
		return func(c report.Class) (report.Number, bool) {
			if c.Availability == nil {
				return 0, false
			}
			return pick(c.Availability), true
		}
	}
	promise := func(pick func(*report.Promise) report.Number) func(report.Class) (report.Number, bool) {
		return func(c report.Class) (report.Number, bool) {
			if c.Promise == nil {
				return 0, false
			}
			return pick(c.Promise), true
		}
	}
	mean := available(func(a *report.Availability) report.Number { return a.Mean })
	charts := []*barChart{
		barsOf(groups, classes, axis{Label: "mean over tasks, least to most", Unit: share}, mean),
		barsOf(groups, classes, axis{Label: "share of tasks", Unit: share}, promise(func(p *report.Promise) report.Number { return p.Fulfilment })),
		barsOf(groups, classes, axis{Label: "mean over tasks that missed it", Unit: share}, promise(func(p *report.Promise) report.Number { return p.Deficit })),
		barsOf(groups, classes, axis{Label: "0 is all alike", Unit: share}, promise(func(p *report.Promise) report.Number { return p.Gini })),
		barsOf(groups, classes, axis{Label: "of the class's tasks", Unit: count}, func(c report.Class) (report.Number, bool) { return report.Number(c.Preempted), true }),
		barsOf(groups, classes, axis{Label: "units of money", Unit: rate}, promise(func(p *report.Promise) report.Number { return p.Penalties })),
	}
	for i, title := range []string{"Availability", "Kept", "Deficit", "Gini coefficient", "Preemptions", "Penalties"} {
		charts[i].Title = title
	}
	least := available(func(a *report.Availability) report.Number { return a.Min })
	most := available(func(a *report.Availability) report.Number { return a.Max })
	for c := range classes {
		charts[0].Groups[c].Target = classes[c].target
		for i := range groups {
			b := &charts[0].Groups[c].Bars[i]
			b.Low, b.High = classMean(&groups[i], classes[c].name, least), classMean(&groups[i], classes[c].name, most)
		}
	}
	charts[0].Y.High, charts[1].Y.High = 1, 1
	var panels []panel
	for i, c := range charts {
		if c.Y.High == 0 {
			c.Y.High = ceiling(c.Y.Unit, c.top())
		}
		id := "b" + strconv.Itoa(i)
		panels = append(panels, panel{ID: id, Title: c.Title, YLabel: c.Y.Label, Picture: barPicture(c, id)})
	}
	return panels
}

// barsOf has a bar for each class and experiment: the mean over its seeds.
func barsOf(groups []report.Group, classes []promisingClass, y axis, value func(report.Class) (report.Number, bool)) *barChart {
	chart := &barChart{Y: y}
	for _, c := range classes {
		g := barGroup{Name: c.name, Target: math.NaN()}
		for i := range groups {
			colour, _ := policyColour(i)
			g.Bars = append(g.Bars, bar{
				Name: groups[i].Name, Colour: colour,
				Value: classMean(&groups[i], c.name, value), Low: math.NaN(), High: math.NaN(),
			})
		}
		chart.Groups = append(chart.Groups, g)
	}
	return chart
}

// classMean is the mean over the seeds that have the value, NaN if there is none.
func classMean(e *report.Group, class string, value func(report.Class) (report.Number, bool)) float64 {
	sum, n := 0.0, 0
	for _, r := range e.Runs {
		c, ok := r.Classes[class]
		if !ok {
			continue
		}
		if v, ok := value(c); ok {
			sum += float64(v)
			n++
		}
	}
	return sum / float64(n)
}

// lowestAvailability is where the axis of the curves begins: a tenth below all.
func lowestAvailability(groups []report.Group) float64 {
	low := 0.9
	for _, e := range groups {
		for _, r := range e.Runs {
			for _, curve := range r.Availabilities {
				if len(curve) > 0 {
					low = math.Min(low, math.Floor(10*float64(curve[0][0]))/10)
				}
			}
		}
	}
	return low
}

// availabilityPoints is how many values a curve needs at most: few enough that the
// picture shows all of them, and with them the line of the target.
const availabilityPoints = 600

// beside is how far before the target its line is still at 0.
const beside = 1e-4

// availabilityOf is the distribution in one class, nil if nobody has one.
func availabilityOf(groups []report.Group, c promisingClass, low float64) *figure {
	x := axis{Label: "availability", Unit: share, Low: low, High: 1}
	f := &figure{Title: c.name, X: x, Y: axis{Label: "share of tasks that had at most so much", Unit: share, High: 1}, Stepped: true}
	at := values{low, 1}
	for _, e := range groups {
		for _, r := range e.Runs {
			for _, p := range r.Availabilities[c.name] {
				at = append(at, float64(p[0]))
			}
		}
	}
	slices.Sort(at)
	if at = slices.Compact(at); len(at) > availabilityPoints {
		at = make(values, availabilityPoints)
		for i := range at {
			at[i] = low + (1-low)*float64(i)/(availabilityPoints-1)
		}
	}
	if c.target > low+beside {
		at = append(at, c.target-beside, c.target)
		slices.Sort(at)
		at = slices.Compact(at)
	}
	f.At = at
	for i := range groups {
		var lines []values
		for _, r := range groups[i].Runs {
			if curve := r.Availabilities[c.name]; len(curve) > 0 {
				lines = append(lines, onGrid(curve, f.At, &x))
			}
		}
		if len(lines) == 0 {
			continue
		}
		mean, q1, q3 := overSeeds(lines)
		f.Lines = append(f.Lines, styled(line{Y: mean, Low: q1, High: q3}, i, groups[i].Name))
	}
	if len(f.Lines) == 0 {
		return nil
	}
	target := make(values, len(at))
	for i, v := range at {
		switch {
		case v >= c.target-beside && v < c.target: // up from 0
		case v == c.target:
			target[i] = 1
		default:
			target[i] = math.NaN()
		}
	}
	f.Lines = append(f.Lines, line{Name: "target", Colour: "ink", Dash: 1, Y: target})
	return f
}
