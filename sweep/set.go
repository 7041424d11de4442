package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fairlead.dev/fairlead/internal/strict"
	"fairlead.dev/fairlead/report"
)

// This file is the set: what came of all runs, in the order of the list, as JSON lines. It has no time that was
// measured, so that the same sweep has the same bytes, whoever did the runs and however often they were killed.

// SetFile is the name of the set.
const SetFile = "results.jsonl"

// Entry is a line of the set: a run.
type Entry struct {
	Version int               `json:"version"`
	Index   int               `json:"index"` // in the list
	Key     string            `json:"key"`
	Policy  string            `json:"policy"` // as the sweep calls it
	Seed    uint64            `json:"seed"`
	Values  map[string]string `json:"values,omitempty"` // of each axis, by its path
	Spec    json.RawMessage   `json:"spec"`             // of the run alone
	Run     report.Run        `json:"run"`
}

// Gather writes the set of what is kept in any of the stores, the first of which counts that has it, and returns the
// runs that none has; said is told of files that are damaged.
func Gather(ctx context.Context, list *List, from []Store, to io.Writer, said func(error)) (missing []int, err error) {
	for i := range list.Runs {
		result, err := resultIn(ctx, &list.Runs[i], from, said)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, i)
		case err != nil:
			return nil, err
		default:
			if err := writeEntry(to, &list.Runs[i], i, result); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

// resultIn is what the first store has of the run; fs.ErrNotExist if none has.
func resultIn(ctx context.Context, run *Run, from []Store, said func(error)) ([]byte, error) {
	for _, store := range from {
		result, err := run.Result(ctx, store)
		if damaged, is := errors.AsType[DamagedError](err); is {
			said(damaged)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return result, err
		}
	}
	return nil, fs.ErrNotExist
}

// writeEntry writes the line of a run. What is known of it before its result stands first, and the result as it is kept.
func writeEntry(to io.Writer, run *Run, index int, result []byte) error {
	head, err := compact(run)
	if err == nil {
		_, err = fmt.Fprintf(to, "{\"version\":%d,\"index\":%d,%s,%s\n", Version, index, head[1:len(head)-1], result[1:])
	}
	return err
}

// BeginsSet reports whether a file that begins so is a set, as results of other commands begin otherwise.
func BeginsSet(text []byte) bool {
	rest, is := bytes.CutPrefix(text, []byte(`{"version":`))
	return is && bytes.HasPrefix(bytes.TrimLeft(rest, "0123456789"), []byte(`,"index":`))
}

// mostLine is how long a line of a set may be.
const mostLine = 64 << 20

// ReadSet reads a set, a line at a time; errors call it name. An entry is each's to keep.
func ReadSet(name string, from io.Reader, each func(*Entry) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, mostLine)
	number, last := 0, -1
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		e := &Entry{}
		if err := decodeEntry(lines.Bytes(), e); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if e.Index <= last || e.Index >= MostRuns {
			return fmt.Errorf("%s:%d: index %d after %d: want a set as fairlead sweep writes it, in the order of its runs", name, number, e.Index, last)
		}
		last = e.Index
		if err := each(e); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	return nil
}

func decodeEntry(line []byte, e *Entry) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("no line of results of a sweep: %w", err)
	}
	if head.Version != Version {
		return fmt.Errorf("of version %d; this program reads version %d", head.Version, Version)
	}
	return strict.Decode(line, e)
}

// Files are the runs of a set as files of results, which can be compared and drawn: one, unless runs of the same set-up
// and seed differ in what no result says. Then there is one for each combination of values.
func Files(name string, entries []*Entry) []report.File {
	seen := map[report.Setup]bool{}
	clash := false
	for _, e := range entries {
		clash = clash || seen[e.Run.Setup]
		seen[e.Run.Setup] = true
	}
	var files []report.File
	at := map[string]int{}
	for _, e := range entries {
		called := name
		if clash {
			world := Run{Policy: e.Policy, Values: e.Values}
			called = world.apart()
			if name != "" {
				called = name + ": " + called
			}
		}
		if _, is := at[called]; !is {
			at[called] = len(files)
			files = append(files, report.File{Name: called})
		}
		file := &files[at[called]]
		file.Runs = append(file.Runs, e.Run)
	}
	return files
}
