package trace

import (
	"io"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
)

// Limit ends src after the moment until: a record at that moment still counts.
func Limit(src Source, until cluster.Time) Source {
	return &limited{Source: src, until: until}
}

type limited struct {
	Source
	until cluster.Time
	over  bool
}

// Typical is what the source knows of its tasks.
func (l *limited) Typical() []fragmentation.Typical { return typical(l.Source) }

// Next fills in the next record up to the moment.
func (l *limited) Next(r *Record) error {
	if l.over {
		return io.EOF
	}
	err := l.Source.Next(r)
	if err == nil && r.Time > l.until {
		l.over = true
		return io.EOF
	}
	return err
}
