package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// tally counts mutants of one package, or of all.
type tally struct{ made, killed, survived, equivalent int }

// add counts a mutant that was run.
func (t *tally) add(m *mutant, equivalent bool) {
	t.made++
	switch {
	case m.verdict == killed:
		t.killed++
	case equivalent:
		t.equivalent++
	default:
		t.survived++
	}
}

// share is how many per cent were killed of those that can be.
func (t *tally) share() int {
	if t.made == t.equivalent {
		return 100
	}
	return 100 * t.killed / (t.made - t.equivalent)
}

// report prints a row for each package, and each survivor. It returns an error that says what is
// not as it should be.
func report(out io.Writer, targets []target, all []*mutant, known *equivalents, whole bool) error {
	var sum tally
	rows := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(rows, "package\tmade\tkilled\tsurvived\tequivalent\tkilled of those that can be\t")
	row := func(name string, t tally) {
		fmt.Fprintf(rows, "%s\t%d\t%d\t%d\t%d\t%d %%\t\n", name, t.made, t.killed, t.survived, t.equivalent, t.share())
	}
	var alive []*mutant
	for _, target := range targets {
		var of tally
		for _, m := range all {
			if m.of.target.String() != target.String() || m.verdict == notRun {
				continue
			}
			of.add(m, known.names(m))
			sum.add(m, known.names(m))
			if m.verdict == survived && !known.names(m) {
				alive = append(alive, m)
			}
		}
		row(target.String(), of)
	}
	row("all", sum)
	if err := rows.Flush(); err != nil {
		return err
	}
	for _, m := range alive {
		fmt.Fprintf(out, "\nsurvived: %s:%d\n%s", m.path(), m.line, m.key())
	}
	wrong := []error{known.check()}
	if sum.made == 0 {
		wrong = append(wrong, errors.New("no mutant was run"))
	}
	if whole && sum.made < leastMade {
		wrong = append(wrong, fmt.Errorf("%d mutants were run, want at least %d: the time was over", sum.made, leastMade))
	}
	if sum.share() < leastKilled {
		wrong = append(wrong, fmt.Errorf("%d %% were killed, want at least %d %%", sum.share(), leastKilled))
	}
	if len(alive) > 0 {
		wrong = append(wrong, fmt.Errorf("%d survived that %s does not name: write a test that kills each, or name it with its reason", len(alive), known.file))
	}
	return errors.Join(wrong...)
}
