package setup

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// URLHelp is what SRC stands for in help texts.
func URLHelp() string {
	var b strings.Builder
	b.WriteString("SRC is where nodes or tasks come from. Options stand behind ? and &, or behind commas, which\nmean nothing to a shell: synthetic:google,nodes=20,seed=3. - as FILE is the standard input.\n")
	for _, f := range Formats() {
		b.WriteString(f.Help)
	}
	b.WriteString(`  FILE             Fairlead's own format, JSON lines, perhaps compressed with gzip
  recording:FILE,… or recording:DIR
                   what a scheduler saw and decided; it is replayed as it was, and nothing beside it
Add slots=N to any of them to count slots instead of resources: a node offers N,
a task takes one.`)
	return b.String()
}

// Format is a way to write nodes and tasks down, as a SRC names it. To add one
// takes a file source_NAME.go and a line in Formats.
type Format struct {
	Name    string
	Help    string   // whole lines, as others have them
	options []string // what may stand behind the question mark, besides slots
	// check says what is wrong with the options, before anything is opened.
	check func(URL) error
	open  func(s URL, seed uint64, lenient bool) (trace.Source, error)
	// Write writes a source in the format; what it cannot hold is a loss. It is
	// nil where too little could be held, and Lacks says what.
	Write func(to io.Writer, src trace.Source, losses *trace.Losses) error
	Lacks string
}

// Formats lists the formats that a SRC can name. Without a name it is our own.
func Formats() []Format {
	return []Format{
		syntheticFormat(), google2011Format(), google2019Format(), azure2017Format(), azure2020Format(), openbFormat(), alibaba2018Format(), dlrmFormat(), phillyFormat(), chronusFormat(), heliosFormat(), acmeFormat(), gavelFormat(),
		alibaba2020Format(), alibaba2026Format(), kubernetesFormat(), placeFormat(), qosFormat(), swfFormat(), ecschedFormat(),
	}
}

