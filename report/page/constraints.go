package page

import "fairlead.dev/fairlead/report"

// How placement constraints were kept: a table, and over time which share of the tasks
// violated one, and what that cost. One line an experiment.

// constraintsSection shows Run.Constraints and draws the columns violated and
// violation_cost; nil where no run had constraints.
func (o *overTime) constraintsSection(d *island) *section {
	table := report.ConstraintNumbers(o.groups)
	if len(table.Rows) == 0 {
		return nil
	}
	s := &section{
		ID: "constraints", Title: "Placement constraints", Short: "Constraints", Table: table, Legend: policyKeys(o.groups),
		How: "A task is bound where a constraint speaks of it, and violates it where a bound of the alternative that costs least does not hold for it; tasks that hold room count. " +
			"The cost is 1 for each violation of a soft constraint of weight 1, and a tenth for all that is missing or too much. " +
			"No placement violates a hard one; that may happen when nodes are lost or tasks end, and was the case before the constraint came or with what ran at the start. Lower is better.",
	}
	if o.seeds {
		s.How += quartiles
	}
	g := panelRow{}
	for _, c := range []struct {
		column, title, label string
		unit                 unit
	}{
		{"violated", "Tasks that violate a constraint", "share of the tasks that are bound", share},
		{"violation_cost", "Cost of soft constraints", "violations of weight 1", count},
	} {
		if f := o.linesOf(c.column, c.unit); f != nil {
			f.Title, f.Y.Label = c.title, c.label
			g.Panels = append(g.Panels, d.panelOf(f))
		}
	}
	if len(g.Panels) > 0 {
		s.Rows = []panelRow{g}
	}
	return s
}
