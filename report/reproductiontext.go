package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file prints a Reproduction for people, and its figures as CSV.

// writeReproduction prints what was published and what was measured, and then
// the figures as tables.
func writeReproduction(text *bytes.Buffer, r *Reproduction) {
	fmt.Fprintf(text, "%s: %s\n%s\n", r.Name, r.What, r.Paper)
	fmt.Fprintf(text, "Data: %s\n", r.Data)
	if r.Quick {
		text.WriteString("Quick: at a small size; its numbers are not to be held against the paper's\n")
	}
	for _, fact := range r.Facts {
		fmt.Fprintf(text, "Note: %s\n", fact)
	}
	if len(r.Compared) > 0 {
		lines := []line{{"", "PUBLISHED", "OURS"}}
		for _, c := range r.Compared {
			lines = append(lines, line{c.What, c.Unit.optional(c.Published), c.Unit.optional(c.Ours)})
		}
		text.WriteByte('\n')
		align(text, lines, 1)
		for _, c := range r.Compared {
			if c.Note != "" {
				fmt.Fprintf(text, "%s: %s\n", c.What, c.Note)
			}
		}
	}
	writeGoals(text, r)
	writeVariants(text, r.Variants)
	for i := range r.Figures {
		f := &r.Figures[i]
		fmt.Fprintf(text, "\n%s\n", f.Title)
		if f.Cumulative {
			align(text, f.quantiles(), 1)
		} else {
			align(text, f.rows(), 1)
		}
	}
}

// quantiles is the table of a cumulative figure: a row a line.
func (f *Figure) quantiles() []line {
	lines := []line{{f.X.Label}}
	shares := []Number{0.01, 0.1, 0.25, 0.5, 0.6, 0.75, 0.8, 0.9, 0.99, 1}
	for _, s := range shares {
		lines[0] = append(lines[0], "P"+strconv.FormatFloat(100*float64(s), 'g', -1, 64))
	}
	for i := range f.Lines {
		l := line{f.Lines[i].Name}
		for _, s := range shares {
			v, ok := f.Lines[i].Quantile(s)
			l = append(l, f.X.Unit.orNone(v, ok))
		}
		lines = append(lines, l)
	}
	return lines
}

// mostRows is how long the table of a figure gets; of more, every n-th is shown. Of a line
// that has no point there stands its next one before the row that follows, so that lines
// whose points take turns are all seen, and the row says up to where it looks.
const mostRows = 30

// rows is the table of a figure: a row for each x, a column for each line.
func (f *Figure) rows() []line {
	head, at := line{f.X.Label}, []Number{}
	for _, l := range f.Lines {
		head = append(head, l.Name)
		for _, p := range l.Points {
			at = append(at, p[0])
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	every := (len(at) + mostRows - 1) / mostRows
	lines := []line{head}
	for i := 0; i < len(at); i += every {
		lines = append(lines, f.row(at[i:min(i+every, len(at))]))
	}
	return lines
}

// row is the row of the first x, with those that are not shown up to the next row.
func (f *Figure) row(at []Number) line {
	last, l := at[0], line{""}
	for i := range f.Lines {
		v, ok := Number(0), false
		for _, x := range at {
			if v, ok = f.Lines[i].At(x); ok {
				last = max(last, x)
				break
			}
		}
		l = append(l, f.Y.Unit.orNone(v, ok))
	}
	l[0] = f.X.Unit.Show(at[0])
	if last > at[0] {
		l[0] += "–" + f.X.Unit.Show(last)
	}
	return l
}

// Show prints a number of that unit for people. Papers give long times, those that
// would be minutes, in seconds, to be compared digit by digit.
func (u Unit) Show(v Number) string {
	if u == InSeconds && v >= 59.95 {
		return strconv.FormatFloat(float64(v), 'f', 2, 64) + "s"
	}
	return u.show(float64(v))
}

func (u Unit) orNone(v Number, ok bool) string {
	if !ok {
		return "-"
	}
	return u.Show(v)
}

func (u Unit) optional(v *Number) string {
	if v == nil {
		return "-"
	}
	return u.Show(*v)
}

// Grid is the published numbers beside ours as a table.
func (r *Reproduction) Grid() Grid {
	g := Grid{Titles: []string{"", "published", "ours", "note"}, Labels: 1}
	for _, c := range r.Compared {
		g.Rows = append(g.Rows, []string{c.What, c.Unit.optional(c.Published), c.Unit.optional(c.Ours), c.Note})
	}
	return g
}

// writeFiguresCSV prints a row for each point of each figure.
func writeFiguresCSV(text *bytes.Buffer, r *Reproduction) error {
	w := csv.NewWriter(text)
	rows := [][]string{strings.Split("experiment,figure,line,x,x_unit,y,y_unit", ",")}
	for _, f := range r.Figures {
		for _, l := range f.Lines {
			for _, p := range l.Points {
				x, errX := p[0].MarshalJSON()
				y, errY := p[1].MarshalJSON()
				if errX != nil || errY != nil {
					return fmt.Errorf("report: %s has a point at %g, %g", l.Name, float64(p[0]), float64(p[1]))
				}
				rows = append(rows, []string{r.Name, f.Title, l.Name, string(x), string(f.X.Unit), string(y), string(f.Y.Unit)})
			}
		}
	}
	return w.WriteAll(rows)
}
