package ilp

// The LP format, as CPLEX, CBC, GLPK, SCIP and HiGHS read it. Columns are x1, x2,
// … and rows r1, r2, …, as they number from 1. Not all of these readers take a row
// with two different bounds, so such a row is written as two, r7 for the lower bound and
// r7u for the upper one; and none of them takes a row without terms, so that one
// is given 0 x1.

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
)

// termsPerLine keeps lines below 255 characters, more than which some readers refuse.
const termsPerLine = 6

// WriteLP writes the model in the LP format.
func (m *Model) WriteLP(to io.Writer) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if m.Columns() == 0 {
		return errors.New("a model without columns cannot be written in the LP format: add one")
	}
	var w lpWriter
	w.words("Minimize\n obj:")
	for c, cost := range m.Cost {
		if cost != 0 {
			w.term(cost, int32(c))
		}
	}
	if w.terms == 0 {
		w.term(0, 0)
	}
	w.words("\nSubject To\n")
	for r := range m.Rows() {
		lower, upper := m.RowLower[r], m.RowUpper[r]
		name := " r" + strconv.Itoa(r+1)
		switch {
		case lower == upper:
			w.row(m, r, name, " = ", lower)
			continue
		case !math.IsInf(lower, -1) && !math.IsInf(upper, 1):
			w.row(m, r, name, " >= ", lower)
			w.row(m, r, name+"u", " <= ", upper)
		case !math.IsInf(lower, -1):
			w.row(m, r, name, " >= ", lower)
		case !math.IsInf(upper, 1):
			w.row(m, r, name, " <= ", upper)
		}
	}
	w.words("Bounds\n")
	for c := range m.Columns() {
		w.bounds(int32(c), m.Lower[c], m.Upper[c])
	}
	w.words("Generals\n")
	for c, kind := range m.Kind {
		if kind == Integer {
			w.words(" ", column(int32(c)), "\n")
		}
	}
	w.words("End\n")
	_, err := w.WriteTo(to)
	return err
}

// lpWriter gathers the text; writing to memory does not fail.
type lpWriter struct {
	bytes.Buffer
	terms int // since the last row began
}

func (w *lpWriter) words(words ...string) {
	for _, s := range words {
		w.WriteString(s)
	}
}

func (w *lpWriter) term(value float64, c int32) {
	if w.terms > 0 && w.terms%termsPerLine == 0 {
		w.words("\n  ")
	}
	sign := " + "
	if math.Signbit(value) {
		sign = " - "
	}
	w.words(sign, number(math.Abs(value)), " ", column(c))
	w.terms++
}

func (w *lpWriter) row(m *Model, r int, name, relation string, bound float64) {
	w.words(name, ":")
	w.terms = 0
	columns, values := m.Row(r)
	for i, c := range columns {
		w.term(values[i], c)
	}
	if len(columns) == 0 {
		w.term(0, 0)
	}
	w.words(relation, number(bound), "\n")
}

func (w *lpWriter) bounds(c int32, lower, upper float64) {
	switch {
	case lower == upper:
		w.words(" ", column(c), " = ", number(lower), "\n")
	case math.IsInf(lower, -1) && math.IsInf(upper, 1):
		w.words(" ", column(c), " free\n")
	default:
		w.words(" ", number(lower), " <= ", column(c), " <= ", number(upper), "\n")
	}
}

func column(c int32) string { return "x" + strconv.Itoa(int(c)+1) }

func number(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "+inf"
	case math.IsInf(x, -1):
		return "-inf"
	default:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
}
