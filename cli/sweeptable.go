package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sweep"
)

// This file writes a set as a table, CSV or Parquet by the name of the file as other tables.

const tableHelp = "write the set to `FILE` as a table, too, a row a run: as CSV, or as Parquet if FILE ends in .parquet"

// checkTable says why the table cannot be written there: it would replace what is read, or a file of a sweep in one of the
// stores, which the flag names.
func checkTable(path string, inputs []string, flag string, stores ...sweep.Store) error {
	switch path {
	case "":
		return nil
	case "-":
		return errors.New("--table: want a file; the means go to the standard output")
	}
	var read, written []named
	_, missing := os.Stat(filepath.Dir(path)) // which is said before the runs, not after them
	for _, input := range inputs {
		read = append(read, named{path: input})
	}
	for _, store := range stores {
		if folder, is := store.(sweep.Folder); is {
			if filepath.Clean(folder.Dir) == filepath.Dir(path) { // it is made when it is needed
				missing = nil
			}
			for _, name := range []string{sweep.ListFile, sweep.SetFile} {
				written = append(written, named{flag, filepath.Join(folder.Dir, name)})
			}
			if inRuns(path, folder) {
				return fmt.Errorf("--table: %s lies among what --%s keeps of each run; name a file elsewhere", path, flag)
			}
		}
	}
	if missing != nil {
		return fmt.Errorf("--table: %w", missing)
	}
	return checkOutputs(read, append(written, named{"table", path}))
}

// inRuns reports whether a path lies in the folder of kept results, by its name or by where links of it lead, if that folder is there or not.
func inRuns(path string, store sweep.Folder) bool {
	runs := filepath.Join(store.Dir, sweep.RunsFolder)
	if rel, err := filepath.Rel(runs, filepath.Clean(path)); err == nil && filepath.IsLocal(rel) {
		return true
	}
	folder, err := os.Stat(runs)
	if err != nil {
		return false
	}
	actual, err := actualPath(path)
	if err == nil {
		actual, err = filepath.Abs(actual)
	}
	return err == nil && within(actual, folder)
}

// writeTable writes the set that a store has as a table to a file; an empty path is none.
func writeTable(ctx context.Context, store sweep.Store, path string) error {
	if path == "" {
		return nil
	}
	var table sweep.Table
	if err := eachEntry(ctx, store, table.See); err != nil {
		return err
	}
	out, err := createOutput(path, nil)
	if err != nil {
		return fmt.Errorf("--table: %w", err)
	}
	var columns []parquet.Column
	var header []string
	for _, c := range table.Columns() {
		columns, header = append(columns, parquet.Column{Name: c.Name, Kind: kindInSet(c)}), append(header, c.Name)
	}
	out.as(columns, true)
	to := csv.NewWriter(out)
	err = to.Write(header)
	if err == nil {
		err = eachEntry(ctx, store, func(e *sweep.Entry) error {
			row, err := table.Row(e)
			if err != nil {
				return err
			}
			return to.Write(row)
		})
	}
	to.Flush()
	if err := errors.Join(err, to.Error()); err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Commit()
}

// kindInSet is what a column of a set holds. That of a number never depends on which values there are.
func kindInSet(c sweep.Column) parquet.Kind {
	switch {
	case c.Name == "index":
		return parquet.Integer
	case c.Name == "seed":
		return parquet.Natural
	case c.Number:
		return parquet.Real
	}
	return parquet.Text
}
