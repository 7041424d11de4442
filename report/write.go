package report

import (
	"bytes"
	"fmt"
	"io"
)

// Format is a way to print Results.
type Format string

// The formats.
const (
	Table Format = "table" // aligned columns, for people
	JSON  Format = "json"  // everything, see the package comment
	CSV   Format = "csv"   // everything but lists, one row per run
)

// ParseFormat returns the format with the given name. Programs call it before
// a long run rather than learn after it that there is no such format.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Table, JSON, CSV:
		return f, nil
	}
	return "", fmt.Errorf("there is no format %q; there are %q, %q and %q", name, Table, JSON, CSV)
}

// Write prints results to w. Nothing is written when it fails, except when w
// does.
func Write(w io.Writer, format Format, results Results) error {
	var text bytes.Buffer
	var err error
	switch format {
	case Table:
		if results.Experiment != nil {
			writeReproduction(&text, results.Experiment)
			break
		}
		writeTable(&text, results.Runs)
	case JSON:
		return writeJSON(w, results)
	case CSV:
		if results.Experiment != nil {
			err = writeFiguresCSV(&text, results.Experiment)
			break
		}
		err = writeCSV(&text, results)
	default:
		_, err = ParseFormat(string(format))
	}
	if err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}
