package setup

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is where the input of tasks lies whose source says nothing
// of it. It is written as a SRC is, a name and options.

// DataHelp is what a flag of that name says.
const DataHelp = "give nodes racks and tasks input: `LAYOUT?options`, hdfs, bounded, uniform or skewed, such as 'hdfs?rack=30&replicas=3&block=64MiB&seed=1' or 'skewed?skew=1.04'"

// Data says where the input of tasks lies. The zero value is no data.
type Data struct {
	Text string
	data workload.Data
	own  bool // it names a seed
}

// ParseData reads a layout and its options.
func ParseData(text string) (Data, error) {
	if text == "" {
		return Data{}, nil
	}
	name, query, _ := strings.Cut(text, "?")
	var names []string
	for _, l := range workload.Layouts() {
		names = append(names, string(l))
	}
	if !slices.Contains(names, name) {
		return Data{}, fmt.Errorf("%s: %w", text, nearest.Unknown("layout", name, names))
	}
	known := []string{"rack", "replicas", "block", "seed"}
	d := workload.DefaultData()
	d.Layout = workload.Layout(name)
	if d.Layout == workload.Skewed {
		known = append(known, "skew")
	}
	s, err := parseOptions(URL{Text: text}, query, known)
	if err != nil {
		return Data{}, err
	}
	own := s.values.Has("seed")
	err = errors.Join(
		s.whole("rack", 1, 1_000_000, func(v int64) { d.Rack = int(v) }),
		s.whole("replicas", 1, int64(trace.MostReplicas), func(v int64) { d.Replicas = int(v) }),
		s.bytes("block", workload.MinBlock, workload.MaxBlock, func(v int64) { d.Block = v }),
		s.number("skew", 3, func(v float64) { d.Skew = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { d.Seed = uint64(v) }),
	)
	if err == nil {
		err = d.Validate()
	}
	return Data{text, d, own}, err
}

// bytes hands on the option of that name, a number of bytes such as 64MiB, if it
// is given.
func (s URL) bytes(name string, least, most int64, set func(int64)) error {
	if !s.values.Has(name) {
		return nil
	}
	text := s.values.Get(name)
	digits := strings.TrimRight(text, "KMGTiB")
	shift, known := map[string]int{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[text[len(digits):]]
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || v > most>>shift || v<<shift < least {
		return fmt.Errorf("%s: %s=%s, want %s to %s", s.Text, name, text, inMiB(least), inMiB(most))
	}
	set(v << shift)
	return nil
}

func inMiB(bytes int64) string { return strconv.FormatInt(bytes>>20, 10) + "MiB" }

// On gives the source data, drawn by the run's seed unless it names its own.
func (d Data) On(src trace.Source, seed uint64) (trace.Source, error) {
	if d.Text == "" {
		return src, nil
	}
	if !d.own {
		d.data.Seed = seed
	}
	return workload.WithData(src, d.data)
}
