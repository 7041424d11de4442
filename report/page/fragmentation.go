package page

// Fragmentation over time: what is free and of no use. One panel a resource
// kind, one line an experiment.

// fragmentationSection draws the columns fragmentation.KIND.
func (o *overTime) fragmentationSection(d *island) section {
	s := section{
		ID: "fragmentation", Title: "Fragmentation over time", Short: "Fragmentation",
		How: "The share of what is free of a kind that a typical task of this workload could not use, because it lies on nodes that lack something else or in pieces that are too small " +
			"(FGD, USENIX ATC 2023). Lower is better; at 100% nothing that is free is of use.",
		Legend: policyKeys(o.groups),
	}
	kinds := o.columns("fragmentation.")
	if len(kinds) == 0 {
		s.None = "These results hold no fragmentation: it is measured only where the workload's typical tasks are known."
		return s
	}
	if o.seeds {
		s.How += quartiles
	}
	g := panelRow{}
	for _, kind := range kinds {
		f := o.linesOf("fragmentation."+kind, share)
		if f == nil {
			continue
		}
		f.Title, f.Y.Label, f.Y.High = kind, "share of free "+kind, 1
		g.Panels = append(g.Panels, d.panelOf(f))
	}
	if len(g.Panels) == 0 {
		s.None = nothingChanges
		return s
	}
	g.Size = sizeOfLarge(len(g.Panels))
	s.Rows = []panelRow{g}
	return s
}
