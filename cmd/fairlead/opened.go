package main

import (
	"fmt"
	"io"
	"sync"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// opened is a source that is ready to be read, and what readers may know beyond
// what every source does.
type opened struct {
	trace.Source
	readers []trace.Source // as they are, of which there may be two
	end     cluster.Time   // where a run stops unless told otherwise; 0 is never
}

// skipper is a reader that may leave out broken lines.
type skipper interface {
	Skipped() (count int, first []*trace.Error)
}

// noter is a reader that leaves out or ignores what the model has nothing like,
// and says so of what it has read so far: "left out 12 jobs without a run time".
type noter interface{ Notes() []string }

// Typical is what the tasks typically ask for, if the source knows.
func (o opened) Typical() []cluster.Typical {
	if known, ok := o.Source.(trace.TypicalSource); ok {
		return known.Typical()
	}
	return nil
}

// notes says what was left out or ignored so far.
func (o opened) notes() []string {
	var all []string
	for _, r := range o.readers {
		if s, ok := r.(skipper); ok {
			if count, first := s.Skipped(); count > 0 {
				all = append(all, fmt.Sprintf("left out %d broken lines; the first: %v", count, first[0]))
			}
		}
		if n, ok := r.(noter); ok {
			all = append(all, n.Notes()...)
		}
	}
	return all
}

// notePrinter prints notes, each once: runs that read the same have the same notes.
type notePrinter struct {
	mutex   sync.Mutex
	printed map[string]bool
}

func (t *notePrinter) print(stderr io.Writer, notes []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, note := range notes {
		if !t.printed[note] {
			fmt.Fprintf(stderr, "fairlead: %s\n", note)
		}
		if t.printed == nil {
			t.printed = map[string]bool{}
		}
		t.printed[note] = true
	}
}
