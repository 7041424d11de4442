package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
	"fairlead.dev/fairlead/sim/trace/qos"
	"fairlead.dev/fairlead/sim/trace/stream"
	"fairlead.dev/fairlead/sim/workload"
)

// sourceHelp is what SRC stands for in help texts.
const sourceHelp = `SRC is where nodes or tasks come from:
  synthetic:google?nodes=1000&tasks-per-node=11.57&rate=1&churn=0&constrained=0.06&seed=1
                   a cluster like Google's of 2011, made up; without seed, the run's
  google2011:DIR   Google's trace of 2011, as published: DIR holds machine_events and task_events
  qos:FILE?hosts=20&cpu=3.75&memory=3.75
                   a workload of the QoS paper, and hosts for it
  FILE             Fairlead's own format, JSON lines, perhaps compressed with gzip
Add slots=N to any of them to count slots instead of resources: a node offers N,
a task takes one.`

// sourceSpec is a SRC taken apart.
type sourceSpec struct {
	text   string
	format string
	path   string
	values url.Values
	slots  int64 // 0: none
}

// formats are the formats that a SRC can name. The empty one is our own.
func formats() []string { return []string{"google2011", "synthetic", "qos"} }

// parseSource takes a SRC apart. It opens nothing.
func parseSource(text string) (sourceSpec, error) {
	s := sourceSpec{text: text, path: text, values: url.Values{}}
	name, rest, named := strings.Cut(text, ":")
	if named && !strings.ContainsAny(name, "/.\\") && len(name) > 1 {
		if !slices.Contains(formats(), name) {
			return s, unknown("format", name, formats())
		}
		s.format, s.path = name, rest
	}
	path, query, asked := strings.Cut(s.path, "?")
	if asked {
		values, err := url.ParseQuery(query)
		if err != nil {
			return s, fmt.Errorf("%s: options: %w", text, err)
		}
		s.path, s.values = path, values
	}
	if s.path == "" {
		return s, fmt.Errorf("%q names nothing to read", text)
	}
	if n := s.values.Get("slots"); n != "" {
		slots, err := strconv.ParseInt(n, 10, 32)
		if err != nil || slots < 1 {
			return s, fmt.Errorf("%s: slots=%s, want a number from 1", text, n)
		}
		s.slots = slots
		s.values.Del("slots")
	}
	return s, s.check()
}

// check says whether the format takes these options.
func (s sourceSpec) check() error {
	known := map[string][]string{
		"synthetic": {"nodes", "tasks-per-node", "rate", "churn", "constrained", "seed"},
		"qos":       {"hosts", "cpu", "memory"},
	}[s.format]
	for name, values := range s.values {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: %w", s.text, unknown("option", name, append(slices.Clone(known), "slots")))
		}
		if len(values) != 1 {
			return fmt.Errorf("%s: option %s is given %d times", s.text, name, len(values))
		}
	}
	if s.format == "synthetic" {
		_, err := s.google(0)
		return err
	}
	return nil
}

// google is the generator that a synthetic source describes.
func (s sourceSpec) google(seed uint64) (workload.Google, error) {
	if s.path != "google" {
		return workload.Google{}, fmt.Errorf("%s: %w", s.text, unknown("generator", s.path, []string{"google"}))
	}
	g := workload.Default()
	g.Seed = seed
	err := errors.Join(
		s.number("nodes", func(v float64) { g.Nodes = int(v) }),
		s.number("tasks-per-node", func(v float64) { g.TasksPerNode = v }),
		s.number("rate", func(v float64) { g.Rate = v }),
		s.number("churn", func(v float64) { g.Churn = v }),
		s.number("constrained", func(v float64) { g.Constrained = v }),
		s.number("seed", func(v float64) { g.Seed = uint64(v) }),
	)
	if err == nil {
		err = g.Validate()
	}
	return g, err
}

