package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
)

// This file reads text files line by line for the readers of formats. It knows
// gzip, and CSV without quotes; whatever cannot be read becomes an *Error that
// names the place. Reading a line allocates nothing.

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 1 << 18

// few is how many errors Skips remembers, and how many bytes an Error quotes.
const few = 40

// Skips says what becomes of broken lines. Unless Lenient, the first one ends
// the reading; if Lenient, they are left out and counted. The readers of
// several files may share one Skips.
type Skips struct {
	Lenient bool
	Count   int
	First   []*Error // the first 40 of them
}

// Refuse counts err and returns nil if s is lenient and err is an *Error.
// Otherwise it returns err: a disk that fails is never skipped.
func (s *Skips) Refuse(err error) error {
	var broken *Error
	if !s.Lenient || !errors.As(err, &broken) {
		return err
	}
	s.Count++
	if len(s.First) < few {
		s.First = append(s.First, broken)
	}
	return nil
}

// Lines reads the lines of one file.
type Lines struct {
	file   string
	number int // of the latest line, from 1
	text   *bufio.Reader
	zipped bool
	closer io.Closer
	skips  *Skips
	err    error // final, once set
}

// OpenLines opens a file, which may be compressed with gzip.
func OpenLines(file string, skips *Skips) (*Lines, error) {
	f, name, err := Open(file)
	if err != nil {
		return nil, err
	}
	return ReadLines(name, f, skips), nil
}

// ReadLines is NewLines of what Close closes.
func ReadLines(file string, r io.ReadCloser, skips *Skips) *Lines {
	l := NewLines(file, r, skips)
	l.closer = r
	return l
}

// Stdin is the path of the standard input.
const Stdin = "-"

// stdin is the standard input, of which PeekStdin shows the beginning before it is read.
var stdin = bufio.NewReaderSize(os.Stdin, 1<<16) //nolint:gochecknoglobals // a process has one

// PeekStdin returns how the standard input begins, which is read nonetheless by whoever opens it: so many bytes at most.
func PeekStdin(most int) []byte {
	start, _ := stdin.Peek(min(most, stdin.Size()))
	return start
}

// Open opens a file, or the standard input, and returns what errors call it.
func Open(path string) (io.ReadCloser, string, error) {
	if path == Stdin {
		return io.NopCloser(stdin), "standard input", nil
	}
	f, err := os.Open(path)
	return f, path, err
}

// NewLines reads lines from r, which errors call file. What begins like gzip
// is taken for gzip, whatever its name.
func NewLines(file string, r io.Reader, skips *Skips) *Lines {
	l := &Lines{file: file, skips: skips, text: bufio.NewReaderSize(r, MaxLine)}
	magic, err := l.text.Peek(2)
	// A .gz file of less than two bytes is one that was cut short at once.
	l.zipped = string(magic) == "\x1f\x8b" || err != nil && strings.HasSuffix(file, ".gz")
	if !l.zipped {
		return l
	}
	unzip, err := gzip.NewReader(l.text)
	switch {
	case errors.Is(err, io.EOF):
		l.fail(io.ErrUnexpectedEOF)
	case err != nil:
		l.fail(err)
	default:
		l.text = bufio.NewReaderSize(unzip, MaxLine)
	}
	return l
}

// Next returns the next line without its end, or io.EOF after the last one.
// The line is valid until the next call. A line that is too long is an *Error
// and so is a gzip file that is damaged or cut short, unless lenient: then the
// former is skipped, and the latter ends there.
func (l *Lines) Next() ([]byte, error) {
	for l.err == nil {
		line, err := l.text.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, io.EOF) && len(line) > 0:
			l.number++
			line = bytes.TrimSuffix(line, []byte("\n"))
			return bytes.TrimSuffix(line, []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.number++
			l.err = l.Refuse(0, fmt.Sprintf("a line of at most %d bytes", MaxLine), line)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = l.text.ReadSlice('\n')
			}
		}
		if err != nil && l.err == nil {
			l.fail(err)
		}
	}
	return nil, l.err
}

