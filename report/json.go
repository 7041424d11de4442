package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"fairlead.dev/fairlead/internal/strict"
)

// writeJSON prints results as the package comment describes. Runs may be many and
// long, and all of them as text would take as much memory again. So they are
// written one by one, after each has been printed once for nothing: what cannot
// be printed is an error before anything is written.
func writeJSON(w io.Writer, results Results) error {
	results = complete(results)
	for i := range results.Runs {
		if _, err := compactText(&results.Runs[i]); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "{\n  \"version\": %d,\n", Version)
	for _, part := range []struct {
		name  string
		value any
		given bool
	}{{"spec", results.Spec, results.Spec != nil}, {"experiment", results.Experiment, results.Experiment != nil}} {
		if !part.given {
			continue
		}
		compact, err := compactText(part.value)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "  %q: ", part.name)
		layOut(&text, compact, 1)
		text.WriteString(",\n")
	}
	text.WriteString("  \"runs\": [")
	for i := range results.Runs {
		run, err := compactText(&results.Runs[i])
		if err != nil {
			return err
		}
		if i > 0 {
			text.WriteByte(',')
		}
		newLine(&text, 2)
		layOut(&text, run, 2)
		if _, err := text.WriteTo(w); err != nil {
			return err
		}
	}
	if len(results.Runs) > 0 {
		newLine(&text, 1)
	}
	text.WriteString("]\n}\n")
	_, err := text.WriteTo(w)
	return err
}

// compactText is a part of the results as compact JSON.
func compactText(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	// The text is not meant to stand inside HTML, and names may hold a "<".
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// EncodeRun is the run as it stands in results, on one line.
func EncodeRun(r *Run) ([]byte, error) {
	return compactText(complete(Results{Runs: []Run{*r}}).Runs[0])
}

// complete returns results with the version filled in, and with empty lists
// and maps in place of nil ones, which JSON would call null.
func complete(results Results) Results {
	c := Results{Version: Version, Spec: results.Spec, Experiment: results.Experiment, Runs: make([]Run, len(results.Runs))}
	for i, r := range results.Runs {
		if r.Utilisation == nil {
			r.Utilisation = map[string]Utilisation{}
		}
		if r.Allocation == nil {
			r.Allocation = map[string]Allocation{}
		}
		if r.Classes == nil {
			r.Classes = map[string]Class{}
		}
		if r.Reasons == nil {
			r.Reasons = map[string]int{}
		}
		c.Runs[i] = r
	}
	return c
}

// maxRuns bounds the runs of a file: of two bytes, {}, one takes a kilobyte when it is read.
const maxRuns = 1 << 17

// runsIn counts the runs of results, up to one too many.
func runsIn(text []byte) int {
	runs := 0
	for name, list := range strict.Members(text) {
		var key string
		if json.Unmarshal(name, &key) != nil || !strings.EqualFold(key, "runs") {
			continue
		}
		for range strict.Elements(list) {
			if runs++; runs > maxRuns {
				return runs
			}
		}
	}
	return runs
}

// ReadJSON reads what Write printed as JSON. It is strict: a version or a name
// that it does not know is an error, and so are text after the end and a sample
// whose lists do not belong together.
func ReadJSON(r io.Reader) (Results, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Results{}, fmt.Errorf("report: %w", err)
	}
	// The version comes first, since it decides which names are known.
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Results{}, fmt.Errorf("report: not a results file: %w", err)
	}
	if head.Version != Version {
		return Results{}, fmt.Errorf("report: results of version %d; supported versions: %d", head.Version, Version)
	}
	if runs := runsIn(text); runs > maxRuns {
		return Results{}, fmt.Errorf("report: %d runs or more; at most %d of a file are read", runs, maxRuns)
	}
	var results Results
	if err := strict.Decode(text, &results); err != nil {
		return Results{}, fmt.Errorf("report: results of version %d: %w", Version, err)
	}
	for i := range results.Runs {
		r := &results.Runs[i]
		if r.Sample == nil {
			continue
		}
		if err := r.Sample.check(); err != nil {
			return Results{}, fmt.Errorf("report: policy %s, seed %d: %w", r.Policy, r.Seed, err)
		}
	}
	return results, nil
}
