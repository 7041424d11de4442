package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"fairlead.dev/fairlead/report"
)

// This file is what is kept of one run: a file that says by itself whether it is whole, as it was written by a process
// that may have been killed, on a machine that may have stopped.

// RunsFolder is the folder of the files of runs.
const RunsFolder = "runs/"

// File is the name of the file of the run.
func (r *Run) File() string { return RunsFolder + r.Key + ".json" }

// kept is what the file of a run holds.
type kept struct {
	Version int             `json:"version"`
	Key     string          `json:"key"`
	Wall    report.Number   `json:"wall_s"` // how long the run took, which is another time every time
	SHA256  string          `json:"sha256"` // of the result as it stands here
	Result  json.RawMessage `json:"result"`
}

// DamagedError is about a file that is not as it was written. The run is to be done again.
type DamagedError struct {
	File string
	Err  error
}

// Error says which, and why.
func (e DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.File, e.Err) }

// Unwrap is why.
func (e DamagedError) Unwrap() error { return e.Err }

// Keep keeps what came of the run, which took so many seconds. What was measured on this machine is taken off the
// result, and its lists are where the list of runs does not want them.
func (l *List) Keep(ctx context.Context, to Store, run *Run, result *report.Run, seconds float64) error {
	result.Planner.TakeWall()
	if !l.Lists {
		report.DropLists(result)
	}
	spec, err := run.Spec.JSON()
	if err != nil {
		return err
	}
	line, err := report.EncodeRun(result)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, `{"spec":%s,"run":%s}`, spec, line)
	return to.Write(ctx, run.File(), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "{\"version\":%d,\"key\":%q,\"wall_s\":%s,\"sha256\":%q,\"result\":%s}\n",
			Version, run.Key, strconv.FormatFloat(seconds, 'f', 6, 64), sumOf(text), text)
		return err
	})
}

// Result is what was kept of the run, as it stands in the set. The error is fs.ErrNotExist where that is nothing, and a
// DamagedError where it is not what was written.
func (r *Run) Result(ctx context.Context, from Store) ([]byte, error) {
	text, err := ReadFile(ctx, from, r.File())
	if err != nil {
		return nil, err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, DamagedError{r.File(), err}
	}
	switch {
	case k.Version != Version:
		return nil, DamagedError{r.File(), fmt.Errorf("it is of version %d; this program reads version %d", k.Version, Version)}
	case k.Key != r.Key:
		return nil, DamagedError{r.File(), fmt.Errorf("it is of the run %q", k.Key)}
	case k.SHA256 != sumOf(k.Result) || !bytes.HasPrefix(k.Result, []byte(`{"spec":`)):
		return nil, DamagedError{r.File(), errors.New("its checksum is another one")}
	}
	return k.Result, nil
}

// Todo are the runs of a shard, by their place in the list, of which no result is kept; said is told of those that are
// damaged.
func (l *List) Todo(ctx context.Context, in Store, of Shard, said func(error)) ([]int, error) {
	names, err := in.List(ctx, RunsFolder)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	var todo []int
	for i := range l.Runs {
		if !of.Has(i) {
			continue
		}
		err := fs.ErrNotExist
		if there[l.Runs[i].File()] {
			_, err = l.Runs[i].Result(ctx, in)
		}
		if damaged, is := errors.AsType[DamagedError](err); is {
			said(damaged)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil {
			todo = append(todo, i)
		}
	}
	return todo, nil
}
