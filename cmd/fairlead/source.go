package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
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
	"fairlead.dev/fairlead/sim/trace/stream"
)

// sourceHelp is what SRC stands for in help texts.
func sourceHelp() string {
	var b strings.Builder
	b.WriteString("SRC is where nodes or tasks come from:\n")
	for _, f := range formats() {
		b.WriteString(f.help)
	}
	b.WriteString(`  FILE             Fairlead's own format, JSON lines, perhaps compressed with gzip
  recording:FILE,… or recording:DIR
                   what a scheduler saw and decided; it is replayed as it was, and nothing beside it
Add slots=N to any of them to count slots instead of resources: a node offers N,
a task takes one.`)
	return b.String()
}

// format is a way to write nodes and tasks down, as a SRC names it. To add one
// takes a file source_NAME.go and a line in formats.
type format struct {
	name    string
	help    string   // whole lines, as others have them
	options []string // what may stand behind the question mark, besides slots
	// check says what is wrong with the options, before anything is opened.
	check func(sourceSpec) error
	open  func(s sourceSpec, seed uint64, lenient bool) (trace.Source, error)
	// write writes a source in the format; what it cannot hold is a loss. It is
	// nil where too little could be held, and lacks says what.
	write func(to io.Writer, src trace.Source, losses *trace.Losses) error
	lacks string
}

// formats lists the formats that a SRC can name. Without a name it is our own.
func formats() []format {
	return []format{
		syntheticFormat(), google2011Format(), openbFormat(), dlrmFormat(), kubernetesFormat(), placeFormat(), qosFormat(), swfFormat(), ecschedFormat(),
	}
}

// formatNamed returns the format of that name, and false if there is none.
func formatNamed(name string) (format, bool) {
	for _, f := range formats() {
		if f.name == name {
			return f, true
		}
	}
	return format{}, false
}

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

// parseSource takes a SRC apart. It opens nothing.
func parseSource(text string) (sourceSpec, error) {
	s := sourceSpec{text: text, path: text, values: url.Values{}}
	name, rest, named := strings.Cut(text, ":")
	if named && !strings.ContainsAny(name, "/.\\") && len(name) > 1 {
		if name == "recording" {
			return s, fmt.Errorf("%s: a recording holds both nodes and tasks; name it as --workload alone", text)
		}
		if _, ok := formatNamed(name); !ok {
			var names []string
			for _, f := range formats() {
				names = append(names, f.name)
			}
			return s, unknown("format", name, names)
		}
		s.format, s.path = name, rest
	}
	var query string
	s.path, query, _ = strings.Cut(s.path, "?")
	if s.path == "" {
		return s, fmt.Errorf("%q names nothing to read", text)
	}
	f, _ := formatNamed(s.format)
	s, err := parseOptions(s, query, append(slices.Clone(f.options), "slots"))
	if err == nil && f.check != nil {
		err = f.check(s)
	}
	if err != nil {
		return s, err
	}
	err = s.whole("slots", 1, math.MaxInt32, func(v int64) { s.slots = v })
	return s, err
}

// parseOptions reads what stands behind the question mark, of which only what is
// known may be there, and each once.
func parseOptions(s sourceSpec, query string, known []string) (sourceSpec, error) {
	var err error
	if s.values, err = url.ParseQuery(query); err != nil {
		return s, fmt.Errorf("%s: options: %w", s.text, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(known, name) {
			return s, fmt.Errorf("%s: %w", s.text, unknown("option", name, known))
		}
		if times := len(s.values[name]); times != 1 {
			return s, fmt.Errorf("%s: option %s is given %d times", s.text, name, times)
		}
	}
	return s, nil
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

// open opens the source for one run with that seed.
func (s sourceSpec) open(seed uint64, lenient bool) (opened, error) {
	src, err := s.openFormat(seed, lenient)
	if err != nil {
		return opened{}, err
	}
	o := opened{Source: src, readers: []trace.Source{src}}
	if google, ok := src.(*google2011.Source); ok {
		// Machine events go on for weeks after the task events at hand.
		o.end = google.Counts().LastTaskEvent
	}
	if source, ok := src.(trace.EndingSource); ok {
		o.end = source.End()
	}
	if s.slots > 0 {
		o.Source = trace.Slots(src, s.slots)
	}
	return o, nil
}

func (s sourceSpec) openFormat(seed uint64, lenient bool) (trace.Source, error) {
	if f, ok := formatNamed(s.format); ok {
		return f.open(s, seed, lenient)
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
		return opened{}, errors.Join(agreeing(err, nodes, tasks), a.Close(), b.Close())
	}
	return opened{Source: merged, readers: append(a.readers, b.readers...), end: b.end}, nil
}

// openAll opens the cluster and the workload, and the tasks that come beside those, as
// one source.
func (s *simulation) openAll(seed uint64) (opened, error) {
	a, err := s.openBoth(seed)
	if err != nil || s.beside.text == "" {
		return a, err
	}
	b, err := s.beside.open(seed, s.lenient)
	if err != nil {
		return opened{}, errors.Join(err, a.Close())
	}
	until := cmp.Or(s.config.Until, cluster.Never)
	all, err := trace.Beside(trace.Limit(a, until), trace.Limit(b, until))
	if err != nil {
		return opened{}, errors.Join(agreeing(err, s.cluster, s.workload, s.beside), a.Close(), b.Close())
	}
	return opened{Source: all, readers: append(a.readers, b.readers...), end: max(a.end, b.end)}, nil
}

// parseTime reads a duration such as 90s, 10m, 2h, 29d or 1d12h.
func parseTime(text string) (cluster.Time, error) {
	units := map[string]cluster.Time{"us": cluster.Microsecond, "µs": cluster.Microsecond, "ms": cluster.Millisecond, "s": cluster.Second, "m": cluster.Minute, "h": cluster.Hour, "d": cluster.Day}
	total, rest := 0.0, text
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if digits <= 0 {
			return 0, fmt.Errorf("%q is not a time; write 90s, 10m, 2h, 29d or 1h30m", text)
		}
		value, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a time: %w", text, err)
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
		return 0, fmt.Errorf("%q is not a time; write 90s, 10m, 2h, 29d or 1h30m", text)
	}
	if total > 0 && total < 1 {
		return 0, fmt.Errorf("%q is less than a microsecond", text)
	}
	return cluster.Time(math.Round(total)), nil
}
