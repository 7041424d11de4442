package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
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
  recording:FILE,… or recording:DIR
                   what a scheduler saw and decided; it is replayed as it was, alone
Add slots=N to any of them to count slots instead of resources: a node offers N,
a task takes one.`

// sourceSpec is a SRC taken apart.
type sourceSpec struct {
	text   string
	format string
	path   string
	values url.Values
	slots  int64 // 0: none
	role   role
}

// role says what of a source is used.
type role uint8

const (
	everything role = iota
	nodesAlone      // another source has the tasks
	tasksAlone      // another source has the nodes
)

// formats are the formats that a SRC can name. The empty one is our own.
func formats() []string { return []string{"google2011", "synthetic", "qos"} }

// parseSource takes a SRC apart. It opens nothing.
func parseSource(text string) (sourceSpec, error) {
	s := sourceSpec{text: text, path: text, values: url.Values{}}
	name, rest, named := strings.Cut(text, ":")
	if named && !strings.ContainsAny(name, "/.\\") && len(name) > 1 {
		if name == "recording" {
			return s, fmt.Errorf("%s: a recording holds both nodes and tasks; name it as --workload alone", text)
		}
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
	if err := s.check(); err != nil {
		return s, err
	}
	err := s.whole("slots", 1, math.MaxInt32, func(v int64) { s.slots = v })
	return s, err
}

// check says whether the format takes these options and values.
func (s sourceSpec) check() error {
	known := map[string][]string{
		"synthetic": {"nodes", "tasks-per-node", "rate", "churn", "constrained", "seed"},
		"qos":       {"hosts", "cpu", "memory"},
	}[s.format]
	known = append(known, "slots")
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: %w", s.text, unknown("option", name, known))
		}
		if times := len(s.values[name]); times != 1 {
			return fmt.Errorf("%s: option %s is given %d times", s.text, name, times)
		}
	}
	var err error
	switch s.format {
	case "synthetic":
		_, err = s.google(0)
	case "qos":
		_, err = s.qos(false)
	}
	return err
}

// google is the generator that a synthetic source describes.
func (s sourceSpec) google(seed uint64) (workload.Google, error) {
	if s.path != "google" {
		return workload.Google{}, fmt.Errorf("%s: %w", s.text, unknown("generator", s.path, []string{"google"}))
	}
	g := workload.Default()
	g.Seed = seed
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { g.Nodes = int(v) }),
		s.number("tasks-per-node", 100, func(v float64) { g.TasksPerNode = v }),
		s.number("rate", 1e4, func(v float64) { g.Rate = v }),
		s.number("churn", 1e4, func(v float64) { g.Churn = v }),
		s.number("constrained", 1, func(v float64) { g.Constrained = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { g.Seed = uint64(v) }),
	)
	if err == nil {
		err = g.Validate()
	}
	// What is not used is not made: it has no end, and would be read for the
	// sake of what comes between.
	switch s.role {
	case nodesAlone:
		g.Rate, g.TasksPerNode = 0, 0
	case tasksAlone:
		g.Churn = 0
	case everything:
	}
	return g, err
}

// qos are the options of a workload of the QoS paper.
func (s sourceSpec) qos(lenient bool) (qos.Options, error) {
	const most = cluster.MaxQuantity / 1e6
	o := qos.Default()
	o.Lenient = lenient
	err := errors.Join(
		s.whole("hosts", 1, 1_000_000, func(v int64) { o.Hosts = int(v) }),
		s.number("cpu", most, func(v float64) { o.CPU = int64(math.Round(v * 1e6)) }),
		s.number("memory", most, func(v float64) { o.Memory = int64(math.Round(v * 1e6)) }),
	)
	return o, err
}

// number hands on the option of that name, from 0 to most, if it is given.
func (s sourceSpec) number(name string, most float64, set func(float64)) error {
	if !s.values.Has(name) {
		return nil
	}
	text := s.values.Get(name)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return fmt.Errorf("%s: %s=%s, want a number from 0 to %.0f", s.text, name, text, most)
	}
	set(v)
	return nil
}

// whole hands on the option of that name, an integer, if it is given.
func (s sourceSpec) whole(name string, least, most int64, set func(int64)) error {
	if !s.values.Has(name) {
		return nil
	}
	text := s.values.Get(name)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < least || v > most {
		return fmt.Errorf("%s: %s=%s, want a whole number from %d to %d", s.text, name, text, least, most)
	}
	set(v)
	return nil
}

// endless says whether the source goes on for ever in the role it has.
func (s sourceSpec) endless() bool {
	if s.format != "synthetic" {
		return false
	}
	g, err := s.google(0)
	return err == nil && (g.Churn > 0 || s.role != nodesAlone)
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

// open opens the source for one run with that seed.
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
		o, err := s.qos(lenient)
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
// the same, it is read once. Of two, neither is read past the end of the run.
func (s *simulation) openBoth(seed uint64) (opened, error) {
	nodes, tasks := s.cluster, s.workload
	if tasks.slots == 0 && nodes.slots > 0 {
		tasks.slots = nodes.slots // a slot a task, whatever it asks for
	}
	a, err := nodes.open(seed, s.lenient)
	if err != nil || nodes.text == tasks.text {
		return a, err
	}
	b, err := tasks.open(seed, s.lenient)
	if err != nil {
		return opened{}, errors.Join(err, a.Close())
	}
	until := cmp.Or(s.config.Until, b.end, cluster.Never)
	merged, err := trace.Merge(trace.Limit(a, until), trace.Limit(b, until))
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
	if total > 0 && total < 1 {
		return 0, fmt.Errorf("%q is less than a microsecond", text)
	}
	return cluster.Time(math.Round(total)), nil
}
