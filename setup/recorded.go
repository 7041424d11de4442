package setup

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sim"
)

// This file is runs as recordings have them, there and back. A recording stands for itself: its lanes say
// what its core was made of, so that a replay needs no file that the spec names; the spec says how the
// events came to be.

// Header is what a recording of the run says of it; its config is from Config.
func (p *Plan) Header(r *Run, config *sim.Config) (recording.Header, error) {
	if len(config.Typical) > 0 {
		return recording.Header{}, fmt.Errorf("a recording cannot say what tasks of %s typically ask for, by which policies may decide", p.Sources.Workload.Text)
	}
	of := p.Of(r)
	spec, err := of.JSON()
	h := recording.Header{Comment: "fairlead simulate", Spec: spec, Kinds: config.Source.Kinds(), Classes: config.Classes.Rows()}
	if err == nil {
		h.Lanes, err = p.lanes(r)
	}
	return h, err
}

// lanes are those of a run as recordings have them, of which its core is made; see chosen.Make.
func (p *Plan) lanes(r *Run) ([]recording.Lane, error) {
	var lanes []recording.Lane
	for _, q := range p.deciding(r) {
		l, err := q.Lane(p.known, r.Seed, p.config.Classes)
		if err != nil {
			return nil, err
		}
		l.LongRunning = q == p.Spec.LongRunning
		lanes = append(lanes, l)
	}
	return lanes, nil
}

// Recorded is the spec that the header of a recording carries; errors call it name.
func Recorded(name string, h *recording.Header) (Spec, error) {
	if len(h.Spec) == 0 {
		return Spec{}, fmt.Errorf("%s: %w", name, ErrNoSpec)
	}
	return Read(name, h.Spec)
}

// RecordedUntil is when the recorded run ended by its limits.until, in its own time; 0 where it has no such
// limit, or carries no spec. Errors call it name.
func RecordedUntil(name string, h *recording.Header) (cluster.Time, error) {
	spec, err := Recorded(name, h)
	switch {
	case errors.Is(err, ErrNoSpec):
		return 0, nil
	case err != nil || spec.Limits.Until == nil:
		return 0, err
	}
	return spec.ownTime(cluster.Time(*spec.Limits.Until)), nil
}

// ErrNoSpec is about a recording of a real cluster, or an old one.
var ErrNoSpec = errors.New("the recording carries no spec: it is of no simulated run, or older than specs")
