package setup

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// Opened is a source that is ready to be read, and what readers may know beyond
// what every source does.
type Opened struct {
	trace.Source
	readers []trace.Source // as they are, of which there may be two
	End     cluster.Time   // where a run stops unless told otherwise; 0 is never
}

// skipper is a reader that may leave out broken lines.
type skipper interface {
	Skipped() (count int, first []*trace.Error)
}

// noter is a reader that leaves out or ignores what the model has nothing like,
// and says so of what it has read so far: "left out 12 jobs without a run time".
type noter interface{ Notes() []string }

// Typical is what the tasks typically ask for, if the source knows.
func (o Opened) Typical() []fragmentation.Typical {
	if known, ok := o.Source.(trace.TypicalSource); ok {
		return known.Typical()
	}
	return nil
}

// Dump is the reader of a cluster's dump; nil of any other source.
func (o Opened) Dump() *kubernetes.Source {
	for _, r := range o.readers {
		if dump, is := r.(*kubernetes.Source); is {
			return dump
		}
	}
	return nil
}

// Unchanged is a cluster's dump without the changes that were asked for (Sources.Change).
func (o Opened) Unchanged() (Opened, error) {
	was, err := o.Dump().Changed().Unchanged()
	if err != nil {
		return Opened{}, err
	}
	return Opened{Source: was, readers: []trace.Source{was}, End: o.End}, nil
}

// Notes says what was left out or ignored so far.
func (o Opened) Notes() []string {
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
