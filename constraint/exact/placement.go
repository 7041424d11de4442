package exact

import (
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file is the way from an assignment to the values of a model's columns, and back.

// Encode returns the values that stand for the assignment, each column that follows from the
// placement as cheap as the rows let it be. They keep to the rows if the assignment may be
// carried out. The error says what of the assignment the model has no columns for.
func (m *Model) Encode(a constraint.Assignment) ([]float64, error) {
	values := make([]float64, m.Columns())
	for i, node := range a {
		u := m.unitOf[i]
		switch {
		case u == absent && node != m.scope.Base[i]:
			return nil, fmt.Errorf("container %d is on node row %d, and the model has it on %d", i, node, m.scope.Base[i])
		case u == absent || node == constraint.Nowhere:
			continue
		case m.where[node] == absent || m.at(u, m.where[node]) == absent:
			return nil, fmt.Errorf("container %d is on node row %d, where the model cannot have it", i, node)
		}
		values[m.at(u, m.where[node])]++
	}
	for i, column := range m.placed {
		app := &m.problem.Applications[i]
		if column != absent && !slices.Contains(a[app.First:app.End], constraint.Nowhere) {
			values[column] = 1
		}
	}
	if len(m.chosen) > 0 {
		verdicts := constraint.Evaluate(m.problem, a).Verdicts
		for _, c := range m.chosen {
			if verdicts[c.constraint].Alternative == c.alternative {
				values[c.column] = 1
			}
		}
	}
	if !m.giveDevices(a, values) {
		return nil, fmt.Errorf("no devices were found for all who come")
	}
	m.complete(values)
	return values, nil
}

// complete gives the columns that follow from others their values, in the order in which they
// were added: the rows that a column owns know only of those before it.
func (m *Model) complete(values []float64) {
	rows := make([][]int32, m.Columns())
	for r, column := range m.owner {
		if column != absent {
			rows[column] = append(rows[column], int32(r))
		}
	}
	for c := range values {
		switch m.rule[c] {
		case given:
		case smallest:
			least := m.Lower[c]
			for _, r := range rows[c] {
				low, _ := m.between(int(r), int32(c), values)
				least = max(least, low)
			}
			values[c] = min(math.Ceil(least-ilp.Tolerance), m.Upper[c])
		case largest:
			most := m.Upper[c]
			for _, r := range rows[c] {
				_, high := m.between(int(r), int32(c), values)
				most = min(most, high)
			}
			values[c] = max(math.Floor(most+ilp.Tolerance), m.Lower[c])
		}
	}
}

// between is between what the row lets the column be, the others as they are.
func (m *Model) between(row int, column int32, values []float64) (low, high float64) {
	columns, factors := m.Row(row)
	factor, rest := 0.0, 0.0
	for i, c := range columns {
		if c == column {
			factor = factors[i]
		} else {
			rest += float64(factors[i] * values[c])
		}
	}
	if factor == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	low, high = (m.RowLower[row]-rest)/factor, (m.RowUpper[row]-rest)/factor
	return min(low, high), max(low, high)
}

// Decode returns the assignment that the values stand for. Who runs on a node stays there if
// as many stand there; the others go by their rows, nodes ascending, whoever runs first.
func (m *Model) Decode(values []float64) constraint.Assignment {
	a := slices.Clone(m.scope.Base)
	left := make([]int, len(m.nodes))
	for u := range m.units {
		for i := range m.nodes {
			left[i] = 0
			if column := m.at(int32(u), int32(i)); column != absent {
				left[i] = int(math.Round(values[column]))
			}
		}
		m.decodeUnit(&m.units[u], a, left)
	}
	return a
}

// decodeUnit puts so many of the unit on each candidate.
func (m *Model) decodeUnit(u *unit, a constraint.Assignment, left []int) {
	var running, others []int32
	for _, c := range u.members {
		at := m.problem.Containers[c].At
		a[c] = constraint.Nowhere
		switch {
		case at == constraint.Nowhere:
			others = append(others, c)
		case m.where[at] != absent && left[m.where[at]] > 0:
			left[m.where[at]]--
			a[c] = at
		default:
			running = append(running, c)
		}
	}
	i := 0
	for _, c := range append(running, others...) {
		for i < len(left) && left[i] == 0 {
			i++
		}
		if i == len(left) {
			return
		}
		left[i]--
		a[c] = m.nodes[i]
	}
}
