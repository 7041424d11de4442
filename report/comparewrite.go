package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// How a comparison is printed: a table for people with what differs, JSON with
// everything, CSV with a line for each metric of each pair.

// WriteComparison prints c to w. The table has only rows in which something
// differs unless all is set. Nothing is written when it fails, except when w
// does.
func WriteComparison(w io.Writer, format Format, c Comparison, all bool) error {
	var text bytes.Buffer
	var err error
	switch format {
	case Table:
		writeComparisonTable(&text, *c.printable(), all)
	case JSON:
		e := json.NewEncoder(&text)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false) // as in results
		err = e.Encode(c)
	case CSV:
		err = writeComparisonCSV(&text, c)
	default:
		_, err = ParseFormat(string(format))
	}
	if err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}

// writeComparisonTable prints a table for each pair, and how to read them.
func writeComparisonTable(text *bytes.Buffer, c Comparison, all bool) {
	for _, warning := range c.Warnings {
		fmt.Fprintf(text, "! %s\n", warning)
	}
	seeds := map[string]string{}
	for _, e := range c.Experiments {
		seeds[e.Name] = "seeds " + seedsText(e.Seeds)
		if len(e.Seeds) == 1 {
			seeds[e.Name] = "seed " + seedsText(e.Seeds)
		}
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(text, "%s (%s) against %s (%s), %s\n", p.Other, seeds[p.Other], c.Base, seeds[c.Base], p.method())
		for _, d := range p.Differs {
			fmt.Fprintf(text, "  %s: %s, was %s\n", d.Name, d.Other, d.Base)
		}
		for _, warning := range p.Warnings {
			fmt.Fprintf(text, "! %s\n", warning)
		}
		writeRows(text, c.Base, p, all)
		writeImprovements(text, p)
	}
	text.WriteString("\n" + howToRead)
}

const howToRead = `Values are means over the seeds; ± and [ ] are intervals of 95 %. A verdict is passed where that of the difference leaves out
0. Among so many lines some do by chance: verdicts with a question mark may be those, the others are not (Holm's procedure).
More seeds tell more.
`

// method says how differences were taken.
func (p *Pair) method() string {
	if p.Paired {
		return "seed by seed"
	}
	return "mean against mean"
}

// writeRows prints the metrics of a pair.
func writeRows(text *bytes.Buffer, base string, p *Pair, all bool) {
	lines := []line{{"METRIC", base, p.Other, "DIFFERENCE", "", "CHANGE", "VERDICT"}}
	hidden := 0
	for i := range p.Rows {
		r := &p.Rows[i]
		if !all && !r.Differs() {
			hidden++
			continue
		}
		lines = append(lines, r.line())
	}
	if len(lines) == 1 {
		fmt.Fprintf(text, "\nAll %d metrics are the same.\n", hidden)
		return
	}
	text.WriteString("\n")
	alignLast(text, lines)
	if hidden > 0 {
		fmt.Fprintf(text, "%d more metrics are the same\n", hidden)
	}
}

// alignLast is align with the first and the last column flush left.
func alignLast(text *bytes.Buffer, lines []line) {
	var last []string
	for i, l := range lines {
		last = append(last, l[len(l)-1])
		lines[i] = l[:len(l)-1]
	}
	// The column before the last ends where every line does, so that what
	// follows begins in the same place.
	var aligned bytes.Buffer
	align(&aligned, lines, 1)
	for i, l := range strings.Split(strings.TrimSuffix(aligned.String(), "\n"), "\n") {
		text.WriteString(strings.TrimRight(l+"  "+last[i], " ") + "\n")
	}
}

// line is the row in the table.
func (r *Row) line() line {
	verdict := r.Judgement()
	if r.Verdict != NoVerdict && r.Note != "" {
		verdict += " (" + r.Note + ")"
	}
	l := line{r.Metric, r.Unit.Text(r.Base), r.Unit.Text(r.Other), "", "", r.ChangeText(), verdict}
	if d := r.Difference; d.N > 0 {
		l[3] = r.Unit.SignedText(d.Mean)
		if d.Known() {
			l[4] = "[" + r.Unit.SignedText(d.Low) + ", " + r.Unit.SignedText(d.High) + "]"
		}
	}
	return l
}

// ChangeText prints the change in percent with its sign, and "-" for none.
func (r *Row) ChangeText() string {
	change, ok := r.Change()
	if !ok {
		return "-"
	}
	return signed(float64(change), humanShare)
}

