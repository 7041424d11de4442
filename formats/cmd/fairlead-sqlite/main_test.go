package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/azure2020"
)

// made makes a database as published, by its schema.
func made(t *testing.T, statements ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a trace?.sqlite")
	db, err := sql.Open("sqlite", "file:"+strings.ReplaceAll(strings.ReplaceAll(file, "?", "%3f"), " ", "%20"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// The reader takes what is written: rows in the order in which VMs come, and NULL where nobody knows.
func TestTables(t *testing.T) {
	database := made(t,
		"CREATE TABLE vmType (id INTEGER PRIMARY KEY, vmTypeId INTEGER, machineId INTEGER, core REAL, memory REAL, hdd REAL, ssd REAL, nic REAL)",
		"CREATE TABLE vm (vmId INTEGER PRIMARY KEY, tenantId INTEGER, vmTypeId INTEGER, priority INTEGER, starttime REAL, endtime REAL)",
		"INSERT INTO vmType VALUES (0, 5, 1, 0.016666666666666666, 0.5, NULL, 0.00001, 0.25)",
		"INSERT INTO vm VALUES (3, 1, 5, 0, 0.5, 1.5), (1, 1, 5, 0, 0.25, NULL), (2, 2, 5, 1, -7157, 0.125)",
	)
	dir := filepath.Join(t.TempDir(), "new")
	if err := run(t.Context(), database, dir); err != nil {
		t.Fatal(err)
	}
	src, err := azure2020.Open(dir, azure2020.Options{TasksOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close() //nolint:errcheck // it was only read
	var r trace.Record
	for _, want := range []struct {
		job      uint64
		at, work cluster.Time
	}{{2, 0, cluster.Day / 8}, {1, cluster.Day / 4, cluster.Never}, {3, cluster.Day / 2, cluster.Day}} {
		if err := src.Next(&r); err != nil || r.Task.Job != want.job || r.Time != want.at || r.Task.Work != want.work {
			t.Errorf("job %d at %v for %v, %v; want %+v", r.Task.Job, r.Time, r.Task.Work, err, want)
		}
	}
	if d := r.Task.Demand; d[0] != 16_666_666 || d[2] != 0 || d[3] != 10_000 {
		t.Errorf("a demand of %v", d)
	}
	if err := src.Next(&r); !errors.Is(err, io.EOF) {
		t.Errorf("after the last one: %v", err)
	}
}

// What goes wrong leaves no file.
func TestNoTables(t *testing.T) {
	dir := t.TempDir()
	for database, want := range map[string]string{
		made(t, "CREATE TABLE vmType (id INTEGER)"): "no such column",
		made(t, "CREATE TABLE other (id INTEGER)"):  "no such table",
		filepath.Join(dir, "nowhere"):               "no such file",
	} {
		if err := run(t.Context(), database, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := run(stopped, made(t, "CREATE TABLE vmType (id INTEGER)"), dir); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
