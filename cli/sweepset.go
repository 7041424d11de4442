package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sweep"
)

// This file gathers what is kept of sweeps into a set, and reads sets.

func newSweepMerge(stores Stores) *cobra.Command {
	m := merging{stores: stores}
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Gather what shards of a sweep have kept into one set",
		Long: `Merge reads the folders in which shards of a sweep have kept what came of their runs, one that
all of them share or one of each, and writes results.jsonl, a line for each run, in the order of
the sweep. The set has no time that was measured: it is the same, byte for byte, whoever did the
runs. The means over the seeds are printed. Neither the file of the sweep is needed nor its traces.`,
		Example: `  fairlead sweep merge /shared/study
  fairlead sweep merge shard0 shard1 shard2 --into study
  fairlead sweep merge study --partial`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := stoppable(c)
			defer stop()
			if m.dirs = args; m.into == "" {
				m.into = args[0]
			}
			return merge(ctx, c, m)
		},
	}
	c.Flags().StringVar(&m.into, "into", "", "put the set into the folder `DIR` (default: the first one that is read)")
	c.Flags().BoolVar(&m.partial, "partial", false, "make a set of the runs that there are; without this, missing runs are an error")
	c.Flags().StringVar(&m.table, "table", "", tableHelp)
	return c
}

// merging is what merge is to do.
type merging struct {
	stores  Stores
	dirs    []string
	into    string
	table   string // the file of the set as a table; empty for none
	partial bool
}

func merge(ctx context.Context, c *cobra.Command, m merging) error {
	var list *sweep.List
	var from []sweep.Store
	for _, dir := range m.dirs {
		store, err := m.stores.open(ctx, dir)
		if err != nil {
			return usage(c, err)
		}
		here, err := readList(ctx, store, dir)
		if err != nil {
			return err
		}
		if list == nil {
			list = here
		}
		if differs := list.Differs(here); differs != "" {
			return fmt.Errorf("%s and %s are of different sweeps: %s", m.dirs[0], dir, differs)
		}
		from = append(from, store)
	}
	to, err := m.stores.open(ctx, m.into)
	if err == nil {
		err = checkTable(m.table, nil, "into", slices.Concat(from, []sweep.Store{to})...)
	}
	if err != nil {
		return usage(c, err)
	}
	err = writeSet(ctx, list, from, to, c.ErrOrStderr())
	if missing, is := errors.AsType[missingError](err); is && m.partial {
		fmt.Fprintf(c.ErrOrStderr(), "fairlead: %v; the set is of the others\n", missing)
		err = writePartial(ctx, list, from, to, missing)
	} else if is {
		return fmt.Errorf("%w; do them with fairlead sweep, or write --partial", err)
	}
	if err == nil {
		err = writeTable(ctx, to, m.table)
	}
	if err != nil {
		return err
	}
	return printSet(ctx, to, m.into, c.OutOrStdout())
}

// readList reads the list of runs that a folder has.
func readList(ctx context.Context, store sweep.Store, dir string) (*sweep.List, error) {
	name := strings.TrimSuffix(dir, "/") + "/" + sweep.ListFile
	text, err := sweep.ReadFile(ctx, store, sweep.ListFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file; want a folder that fairlead sweep has written", name)
	}
	if err != nil {
		return nil, err
	}
	return sweep.DecodeList(name, text)
}

// missingError says which runs nobody has done.
type missingError struct {
	list    *sweep.List
	missing []int
}

func (e missingError) Error() string {
	are := "are"
	if len(e.missing) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%d of %s %s missing, the first: run %d, %s", len(e.missing), report.Count(len(e.list.Runs), "run"), are, e.missing[0], &e.list.Runs[e.missing[0]])
}

// writeSet writes the set of what is kept in the stores. Where runs are missing it leaves what was there, and returns
// a missingError.
func writeSet(ctx context.Context, list *sweep.List, from []sweep.Store, to sweep.Store, stderr io.Writer) error {
	return to.Write(ctx, sweep.SetFile, func(out io.Writer) error {
		missing, err := sweep.Gather(ctx, list, from, out, damaged(stderr))
		if err == nil && len(missing) > 0 {
			err = missingError{list, missing}
		}
		return err
	})
}

// writePartial writes the set of what there is.
func writePartial(ctx context.Context, list *sweep.List, from []sweep.Store, to sweep.Store, but missingError) error {
	if len(but.missing) == len(list.Runs) {
		return errors.New("there is no run to make a set of")
	}
	return to.Write(ctx, sweep.SetFile, func(out io.Writer) error {
		_, err := sweep.Gather(ctx, list, from, out, func(error) {}) // which was said
		return err
	})
}

// eachEntry reads the set that a store has, a line at a time.
func eachEntry(ctx context.Context, store sweep.Store, each func(*sweep.Entry) error) error {
	file, err := store.Open(ctx, sweep.SetFile)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return sweep.ReadSet(sweep.SetFile, file, each)
}

// printSet prints the means of the set over its seeds, and what to do next.
func printSet(ctx context.Context, store sweep.Store, dir string, stdout io.Writer) error {
	var entries []*sweep.Entry
	err := eachEntry(ctx, store, func(e *sweep.Entry) error {
		report.DropLists(&e.Run)
		e.Spec = nil // which is as large as what is left of the result
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return err
	}
	if err := report.WriteMeans(stdout, sweep.Files("", entries)); err != nil {
		return err
	}
	p := report.NewPrinter(stdout)
	p.Line("\n%s: %s/%s, for 'fairlead compare %s' and 'fairlead report %s'.", report.Count(len(entries), "run"), strings.TrimSuffix(dir, "/"), sweep.SetFile, dir, dir)
	return p.Err()
}

// printList prints the runs and which of them are kept.
func (w *sweeper) printList(ctx context.Context, stdout io.Writer) error {
	todo, err := w.list.Todo(ctx, w.store, w.shard, func(error) {})
	if err != nil {
		return err
	}
	waits := map[int]bool{}
	for _, i := range todo {
		waits[i] = true
	}
	rows := []string{"RUN\tKEY\tDONE\tWHAT"}
	for i := range w.list.Runs {
		if !w.shard.Has(i) {
			continue
		}
		done := "yes"
		if waits[i] {
			done = "no"
		}
		rows = append(rows, strings.Join([]string{strconv.Itoa(i), w.list.Runs[i].Key, done, report.Printable(w.list.Runs[i].String())}, "\t"))
	}
	p := report.NewPrinter(stdout)
	p.Table(rows)
	return p.Err()
}

// setIn is the file of the set that a path names, the folder of a sweep or the file itself; empty where it names none.
func setIn(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return filepath.Join(path, sweep.SetFile)
	case !info.Mode().IsRegular(): // a pipe would be read empty
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // it was only read
	head := make([]byte, len(`{"version":1,"index":`))
	if n, _ := io.ReadFull(file, head); !sweep.BeginsSet(head[:n]) {
		return ""
	}
	return path
}

// readSet reads a set as files of results, called name if that is enough to tell them apart.
func readSet(path, name string) ([]report.File, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file; fairlead sweep writes it when all runs are done, and fairlead sweep merge of what there is", path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var entries []*sweep.Entry
	err = sweep.ReadSet(path, file, func(e *sweep.Entry) error {
		e.Spec = nil // which tells nothing apart that its values do not
		entries = append(entries, e)
		return nil
	})
	return sweep.Files(name, entries), err
}