// Text prints a mean and half the width of its interval: "340ms ± 12ms".
func (u Unit) Text(i Interval) string {
	switch {
	case i.N == 0:
		return "-"
	case !i.Known():
		return u.show(float64(i.Mean))
	}
	return u.show(float64(i.Mean)) + " ± " + u.show(float64(i.Half()))
}

// SignedText prints a difference with its sign, that of shares in percentage
// points, which are not to be mistaken for the change: "+1.20pp".
func (u Unit) SignedText(x Number) string {
	text := signed(float64(x), u.show)
	if u == InShares {
		text = strings.TrimSuffix(text, "%") + "pp"
	}
	return text
}

// signed prints x with its sign, which is that of what is printed: no "-0".
func signed(x float64, show func(float64) string) string {
	text := show(math.Abs(x))
	switch {
	case text == show(0):
		return text
	case x < 0:
		return "-" + text
	}
	return "+" + text
}

// show prints a value that is not negative.
func (u Unit) show(x float64) string {
	switch {
	case u == InSeconds:
		return humanDuration(x)
	case u == InBytes:
		return humanBytes(x)
	case u == InMoney && x < 1000:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case u == InUnits && x < 1000:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case u == InShares:
		return fmt.Sprintf("%.2f%%", 100*x)
	case u == InFactors && x >= 10 && x == math.Round(x):
		return humanCount(x) + "×"
	case u == InFactors:
		return strconv.FormatFloat(x, 'f', 3, 64) + "×"
	case x < 100 && x != math.Round(x):
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return humanCount(x)
}

// writeImprovements prints how much faster tasks were, one by one.
func writeImprovements(text *bytes.Buffer, p *Pair) {
	if len(p.Improvements) == 0 {
		return
	}
	lines := []line{{"TASK BY TASK", "BETTER", "WORSE", "SAME", "p1", "p5", "p25", "p50", "p75", "p95", "p99"}}
	for _, imp := range p.Improvements {
		l := line{imp.Metric, humanShare(float64(imp.Better)), humanShare(float64(imp.Worse)), humanShare(float64(imp.Same))}
		q := imp.Factors
		for _, f := range []Number{q.P1, q.P5, q.P25, q.P50, q.P75, q.P95, q.P99} {
			l = append(l, humanFactor(float64(f)))
		}
		lines = append(lines, l)
	}
	text.WriteString("\n")
	align(text, lines, 1)
	imp := p.Improvements[0]
	fmt.Fprintf(text, "Factors by which tasks got faster, of the %s that finished in both; sampled were %s of %s and %s of %s.\n",
		humanCount(float64(imp.Tasks)), humanCount(float64(imp.BaseTasks)), humanCount(float64(imp.BaseOf)),
		humanCount(float64(imp.OtherTasks)), humanCount(float64(imp.OtherOf)))
}

// humanFactor prints a factor with three digits that matter.
func humanFactor(x float64) string {
	switch {
	case x >= 100:
		return humanCount(x) + "×"
	case x >= 10:
		return fmt.Sprintf("%.1f×", x)
	case x >= 0.1:
		return fmt.Sprintf("%.2f×", x)
	}
	return fmt.Sprintf("%.2g×", x)
}

// writeComparisonCSV prints a line for each metric of each pair.
func writeComparisonCSV(text *bytes.Buffer, c Comparison) error {
	w := csv.NewWriter(text)
	header := []string{"base", "other", "metric", "unit", "better"}
	for _, side := range []string{"base", "other", "difference"} {
		header = append(header, side+".mean", side+".low", side+".high", side+".n")
	}
	if err := w.Write(append(header, "verdict", "firm", "note")); err != nil {
		return err
	}
	for _, p := range c.Pairs {
		for _, r := range p.Rows {
			cells := []string{c.Base, p.Other, r.Metric, string(r.Unit), string(r.Better)}
			for _, i := range []Interval{r.Base, r.Other, r.Difference} {
				three, err := i.cells()
				if err != nil {
					return err
				}
				cells = append(append(cells, three...), strconv.Itoa(i.N))
			}
			if err := w.Write(append(cells, string(r.Verdict), strconv.FormatBool(r.Firm), r.Note)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// cells are the numbers of i as they stand in JSON, empty where there are none.
func (i Interval) cells() ([]string, error) {
	cells := make([]string, 3)
	for c, x := range []Number{i.Mean, i.Low, i.High} {
		if i.N == 0 {
			continue
		}
		text, err := x.MarshalJSON()
		if err != nil {
			return nil, err
		}
		cells[c] = string(text)
	}
	return cells, nil
}