// number hands on the option of that name if it is given.
func (s sourceSpec) number(name string, set func(float64)) error {
	text := s.values.Get(name)
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || v > 1e15 {
		return fmt.Errorf("%s: %s=%s, want a number from 0", s.text, name, text)
	}
	set(v)
	return nil
}

// opened is a source that is ready to be read.
type opened struct {
	trace.Source
	skippers []skipper
	end      cluster.Time // where a run stops unless told otherwise; 0 is never
}

// skipper is a source that may leave out broken lines.
type skipper interface {
	Skipped() (count int, first []*trace.Error)
}

// open opens the source for one run.
func (s sourceSpec) open(seed uint64, lenient bool) (opened, error) {
	src, err := s.openFormat(seed, lenient)
	if err != nil {
		return opened{}, err
	}
	o := opened{Source: src}
	if google, ok := src.(*google2011.Source); ok {
		// Machine events go on for weeks after the task events at hand.
		o.end = google.Counts().LastTaskEvent
	}
	if skipper, ok := src.(skipper); ok {
		o.skippers = append(o.skippers, skipper)
	}
	if s.slots > 0 {
		o.Source = trace.Slots(src, s.slots)
	}
	return o, nil
}

func (s sourceSpec) openFormat(seed uint64, lenient bool) (trace.Source, error) {
	switch s.format {
	case "google2011":
		return google2011.Open(s.path, google2011.Options{Lenient: lenient})
	case "synthetic":
		g, err := s.google(seed)
		if err != nil {
			return nil, err
		}
		return workload.New(g)
	case "qos":
		o := qos.Default()
		o.Lenient = lenient
		err := errors.Join(
			s.number("hosts", func(v float64) { o.Hosts = int(v) }),
			s.number("cpu", func(v float64) { o.CPU = int64(v * 1e6) }),
			s.number("memory", func(v float64) { o.Memory = int64(v * 1e6) }),
		)
		if err != nil {
			return nil, err
		}
		return qos.Open(s.path, o)
	}
	if info, err := os.Stat(s.path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; for Google's trace of 2011 write google2011:%s", s.path, s.path)
	}
	return stream.Open(s.path, stream.Options{Lenient: lenient})
}

// openBoth opens the cluster and the workload as one source. Where both are
// the same, it is read once.
func openBoth(nodes, tasks sourceSpec, seed uint64, lenient bool) (opened, error) {
	if tasks.slots == 0 && nodes.slots > 0 {
		tasks.slots = nodes.slots // a slot a task, whatever it asks for
	}
	a, err := nodes.open(seed, lenient)
	if err != nil || nodes.text == tasks.text {
		return a, err
	}
	b, err := tasks.open(seed, lenient)
	if err != nil {
		return opened{}, errors.Join(err, a.Close())
	}
	merged, err := trace.Merge(a, b)
	if err != nil {
		return opened{}, errors.Join(err, a.Close(), b.Close())
	}
	return opened{merged, append(a.skippers, b.skippers...), b.end}, nil
}

// parseTime reads a duration such as 90s, 10m, 2h, 29d or 1d12h.
func parseTime(text string) (cluster.Time, error) {
	units := map[string]cluster.Time{"us": cluster.Microsecond, "µs": cluster.Microsecond, "ms": cluster.Millisecond, "s": cluster.Second, "m": cluster.Minute, "h": cluster.Hour, "d": cluster.Day}
	total, rest := 0.0, text
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if digits <= 0 {
			return 0, fmt.Errorf("%q is no time; write 90s, 10m, 2h, 29d or 1h30m", text)
		}
		value, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no time: %w", text, err)
		}
		rest = rest[digits:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := units[rest[:end]]
		if !ok {
			return 0, fmt.Errorf("%q: unknown unit %q; there are us, ms, s, m, h, d", text, rest[:end])
		}
		total += value * float64(unit)
		rest = rest[end:]
	}
	if text == "" || total > float64(1<<60) {
		return 0, fmt.Errorf("%q is no time; write 90s, 10m, 2h, 29d or 1h30m", text)
	}
	return cluster.Time(total), nil
}
