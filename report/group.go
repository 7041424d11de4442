package report

// Group is a policy under one set-up: the runs that differ in their seed
// alone.
type Group struct {
	// Name tells it from the other experiments: the policy, and what else they
	// differ in, such as "kube, google2011".
	Name string
	// Runs is never empty. Its order is that in which the runs were given.
	Runs []Run
}

// Groups returns runs by experiment, in the order of the first run of
// each.
func Groups(runs []Run) []Group {
	var names []label
	for _, l := range labelsOf(runs) {
		if l.title != seedTitle {
			names = append(names, l)
		}
	}
	var all []Group
	for _, group := range experiments(runs) {
		all = append(all, Group{Name: nameOf(&group[0], names), Runs: group})
	}
	return all
}

// Grid is the table that Write prints, as cells.
type Grid struct {
	// Above and Titles are the two lines of the head, as long as each row.
	Above, Titles []string
	// Labels is how many columns, from the left, say which run a row is about.
	Labels int
	// Means holds a row for each experiment, the means over its seeds; Rows one
	// for each run, and the means below them where there are several seeds.
	Means, Rows [][]string
}

// GridOf returns the table of runs.
func GridOf(runs []Run) Grid {
	if len(runs) == 0 {
		return Grid{}
	}
	labels, measures := labelsOf(runs), measuresOf(runs)
	head := headOf(labels, measures)
	g := Grid{Above: head[0], Titles: head[1], Labels: len(labels)}
	for _, group := range experiments(runs) {
		for i := range group {
			g.Rows = append(g.Rows, runLine(&group[i], labels, measures))
		}
		if !severalSeeds(group) {
			g.Means = append(g.Means, runLine(&group[0], labels, measures))
			continue
		}
		mean := meanLine(group, labels, measures)
		g.Means = append(g.Means, mean)
		g.Rows = append(g.Rows, mean)
	}
	return g
}
