package report

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable is text of others as a terminal may have it, within a line: what is no printable character, such
// as an escape sequence or the end of a line, is written as in Go.
func Printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// printable is the comparison with all names as Printable has them.
func (c *Comparison) printable() *Comparison {
	of := *c
	c = &of
	c.Base = Printable(c.Base)
	c.Warnings = allPrintable(c.Warnings)
	c.Experiments = append([]Experiment(nil), c.Experiments...)
	for i := range c.Experiments {
		c.Experiments[i].Name = Printable(c.Experiments[i].Name)
	}
	c.Pairs = append([]Pair(nil), c.Pairs...)
	for i := range c.Pairs {
		p := &c.Pairs[i]
		p.Other, p.Warnings = Printable(p.Other), allPrintable(p.Warnings)
		p.Differs = append(p.Differs[:0:0], p.Differs...)
		for n := range p.Differs {
			d := &p.Differs[n]
			d.Name, d.Base, d.Other = Printable(d.Name), Printable(d.Base), Printable(d.Other)
		}
		p.Rows = append(p.Rows[:0:0], p.Rows...)
		for n := range p.Rows {
			p.Rows[n].Metric = Printable(p.Rows[n].Metric)
		}
	}
	return c
}

func allPrintable(texts []string) []string {
	var list []string
	for _, text := range texts {
		list = append(list, Printable(text))
	}
	return list
}
