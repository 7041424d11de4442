package setup

import (
	"errors"
	"fmt"
	"math"
	"os"

	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/unpack"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/place"
)

// placeFormat is the file of fairlead place as a workload of long-running applications.
func placeFormat() Format {
	return Format{
		Name:  "place",
		Lacks: "work that ends, users, priorities, kills, or nodes that come and go",
		Help: `  place:FILE?together=40&every=10s&priority=11
                   the file of 'fairlead place': its nodes, constraints, and applications,
                   which do not end; those to be placed come all at once, or so many at a time
`,
		options: []string{"together", "every", "priority"},
		check:   func(s URL) error { _, err := s.place(); return err },
		open: func(s URL, _ uint64, _ bool) (trace.Source, error) {
			o, err := s.place()
			if err != nil {
				return nil, err
			}
			if s.Role == TasksAlone {
				return nil, fmt.Errorf("%s: its applications stand on its own nodes; name it as --cluster or --workload alone, and what else is to run as --beside", s.Text)
			}
			return openPlace(s.Path, o)
		},
	}
}

// place are the options of place.
func (s URL) place() (place.Options, error) {
	o := place.Options{Priority: place.DefaultPriority}
	err := errors.Join(
		s.whole("together", 1, math.MaxInt32, func(v int64) { o.Together = int(v) }),
		s.whole("priority", math.MinInt32, math.MaxInt32, func(v int64) { o.Priority = int32(v) }),
	)
	if err == nil && s.values.Has("every") {
		o.Every, err = ParseTime(s.values.Get("every"))
		err = s.named(err)
	}
	if err == nil && (o.Together > 0) != (o.Every > 0) {
		err = fmt.Errorf("%s: together and every go together: so many applications at a time, so long after one another", s.Text)
	}
	return o, err
}

// placed is the workload with what its file was found to say.
type placed struct {
	*place.Source
	notes []string
}

// Notes are what was not understood of manifests, and warnings of constraints.
func (p placed) Notes() []string { return p.notes }

func openPlace(path string, o place.Options) (trace.Source, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	unpacked, err := unpack.Reader(file)
	var text []byte
	if err == nil {
		text, err = document.ReadAll(unpacked)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r, notes, err := request.ReadAll([]request.File{{Name: path, Text: text}})
	if err != nil {
		return nil, err
	}
	warnings, err := r.Contradictions()
	if err != nil {
		return nil, err
	}
	for _, warning := range append(warnings, r.Warnings()...) {
		notes = append(notes, "warning: "+warning)
	}
	return placed{place.New(r, o), notes}, nil
}
