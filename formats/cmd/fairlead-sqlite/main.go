// Command fairlead-sqlite writes tables of an SQLite database as text, in which fairlead reads
// them: of Azure's trace for packing of 2020, vm and vmType.
//
//	fairlead-sqlite packing_trace_zone_a_v1.sqlite DIR
//	fairlead simulate --workload azure2020:DIR
//
// It is in a module of its own, so that nothing else compiles SQLite.
package main

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // the driver
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fairlead-sqlite DATABASE DIR\nwrites DIR/vmType.csv.gz and DIR/vm.csv.gz, which fairlead reads as azure2020:DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1], os.Args[2])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-sqlite:", err)
		os.Exit(1)
	}
}

// table is what becomes of a table: the file, and the rows in their order.
type table struct{ file, query string }

// tables are those of Azure's trace. The reader wants VMs in the order in which they come.
func tables() []table {
	return []table{
		{"vmType.csv.gz", "SELECT vmTypeId, machineId, core, memory, hdd, ssd, nic FROM vmType ORDER BY id"},
		{"vm.csv.gz", "SELECT vmId, tenantId, vmTypeId, priority, starttime, endtime FROM vm ORDER BY starttime, vmId"},
	}
}

// run writes the tables of the database into the folder.
func run(ctx context.Context, database, dir string) (err error) {
	if _, err := os.Stat(database); err != nil { // the driver would make one
		return err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: url.PathEscape(database), RawQuery: "mode=ro"}).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, t := range tables() {
		if err := t.write(ctx, db, filepath.Join(dir, t.file)); err != nil {
			return fmt.Errorf("%s: %w", database, err)
		}
	}
	return nil
}

// write writes the table. The file appears when it is whole; of one that was interrupted nothing is left.
func (t table) write(ctx context.Context, db *sql.DB, path string) error {
	rows, err := db.QueryContext(ctx, t.query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // its errors are those of Err
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(file)
	err = errors.Join(copyRows(zip, rows), zip.Close(), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// copyRows writes the rows below a line that names the columns.
func copyRows(to io.Writer, rows *sql.Rows) error {
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	w := csv.NewWriter(to)
	if err := w.Write(names); err != nil {
		return err
	}
	values, texts := make([]any, len(names)), make([]string, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			texts[i] = text(v)
		}
		if err := w.Write(texts); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(rows.Err(), w.Error())
}

// text is a value as text; NULL is empty.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}
