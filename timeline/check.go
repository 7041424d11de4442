package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// This file checks a timeline as a viewer would read it: whether slices of a lane overlap, everything has a name, each
// arrow has two ends on slices, and nothing is negative.

// Summary is what a timeline holds.
type Summary struct {
	Slices, Instants, Arrows, Counters int
	Processes, Lanes                   int
	// Busy is how long there were slices in a process, in microseconds, by the name of the process.
	Busy map[string]int64
}

// traceEvent is one as it is read.
type traceEvent struct {
	Phase    string                     `json:"ph"`
	Name     string                     `json:"name"`
	Process  int                        `json:"pid"`
	Thread   int                        `json:"tid"`
	Time     int64                      `json:"ts"`
	Duration int64                      `json:"dur"`
	ID       int                        `json:"id"`
	Args     map[string]json.RawMessage `json:"args"`
}

// stretch is a slice on its lane.
type stretch struct {
	from, to int64
	name     string
}

// checker gathers a timeline.
type checker struct {
	processes map[int]string
	threads   map[place]string
	slices    map[place][]stretch
	ends      map[int][]traceEvent // of arrows
	summary   Summary
}

// Check reads a timeline and says what is wrong with it, the first thing that is.
func Check(in io.Reader) (Summary, error) {
	c := &checker{processes: map[int]string{}, threads: map[place]string{}, slices: map[place][]stretch{}, ends: map[int][]traceEvent{}}
	d := json.NewDecoder(in)
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return c.summary, fmt.Errorf("want an array, got %v: %w", token, err)
	}
	for n := 0; d.More(); n++ {
		var e traceEvent
		if err := d.Decode(&e); err != nil {
			return c.summary, fmt.Errorf("event %d: %w", n, err)
		}
		if err := c.event(&e); err != nil {
			return c.summary, fmt.Errorf("event %d: %w", n, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return c.summary, fmt.Errorf("the array does not end: %w", err)
	}
	return c.summary, c.whole()
}

func (c *checker) event(e *traceEvent) error {
	at := place{e.Process, e.Thread}
	if e.Time < 0 || e.Duration < 0 {
		return fmt.Errorf("%s at %d for %d: a negative time", e.Name, e.Time, e.Duration)
	}
	switch e.Phase {
	case "M":
		var name string
		if e.Name == "process_name" || e.Name == "thread_name" {
			if err := json.Unmarshal(e.Args["name"], &name); err != nil || name == "" {
				return fmt.Errorf("%s without a name", e.Name)
			}
		}
		switch e.Name {
		case "process_name":
			c.processes[e.Process] = name
		case "thread_name":
			c.threads[at] = name
		}
	case "X":
		c.summary.Slices++
		c.slices[at] = append(c.slices[at], stretch{e.Time, e.Time + e.Duration, e.Name})
	case "i":
		c.summary.Instants++
	case "s", "f":
		c.ends[e.ID] = append(c.ends[e.ID], *e)
	case "C":
		c.summary.Counters++
		for key, value := range e.Args {
			var n int64
			if json.Unmarshal(value, &n) != nil || n < 0 {
				return fmt.Errorf("counter %s: %s is %s", e.Name, key, value)
			}
		}
	default:
		return fmt.Errorf("phase %q", e.Phase)
	}
	return nil
}

// whole checks what can be known at the end alone.
func (c *checker) whole() error {
	c.summary.Processes, c.summary.Lanes, c.summary.Busy = len(c.processes), len(c.slices), map[string]int64{}
	for at, list := range c.slices {
		if c.processes[at.process] == "" || c.threads[at] == "" {
			return fmt.Errorf("process %d, thread %d has slices and no name", at.process, at.thread)
		}
		slices.SortFunc(list, func(a, b stretch) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
		for i, s := range list {
			if i > 0 && s.from < list[i-1].to {
				return fmt.Errorf("%s, %s: %s from %d on lies in %s, which ends at %d", c.processes[at.process], c.threads[at], s.name, s.from, list[i-1].name, list[i-1].to)
			}
			c.summary.Busy[c.processes[at.process]] += s.to - s.from
		}
	}
	for id, ends := range c.ends {
		if len(ends) != 2 || ends[0].Phase == ends[1].Phase {
			return fmt.Errorf("arrow %d has not two ends", id)
		}
		c.summary.Arrows++
		for _, e := range ends {
			if !slices.ContainsFunc(c.slices[place{e.Process, e.Thread}], func(s stretch) bool { return s.from <= e.Time && e.Time <= s.to }) {
				return fmt.Errorf("arrow %d: an end at %d is on no slice", id, e.Time)
			}
		}
	}
	return nil
}
