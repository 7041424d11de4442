package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"fairlead.dev/fairlead/internal/strict"
)

// writeJSON prints results as the package comment describes, run by run: a run
// may be long, and is in memory twice while it is printed.
func writeJSON(text *bytes.Buffer, results Results) error {
	var run bytes.Buffer
	e := json.NewEncoder(&run)
	// The text is not meant to stand inside HTML, and names may hold a "<".
	e.SetEscapeHTML(false)
	fmt.Fprintf(text, "{\n  \"version\": %d,\n  \"runs\": [", Version)
	for i, r := range complete(results).Runs {
		run.Reset()
		if err := e.Encode(r); err != nil {
			return err
		}
		if i > 0 {
			text.WriteByte(',')
		}
		newLine(text, 2)
		layOut(text, bytes.TrimSpace(run.Bytes()), 2)
	}
	if len(results.Runs) > 0 {
		newLine(text, 1)
	}
	text.WriteString("]\n}\n")
	return nil
}

// complete returns results with the version filled in, and with empty lists
// and maps in place of nil ones, which JSON would call null.
func complete(results Results) Results {
	c := Results{Version: Version, Runs: make([]Run, len(results.Runs))}
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

// ReadJSON reads what Write printed as JSON. It is strict: a version or a name
// that it does not know is an error, and so is text after the end.
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
	var results Results
	if err := strict.Decode(text, &results); err != nil {
		return Results{}, fmt.Errorf("report: results of version %d: %w", Version, err)
	}
	return results, nil
}
