package stream

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"fairlead.dev/fairlead/sim/trace"
)

// This file is a scanner of JSON that is told what to expect, value by value.
// It knows the column of whatever is wrong, and takes names as they are
// written; encoding/json does neither, and takes several times as long.

// scanner reads one line. After an error all that it returns is zero, so that
// a caller may ask at the end.
type scanner struct {
	text []byte
	at   int    // the next byte
	from int    // where the latest value began
	want string // what was expected at from, if something else is there

	// Of a name that is unknown: the name, and those that are known.
	unknown string
	known   []string
}

func (s *scanner) reset(text []byte) { *s = scanner{text: text} }

// fail says what was expected instead of the latest value.
func (s *scanner) fail(want string) {
	if s.want == "" {
		s.want = want
	}
}

// failName says that the latest name is not among those known.
func (s *scanner) failName(want string, name []byte, known ...string) {
	if !s.failed() {
		s.want, s.unknown, s.known = want, string(name), known
	}
}

func (s *scanner) failed() bool { return s.want != "" }

// err returns the error as one of the latest line of l.
func (s *scanner) err(l *trace.Lines) *trace.Error {
	if s.known != nil {
		return l.Unknown(s.from+1, s.want, s.unknown, s.known)
	}
	return l.Error(s.from+1, s.want, s.text[s.from:])
}

// peek skips space and returns the next byte; 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
	if s.failed() || s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// begin starts a value.
func (s *scanner) begin() byte {
	c := s.peek()
	if !s.failed() {
		s.from = s.at
	}
	return c
}

// take takes the byte c, or else fails.
func (s *scanner) take(c byte, want string) {
	if s.begin() != c || s.failed() {
		s.fail(want)
		return
	}
	s.at++
}

// open takes the bracket that opens an object or an array, and reports
// whether it holds anything.
func (s *scanner) open(c byte, want string) bool {
	s.take(c, want)
	if s.peek() == c+2 { // in ASCII, ] and } are two after [ and {
		s.at++
		return false
	}
	return !s.failed()
}

// more takes the comma before another member and returns true, or the closing
// bracket and returns false.
func (s *scanner) more(closing byte) bool {
	switch s.begin() {
	case ',':
		s.at++
		return !s.failed()
	case closing:
		s.at++
	default:
		s.fail(fmt.Sprintf("a comma or %c", closing))
	}
	return false
}

// name takes the name of a member and the colon.
func (s *scanner) name() []byte {
	name := s.string("a name")
	from := s.from
	s.take(':', "a colon")
	if !s.failed() {
		s.from = from
	}
	return name
}

// string takes a string and returns what it says, which may alias the line.
func (s *scanner) string(want string) []byte {
	if s.begin() != '"' {
		s.fail(want)
		return nil
	}
	plain := true
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"' && plain:
			text := s.text[s.at+1 : i]
			s.at = i + 1
			return text
		case c == '"':
			var text string
			if json.Unmarshal(s.text[s.at:i+1], &text) != nil {
				s.fail(want + " in proper JSON")
				return nil
			}
			s.at = i + 1
			return []byte(text)
		case c == '\\':
			plain = false
			i++
		case c < ' ' || c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.fail(want + " with its closing quote")
	return nil
}

// uint takes an integer from 0 to most.
func (s *scanner) uint(want string, most uint64) uint64 {
	s.begin()
	return s.digits(want, most)
}

// int takes an integer from least, which is at most 0, to most.
func (s *scanner) int(want string, least, most int64) int64 {
	if s.begin() == '-' {
		s.at++
		n := s.digits(want, uint64(-(least+1))+1)
		return -int64(n)
	}
	return int64(s.digits(want, uint64(most)))
}

func (s *scanner) digits(want string, most uint64) uint64 {
	if s.failed() {
		return 0
	}
	var n uint64
	first := s.at
	for ; s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9'; s.at++ {
		digit := uint64(s.text[s.at] - '0')
		if n > (math.MaxUint64-digit)/10 {
			s.fail(want)
			return 0
		}
		n = n*10 + digit
	}
	length := s.at - first
	leading := length > 1 && s.text[first] == '0'
	fraction := s.at < len(s.text) && slices.Contains([]byte(".eE"), s.text[s.at])
	if length == 0 || leading || fraction || n > most {
		s.fail(want)
		return 0
	}
	return n
}

// bool takes true or false.
func (s *scanner) bool() bool {
	const want = "true or false"
	s.begin()
	for _, word := range []string{"true", "false"} {
		if end := s.at + len(word); !s.failed() && end <= len(s.text) && string(s.text[s.at:end]) == word {
			s.at = end
			return word == "true"
		}
	}
	s.fail(want)
	return false
}

// end wants nothing more in the line.
func (s *scanner) end() {
	s.begin()
	if s.at != len(s.text) {
		s.fail("the end of the line")
	}
}
