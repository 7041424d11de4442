package ilp

// What may be wrong with a model. Solvers drop numbers that are very small, take
// very large ones for infinite, and would answer another question than the one
// asked; so such numbers are refused here, with the column or row that has them.

import (
	"errors"
	"fmt"
	"math"
)

// The numbers that solvers take as they are: what is multiplied lies between
// Least and Most, apart from its sign, and finite bounds and costs lie below Huge.
const (
	Least = 1e-9
	Most  = 1e15
	Huge  = 1e20
)

// Validate returns the first thing that is wrong with the model, or nil.
func (m *Model) Validate() error {
	if len(m.Lower) != m.Columns() || len(m.Upper) != m.Columns() || len(m.Kind) != m.Columns() {
		return fmt.Errorf("a model with %d costs has %d lower bounds, %d upper bounds and %d kinds: add columns by AddColumn", m.Columns(), len(m.Lower), len(m.Upper), len(m.Kind))
	}
	if len(m.RowLower) != m.Rows() || len(m.RowUpper) != m.Rows() || len(m.Column) != len(m.Value) {
		return fmt.Errorf("a model with %d rows has %d lower bounds, %d upper bounds, %d columns of terms and %d values: add rows by AddRow", m.Rows(), len(m.RowLower), len(m.RowUpper), len(m.Column), len(m.Value))
	}
	for c := range m.Columns() {
		if err := m.validateColumn(c); err != nil {
			return fmt.Errorf("column %d: %w", c, err)
		}
	}
	// For each column, the last row that has it, counted from 1.
	seen := make([]int32, m.Columns())
	for r := range m.Rows() {
		if err := m.validateRow(r, seen); err != nil {
			return fmt.Errorf("row %d: %w", r, err)
		}
	}
	if m.start(m.Rows()) != int32(len(m.Column)) {
		return fmt.Errorf("the rows have %d terms, and %d are there: add rows by AddRow", m.start(m.Rows()), len(m.Column))
	}
	return nil
}

func (m *Model) validateColumn(c int) error {
	if err := validateBounds(m.Lower[c], m.Upper[c]); err != nil {
		return err
	}
	switch cost := m.Cost[c]; {
	case math.IsNaN(cost) || math.Abs(cost) >= Huge:
		return fmt.Errorf("cost %g: take a number below %g", cost, Huge)
	case m.Kind[c] > Integer:
		return fmt.Errorf("kind %d: take Continuous or Integer", m.Kind[c])
	}
	return nil
}

func (m *Model) validateRow(r int, seen []int32) error {
	if err := validateBounds(m.RowLower[r], m.RowUpper[r]); err != nil {
		return err
	}
	if from, to := m.start(r), m.End[r]; from > to || int(to) > len(m.Column) {
		return fmt.Errorf("terms from %d to %d of %d: add rows by AddRow", from, to, len(m.Column))
	}
	columns, values := m.Row(r)
	for i, c := range columns {
		switch value := math.Abs(values[i]); {
		case c < 0 || int(c) >= m.Columns():
			return fmt.Errorf("a term has column %d, and there are %d: add columns before rows", c, m.Columns())
		case seen[c] == int32(r)+1:
			return fmt.Errorf("column %d is there twice: add its values up to one term", c)
		case math.IsNaN(value) || value > Most || value < Least:
			return fmt.Errorf("column %d has value %g: leave out what is 0, and choose units in which all lie between %g and %g", c, values[i], Least, Most)
		}
		seen[c] = int32(r) + 1
	}
	return nil
}

func validateBounds(lower, upper float64) error {
	switch {
	case math.IsNaN(lower) || math.IsNaN(upper):
		return errors.New("a bound is not a number: take an infinity for none")
	case math.IsInf(lower, 1) || math.IsInf(upper, -1):
		return fmt.Errorf("from %g to %g: no value is there; lower is at most finite or -Inf, upper +Inf", lower, upper)
	case huge(lower) || huge(upper):
		return fmt.Errorf("from %g to %g: bounds from %g on are taken for infinite; say so by an infinity, or choose a larger unit", lower, upper, Huge)
	case lower > upper:
		return fmt.Errorf("from %g to %g: the lower bound is above the upper one", lower, upper)
	}
	return nil
}

func huge(bound float64) bool { return math.Abs(bound) >= Huge && !math.IsInf(bound, 0) }
