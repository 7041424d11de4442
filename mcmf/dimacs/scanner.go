package dimacs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Error is a place in a file that cannot be read, and what should be there.
type Error struct {
	File         string
	Line, Column int // from 1
	What, Want   string
	Err          error // behind it, or nil
}

// Error says file, line, column, what is wrong and what was expected.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: %s; expected %s", e.File, e.Line, e.Column, e.What, e.Want)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap is the error behind it.
func (e *Error) Unwrap() error { return e.Err }

const (
	// longest is the longest line that is read, and the size of the buffer.
	longest = 1 << 16
	// quoted is how many bytes of a file an error repeats.
	quoted = 40
	// digits is how many digits always fit int64.
	digits = 18
	// fields is the most numbers in a line.
	fields = 5
)

// scanner reads numbers, line by line. What it cannot read it remembers, so that
// a whole line is read before anybody asks for fail.
type scanner struct {
	file   string
	in     io.Reader
	zipped bool
	ended  error // io.EOF or what went wrong, once in has no more

	buffer   []byte
	from, to int // what is in the buffer and not read yet

	line   []byte // the latest, without its end
	number int    // of the latest, from 1
	at     int    // how far the line is read

	starts [fields]int // where in the line its numbers begin
	count  int         // of them
	fail   error
}

func newScanner(r io.Reader, file string) *scanner {
	s := &scanner{file: file, buffer: make([]byte, longest)}
	in := bufio.NewReader(r)
	magic, err := in.Peek(2)
	s.in = in
	s.zipped = string(magic) == "\x1f\x8b" || err != nil && strings.HasSuffix(file, ".gz")
	if !s.zipped {
		return s
	}
	unzip, err := gzip.NewReader(in)
	switch {
	case errors.Is(err, io.EOF):
		s.ended = s.broken(io.ErrUnexpectedEOF)
	case err != nil:
		s.ended = s.broken(err)
	default:
		s.in = unzip
	}
	return s
}

// next goes to the next line; there is none if it is not true. Then fail is nil
// at the end of the file.
func (s *scanner) next() bool {
	for s.fail == nil {
		length := bytes.IndexByte(s.buffer[s.from:s.to], '\n')
		switch {
		case length >= 0:
			s.take(length, 1)
			return true
		case s.ended == nil:
			s.fill()
		case !errors.Is(s.ended, io.EOF):
			s.fail = s.ended
		case s.from < s.to:
			s.take(s.to-s.from, 0)
			return true
		default:
			return false
		}
	}
	return false
}

func (s *scanner) take(length, end int) {
	s.line = s.buffer[s.from : s.from+length]
	s.from += length + end
	s.number++
	s.at, s.count = 0, 0
}

// fill reads more behind what is in the buffer.
func (s *scanner) fill() {
	if s.from == 0 && s.to == len(s.buffer) {
		s.number++
		s.fail = s.error(longest, "the line goes on", fmt.Sprintf("at most %d bytes a line", longest))
		return
	}
	s.to = copy(s.buffer, s.buffer[s.from:s.to])
	s.from = 0
	for range 100 { // as often as bufio asks a reader that gives nothing
		read, err := s.in.Read(s.buffer[s.to:])
		s.to += read
		if err != nil {
			s.ended = s.broken(err)
		}
		if read > 0 || err != nil {
			return
		}
	}
	s.ended = s.broken(io.ErrNoProgress)
}

// broken is what to say of an error of the reader.
func (s *scanner) broken(err error) error {
	var system *fs.PathError
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case !s.zipped || errors.As(err, &system):
		return fmt.Errorf("%s: %w", s.file, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{s.file, s.number + 1, 1, "the gzip file is cut short", "the rest of it", nil}
	}
	return &Error{s.file, s.number + 1, 1, "the gzip file is damaged", "intact gzip data", err}
}

// error is one about the place so many bytes into the line.
func (s *scanner) error(at int, what, want string) error {
	return &Error{File: s.file, Line: s.number, Column: at + 1, What: what, Want: want}
}

// refuse remembers the first error of a line.
func (s *scanner) refuse(at int, what, want string) {
	if s.fail == nil {
		s.fail = s.error(at, what, want)
	}
}

// refuseField refuses the number of that index in the line.
func (s *scanner) refuseField(field int, what, want string) { s.refuse(s.starts[field], what, want) }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// word is the next word of the line, or empty, and where it begins.
func (s *scanner) word() (word []byte, at int) {
	for s.at < len(s.line) && blank(s.line[s.at]) {
		s.at++
	}
	at = s.at
	for s.at < len(s.line) && !blank(s.line[s.at]) {
		s.at++
	}
	return s.line[at:s.at], at
}

// kind is the letter that a line begins with, 0 for an empty line and '?' for
// anything else.
func (s *scanner) kind() byte {
	if len(s.line) > 1 && blank(s.line[1]) && !blank(s.line[0]) {
		s.at = 1
		return s.line[0]
	}
	switch word, _ := s.word(); len(word) {
	case 0:
		return 0
	case 1:
		return word[0]
	}
	return '?'
}

// whole reads the next number of the line; what says which one it is.
func (s *scanner) whole(what string) int64 {
	line, at := s.line, s.at
	for at < len(line) && blank(line[at]) {
		at++
	}
	s.starts[s.count] = at
	s.count++
	negative := at < len(line) && line[at] == '-'
	if negative {
		at++
	}
	first := at
	value := int64(0)
	for at < len(line) {
		digit := line[at] - '0'
		if digit > 9 {
			break
		}
		value = value*10 + int64(digit)
		at++
	}
	if at == first || at > first+digits || at < len(line) && !blank(line[at]) {
		return s.odd(what)
	}
	s.at = at
	if negative {
		return -value
	}
	return value
}

// odd reads a number that is long, or none.
func (s *scanner) odd(what string) int64 {
	word, at := s.word()
	value, err := strconv.ParseInt(string(word), 10, 64)
	switch {
	case len(word) == 0:
		s.refuse(at, "the line ends", what)
	case errors.Is(err, strconv.ErrRange):
		s.refuse(at, quote(word)+" does not fit 64 bits", what)
	case err != nil:
		s.refuse(at, quote(word)+" is no whole number", what)
	}
	return value
}

// end refuses what is left in the line.
func (s *scanner) end() {
	if s.at == len(s.line) {
		return
	}
	if word, at := s.word(); len(word) > 0 {
		s.refuse(at, quote(word)+" is left over", "the end of the line")
	}
}

func quote(text []byte) string {
	if len(text) > quoted {
		return strconv.Quote(string(text[:quoted])) + "…"
	}
	return strconv.Quote(string(text))
}