// fail ends the reading because of what the reader below said.
func (l *Lines) fail(err error) {
	var system *fs.PathError
	switch {
	case errors.Is(err, io.EOF):
		l.err = io.EOF
		return
	case !l.zipped || errors.As(err, &system):
		l.err = fmt.Errorf("%s: %w", l.file, err)
		return
	}
	want := "intact gzip data"
	if errors.Is(err, io.ErrUnexpectedEOF) {
		want = "the rest of a gzip file that is cut short"
	}
	l.err = l.skips.Refuse(&Error{File: l.file, Line: l.number + 1, Want: want, Err: err})
	if l.err == nil {
		l.err = io.EOF
	}
}

// Number is that of the latest line, from 1.
func (l *Lines) Number() int { return l.number }

// Error returns an error about the latest line. The column is 0 if the whole
// line is meant; it is the number of a field where lines have fields.
func (l *Lines) Error(column int, want string, got []byte) *Error {
	return &Error{File: l.file, Line: l.number, Column: column, Want: want, Got: shorten(got)}
}

// Missing returns an error about a file that ends before what is wanted. Where
// lines of it were left out, it is about the first of these: nothing else is in
// the file.
func (l *Lines) Missing(want string) *Error {
	for _, first := range l.skips.First {
		if first.File == l.file {
			only := *first
			only.Hint = "nothing in the file could be read"
			return &only
		}
	}
	return &Error{File: l.file, Line: l.number + 1, Want: want, Err: io.ErrUnexpectedEOF}
}

// Unknown returns an error about a name in the latest line that is none of
// those known. It suggests the nearest of these, or else lists them.
func (l *Lines) Unknown(column int, want, name string, known []string) *Error {
	err := l.Error(column, want, []byte(name))
	if near, ok := nearest.Of(name, known); ok {
		err.Hint = "did you mean " + near + "?"
	} else {
		err.Hint = "there are " + strings.Join(known, ", ")
	}
	return err
}

// Refuse is Skips.Refuse for an error about the latest line: nil if the line
// shall be left out.
func (l *Lines) Refuse(column int, want string, got []byte) error {
	return l.skips.Refuse(l.Error(column, want, got))
}

func shorten(text []byte) string {
	if len(text) > few {
		return string(text[:few]) + "…"
	}
	return string(text)
}

// Close closes the file. It may be called more than once.
func (l *Lines) Close() error {
	if l.closer == nil {
		return nil
	}
	c := l.closer
	l.closer, l.err = nil, fs.ErrClosed
	return c.Close()
}

// Row is a line of fields without quotes, between commas, tabs or blanks. Fields count
// from 1.
// A field that is not what it should be leaves an error in the row and reads
// as zero, so that a whole row is read before anybody asks for Err.
type Row struct {
	fields [][]byte
	lines  *Lines
	err    *Error
}

// Split makes r the fields of the latest line of l, which should be this many.
func (r *Row) Split(l *Lines, line []byte, fields int) {
	r.cut(l, line, ",")
	r.want(fields, "commas")
}

// SplitTabs is Split for a line in which fields stand between tabs, each between two, as many as one of the counts.
func (r *Row) SplitTabs(l *Lines, line []byte, counts ...int) (fields int) {
	r.cut(l, line, "\t")
	for _, fields = range counts {
		if len(r.fields) == fields {
			return fields
		}
	}
	r.want(counts[0], "tabs")
	return counts[0]
}

// cut makes r the fields of a line between separators.
func (r *Row) cut(l *Lines, line []byte, separator string) {
	r.lines, r.err, r.fields = l, nil, r.fields[:0]
	for more := true; more; {
		var field []byte
		field, line, more = bytes.Cut(line, []byte(separator))
		r.fields = append(r.fields, field)
	}
}

// SplitBlanks is Split for a line in which fields stand between blanks, one or
// many, and perhaps behind some.
func (r *Row) SplitBlanks(l *Lines, line []byte, fields int) {
	r.lines, r.err, r.fields = l, nil, r.fields[:0]
	for field := range bytes.FieldsSeq(line) {
		r.fields = append(r.fields, field)
	}
	r.want(fields, "blanks")
}

