package sweep

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/report"
)

// This file lays a set flat, for programs that read tables: a row a run, with a column for each axis and each number of the
// results. What is no number, or a list, is in the set alone.

// Table is a set as a table. Its columns follow from all runs: See is to be called with each before Columns and Row. The zero
// value has seen none.
type Table struct {
	axes     map[string]bool // by path; whether all values so far are numbers
	measured map[string]bool
	columns  []Column
}

// Column is a column of a table.
type Column struct {
	Name   string
	Number bool // it holds numbers, or nothing
}

// own are the columns that every set has, as its lines call them.
func own() []Column {
	return []Column{{"index", true}, {"key", false}, {"policy", false}, {"seed", true}}
}

// See takes in what columns a run has.
func (t *Table) See(e *Entry) error {
	numbers, err := report.Measured(&e.Run)
	if err != nil {
		return err
	}
	if t.axes == nil {
		t.axes, t.measured = map[string]bool{}, map[string]bool{}
	}
	for path, value := range e.Values {
		before, seen := t.axes[path]
		t.axes[path] = isNumber(value) && (before || !seen)
	}
	for name := range numbers {
		t.measured[name] = true
	}
	t.columns = nil
	return nil
}

// isNumber reports whether a value of an axis is a number of JSON.
func isNumber(value string) bool {
	var n float64
	return json.Unmarshal([]byte(value), &n) == nil
}

// Columns are those of the sweep, the axes by their paths, and the numbers of results by theirs.
func (t *Table) Columns() []Column {
	if t.columns != nil {
		return t.columns
	}
	t.columns = own()
	for _, path := range slices.Sorted(maps.Keys(t.axes)) {
		t.columns = append(t.columns, Column{path, t.axes[path]})
	}
	for _, name := range slices.Sorted(maps.Keys(t.measured)) {
		if !slices.ContainsFunc(t.columns, func(c Column) bool { return c.Name == name }) { // the seed, for one
			t.columns = append(t.columns, Column{name, true})
		}
	}
	return t.columns
}

// Row is a run in these columns; what it does not have is empty.
func (t *Table) Row(e *Entry) ([]string, error) {
	numbers, err := report.Measured(&e.Run)
	if err != nil {
		return nil, err
	}
	cells := []string{strconv.Itoa(e.Index), e.Key, e.Policy, strconv.FormatUint(e.Seed, 10)}
	for _, c := range t.Columns()[len(cells):] {
		value, axis := e.Values[c.Name]
		if !axis {
			value = numbers[c.Name].String()
		}
		cells = append(cells, value)
	}
	return cells, nil
}
