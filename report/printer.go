package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// This file prints for people, line by line. Names come from anybody, so that texts are printed as Printable has them.

// Printer prints lines until one cannot be printed.
type Printer struct {
	out io.Writer
	err error
}

// NewPrinter is what prints to out.
func NewPrinter(out io.Writer) *Printer { return &Printer{out: out} }

// Err is why a line could not be printed, or nil.
func (p *Printer) Err() error { return p.err }

// Line prints one line, or several if the format has their ends.
func (p *Printer) Line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.out, Sprintf(format, args...))
	}
}

// Table prints rows with tabs between their cells, which have to be printable, in columns.
func (p *Printer) Table(rows []string) {
	if p.err != nil {
		return
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, row)
	}
	p.err = t.Flush()
}

// Sprintf is fmt.Sprintf with all texts among the arguments as a terminal may have them.
func Sprintf(format string, args ...any) string {
	for i := range args {
		if text, is := args[i].(string); is {
			args[i] = Printable(text)
		}
	}
	return fmt.Sprintf(format, args...)
}

// Count prints so many of a thing: "1 pod", "2,835 pods that wait". Of what has a part after " that ", the plural is that
// of the part before, and the verb follows.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	noun, verb, more := strings.Cut(thing, " that ")
	if more {
		return Grouped(n) + " " + noun + "s that " + strings.TrimSuffix(verb, "s")
	}
	return Grouped(n) + " " + noun + "s"
}
