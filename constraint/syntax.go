package constraint

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is how a mistake in a text is shown: where it is, what was expected there, the
// line with a caret under the character, and what to do.

// SyntaxError says where a text is no constraint.
type SyntaxError struct {
	Text    string
	Offset  int    // the byte of Text where reading stopped
	Problem string // what was expected there, and what was found
	Hint    string // what to do; may be empty
}

// Position is the line and the column of the character, both from 1.
func (e *SyntaxError) Position() (line, column int) {
	before := e.Text[:e.Offset]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// Error is all of it, with the picture.
func (e *SyntaxError) Error() string {
	line, column := e.Position()
	where := fmt.Sprintf("column %d", column)
	if strings.Contains(strings.TrimSpace(e.Text), "\n") {
		where = fmt.Sprintf("line %d, column %d", line, column)
	}
	return fmt.Sprintf("%s: %s\n%s", where, e.Problem, e.Picture())
}

// Picture is the line with a caret under the character, and the hint.
func (e *SyntaxError) Picture() string {
	begin := strings.LastIndexByte(e.Text[:e.Offset], '\n') + 1
	line, _, _ := strings.Cut(e.Text[begin:], "\n")
	caret := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Text[begin:e.Offset])
	picture := "    " + printable(line) + "\n    " + caret + "^"
	if e.Hint != "" {
		picture += "\n    " + e.Hint
	}
	return picture
}

// printable has a mark for each character that a terminal would not show.
func printable(line string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, line), " \t")
}
