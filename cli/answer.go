package cli

import (
	"encoding/json"
	"io"
)

// This file prints answers of commands that have two forms: text for people, or JSON.

// checkAnswer says that a form is neither.
func checkAnswer(format string) error {
	if format == "text" || format == "json" {
		return nil
	}
	return unknown("format", format, []string{"text", "json"})
}

// writeAnswer prints an answer in one of the forms.
func writeAnswer(format string, out io.Writer, answer any, text func(io.Writer) error) error {
	if format == "text" {
		return text(out)
	}
	return writeJSON(out, answer)
}

// writeJSON prints a value as people and programs read it.
func writeJSON(out io.Writer, value any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