// FormatNamed returns the format of that name, and false if there is none.
func FormatNamed(name string) (Format, bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// URL is a SRC taken apart. The zero value is none.
type URL struct {
	Text   string
	Format string // empty for our own
	Path   string
	Role   Role
	values url.Values
	slots  int64 // 0: none
	// changes is what is to be different about the cluster of a dump; nil: nothing.
	changes *kubernetes.Changes
	// nodes is the dump of another cluster, on whose nodes the pods of this one are to go; nil: on their own.
	nodes *URL
}

// Role says what of a source is used.
type Role uint8

// The roles.
const (
	Everything Role = iota
	NodesAlone      // another source has the tasks
	TasksAlone      // another source has the nodes
)

// File is what the source reads; empty where it is made up, or none.
func (s URL) File() string {
	if s.Format == synthetic {
		return ""
	}
	return s.Path
}

// ParseURL takes a SRC apart. It opens nothing.
func ParseURL(text string) (URL, error) {
	s := URL{Text: text, Path: text, values: url.Values{}}
	name, rest, named := strings.Cut(text, ":")
	if named && !strings.ContainsAny(name, "/.\\") && len(name) > 1 {
		if name == "recording" {
			return s, fmt.Errorf("%s: a recording holds both nodes and tasks; name it as --workload alone", text)
		}
		if _, ok := FormatNamed(name); !ok {
			var names []string
			for _, f := range Formats() {
				names = append(names, f.Name)
			}
			return s, nearest.Unknown("format", name, names)
		}
		s.Format, s.Path = name, rest
	}
	f, _ := FormatNamed(s.Format)
	known := append(slices.Clone(f.options), "slots")
	var query string
	var marked bool
	if s.Path, query, marked = strings.Cut(s.Path, "?"); !marked {
		s.Path, query = plainOptions(s.Path, known)
	}
	if s.Path == "" {
		return s, fmt.Errorf("%q names nothing to read", text)
	}
	s, err := parseOptions(s, query, known)
	if err == nil && f.check != nil {
		err = f.check(s)
	}
	if err != nil {
		return s, err
	}
	err = s.whole("slots", 1, math.MaxInt32, func(v int64) { s.slots = v })
	return s, err
}

// plainOptions takes options off the end of a path that stand behind commas, google,nodes=20,seed=3, as ? and & mean
// something to shells. What is no option known is of the path, or of the value before it.
func plainOptions(path string, known []string) (rest, query string) {
	parts := strings.Split(path, ",")
	first := -1
	var options []string
	for i, part := range parts {
		name, value, is := strings.Cut(part, "=")
		switch {
		case i > 0 && is && slices.Contains(known, name):
			if first < 0 {
				first = i
			}
			options = append(options, name+"="+url.QueryEscape(value))
		case first >= 0:
			options[len(options)-1] += url.QueryEscape("," + part)
		}
	}
	if first < 0 {
		return path, ""
	}
	return strings.Join(parts[:first], ","), strings.Join(options, "&")
}

// parseOptions reads what stands behind the question mark, of which only what is
// known may be there, and each once.
func parseOptions(s URL, query string, known []string) (URL, error) {
	var err error
	if s.values, err = url.ParseQuery(query); err != nil {
		return s, fmt.Errorf("%s: options: %w", s.Text, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !slices.Contains(known, name) {
			return s, fmt.Errorf("%s: %w", s.Text, nearest.Unknown("option", name, known))
		}
		if times := len(s.values[name]); times != 1 {
			return s, fmt.Errorf("%s: option %s is given %d times", s.Text, name, times)
		}
	}
	return s, nil
}

// number hands on the option of that name, from 0 to most, if it is given.
func (s URL) number(name string, most float64, set func(float64)) error {
	if !s.values.Has(name) {
		return nil
	}
	text := s.values.Get(name)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return fmt.Errorf("%s: %s=%s, want a number from 0 to %.0f", s.Text, name, text, most)
	}
	set(v)
	return nil
}

// whole hands on the option of that name, an integer, if it is given.
func (s URL) whole(name string, least, most int64, set func(int64)) error {
	if !s.values.Has(name) {
		return nil
	}
	text := s.values.Get(name)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < least || v > most {
		return fmt.Errorf("%s: %s=%s, want a whole number from %d to %d", s.Text, name, text, least, most)
	}
	set(v)
	return nil
}

// choice hands on the option of that name, one of some words, if it is given.
func (s URL) choice(name string, words []string, set func(string)) error {
	if !s.values.Has(name) {
		return nil
	}
	text := s.values.Get(name)
	if !slices.Contains(words, text) {
		return fmt.Errorf("%s: %s=%s, want %s", s.Text, name, text, strings.Join(words, " or "))
	}
	set(text)
	return nil
}

// Open opens the source for one run with that seed.
func (s URL) Open(seed uint64, lenient bool) (Opened, error) {
	src, err := s.openFormat(seed, lenient)
	if err != nil {
		return Opened{}, err
	}
	o := Opened{Source: src, readers: []trace.Source{src}}
	if google, ok := src.(*google2011.Source); ok {
		// Machine events go on for weeks after the task events at hand.
		o.End = google.Counts().LastTaskEvent
	}
	if source, ok := src.(trace.EndingSource); ok {
		o.End = source.End()
	}
	if s.slots > 0 {
		o.Source = trace.Slots(src, s.slots)
	}
	return o, nil
}

func (s URL) openFormat(seed uint64, lenient bool) (trace.Source, error) {
	if f, ok := FormatNamed(s.Format); ok {
		return f.open(s, seed, lenient)
	}
	if info, err := os.Stat(s.Path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; for Google's traces write google2011:%[1]s or google2019:%[1]s", s.Path)
	}
	return stream.Open(s.Path, stream.Options{Lenient: lenient})
}
