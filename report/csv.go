package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// CSV is the JSON laid flat: a column is the path to a value, its names joined
// by dots, so that the two formats cannot disagree about a name. Policies have
// different reasons and classes; the columns are the union over all runs, and
// a cell is empty where its run has no such value. What is a list in JSON,
// such as a series, is left out: a cell is no place for it.

// writeCSV prints a header and one row per run.
func writeCSV(text *bytes.Buffer, results Results) error {
	var rows []map[string]string
	seen := map[string]bool{}
	for _, r := range complete(results).Runs {
		values, err := flatRun(r)
		if err != nil {
			return err
		}
		row := map[string]string{}
		for name, value := range values {
			row[name], seen[name] = fmt.Sprint(value), true
		}
		rows = append(rows, row)
	}
	// Policy and seed come first: they say what the row is about.
	columns := []string{"policy", "seed"}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	w := csv.NewWriter(text)
	if err := w.Write(columns); err != nil {
		return err
	}
	for _, row := range rows {
		cells := make([]string, len(columns))
		for c, name := range columns {
			cells[c] = row[name]
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// Measured returns the numbers of a run, as they stand in JSON, by the path of names that leads to each there, as in CSV.
func Measured(r *Run) (map[string]json.Number, error) {
	values, err := flatRun(*r)
	if err != nil {
		return nil, err
	}
	numbers := map[string]json.Number{}
	for name, value := range values {
		if n, is := value.(json.Number); is {
			numbers[name] = n
		}
	}
	return numbers, nil
}

// flatRun returns the values of r by the path of names that leads to each.
func flatRun(r Run) (map[string]any, error) {
	r.Notes, r.Latencies, r.Availabilities, r.Series, r.Heat, r.Sample = nil, nil, nil, nil, nil, nil
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // numbers are to look as they do in JSON
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	row := map[string]any{}
	flatten(row, "", tree)
	return row, nil
}

// flatten puts the leaves of tree into row, under their paths from prefix on.
func flatten(row map[string]any, prefix string, tree map[string]any) {
	for name, value := range tree {
		if below, ok := value.(map[string]any); ok {
			flatten(row, prefix+name+".", below)
		} else {
			row[prefix+name] = value
		}
	}
}
