// Package file reads constraints as people keep them: a text file with a constraint a
// line, or YAML, a list of texts and of maps. Every mistake is reported, with file, line,
// column and what was expected. What may be written, docs/constraints.md says.
package file

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
)

// File is what was read.
type File struct {
	Constraints []cluster.Constraint
	Lines       []int // on which each constraint begins, from 1
	Columns     []int // and where on that line, from 1
}

// Decode reads a file; errors call it name. It is text if it begins with a brace that is
// not that of a JSON object, and else YAML.
func Decode(name string, text []byte) (*File, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // editors that mark a file as UTF-8
	begin := firstText(text)
	if bytes.HasPrefix(begin, []byte("{")) && !regexp.MustCompile(`^\{\s*("([^"\\]|\\.)*"\s*:|\})`).Match(begin) {
		return decodeText(name, string(text))
	}
	if len(begin) == 0 {
		return nil, fmt.Errorf("%s: there is no constraint; write one on each line, such as {storm, {hb & mem, 1, inf}, node}: hard", name)
	}
	reader, top, err := document.Open(name, text)
	if err != nil {
		return nil, fmt.Errorf("%w; constraints as text begin with { on each line, and in YAML a text that begins so stands in quotes", err)
	}
	f := readDocument(reader, top)
	if err := reader.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// firstText is a text from its first line on that is neither empty nor a comment.
func firstText(text []byte) []byte {
	for {
		text = bytes.TrimSpace(text)
		if !bytes.HasPrefix(text, []byte("#")) {
			return text
		}
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return nil
		}
		text = text[end:]
	}
}

// decodeText reads a constraint a line.
func decodeText(name, text string) (*File, error) {
	var f File
	var wrong []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		c, err := constraint.Parse(line)
		if err != nil {
			if syntax, ok := errors.AsType[*constraint.SyntaxError](err); ok {
				_, column := syntax.Position()
				err = fmt.Errorf("%s:%d:%d: %s\n%s", name, number, column, syntax.Problem, syntax.Picture())
			}
			wrong = append(wrong, err)
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		f.Constraints, f.Lines, f.Columns = append(f.Constraints, c), append(f.Lines, number), append(f.Columns, indent+1)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return &f, nil
}