// want leaves an error in the row unless it has this many fields.
func (r *Row) want(fields int, between string) {
	if got := len(r.fields); got != fields {
		r.err = r.lines.Error(0, fmt.Sprintf("%d fields between %s", fields, between), strconv.AppendInt(nil, int64(got), 10))
		for len(r.fields) < fields {
			r.fields = append(r.fields, nil)
		}
	}
}

// Err returns the first thing wrong with the row, or nil.
func (r *Row) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fail says that the field is not what is wanted.
func (r *Row) Fail(field int, want string) {
	if r.err == nil {
		r.err = r.lines.Error(field, want, r.Text(field))
	}
}

// Text returns the field, which is valid until the next line is read.
func (r *Row) Text(field int) []byte { return r.fields[field-1] }

// Empty reports whether nothing is in the field.
func (r *Row) Empty(field int) bool { return len(r.Text(field)) == 0 }

// Uint reads the field as an integer from 0 to most.
func (r *Row) Uint(field int, want string, most uint64) uint64 {
	text := r.Text(field)
	var n uint64
	for _, c := range text {
		digit := uint64(c - '0')
		if c < '0' || c > '9' || n > (most-min(digit, most))/10 {
			r.Fail(field, want)
			return 0
		}
		n = n*10 + digit
	}
	if len(text) == 0 || n > most {
		r.Fail(field, want)
		return 0
	}
	return n
}

// Round says what becomes of digits too small to be counted.
type Round bool

// Capacity is rounded down and demand is rounded up.
const (
	Down Round = false
	Up   Round = true
)

// Decimal reads the field as a decimal number of at least 0, such as 0.25 or
// 3.8e-05, and returns it in units of 10^-places, from 0 to
// cluster.MaxQuantity. It is exact where places suffice.
func (r *Row) Decimal(field int, want string, places int, round Round) int64 {
	q, ok := decimal(r.Text(field), places, round)
	if !ok {
		r.Fail(field, want)
	}
	return q
}

// Signed is Decimal for a number that may be below 0, such as -7157.25, which is rounded as
// if it were not.
func (r *Row) Signed(field int, want string, places int, round Round) int64 {
	text, below := bytes.CutPrefix(r.Text(field), []byte("-"))
	q, ok := decimal(text, places, round)
	if !ok {
		r.Fail(field, want)
	}
	if below {
		return -q
	}
	return q
}

// decimal keeps 18 digits and, of the others, only whether they were all 0.
func decimal(text []byte, places int, round Round) (q int64, ok bool) {
	text, exponent, ok := cutExponent(text)
	if !ok {
		return 0, false
	}
	scale := exponent + places // q is the digits times 10^scale
	digits, point, rest := 0, false, false
	for _, c := range text {
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return 0, false
		case q < math.MaxInt64/100:
			q = q*10 + int64(c-'0')
		default:
			rest = rest || c != '0'
			scale++
		}
		digits++
		if point {
			scale--
		}
	}
	if digits == 0 {
		return 0, false
	}
	for ; scale > 0 && q > 0; scale-- {
		if q > cluster.MaxQuantity {
			return 0, false
		}
		q *= 10
	}
	for ; scale < 0 && q > 0; scale++ {
		rest = rest || q%10 != 0
		q /= 10
	}
	if rest && round == Up {
		q++
	}
	return q, q <= cluster.MaxQuantity
}

// cutExponent cuts e-05 off 3.8e-05.
func cutExponent(text []byte) (digits []byte, exponent int, ok bool) {
	at := bytes.IndexAny(text, "eE")
	if at < 0 {
		return text, 0, true
	}
	// Four bytes keep the exponent, and so the work that it causes, small.
	if len(text)-at > 5 {
		return nil, 0, false
	}
	exponent, err := strconv.Atoi(string(text[at+1:]))
	return text[:at], exponent, err == nil
}
