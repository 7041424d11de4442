package cli

import (
	"errors"
	"io"
	"os"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/timeline"
)

// This file writes timelines of runs and of recordings.

// drawTimeline has the calls of a run drawn, beside whoever else hears of them. What is returned ends the timeline.
func drawTimeline(to io.Writer, config *sim.Config) (end func() error) {
	var name func(cluster.TaskID) string
	t := timeline.New(to, config.Source.Kinds(), func(id cluster.TaskID) string { return name(id) })
	other, last := config.Calls, cluster.Time(0)
	config.Calls = func(c sim.Call) {
		if other != nil {
			other(c)
		}
		name, last = c.Name, c.At
		t.Call(timeline.Call{
			At: c.At, Lane: c.Lane, Begins: c.Kind == sim.Begin || c.Kind == sim.Step, Ends: c.Kind == sim.Finish || c.Kind == sim.Step, In: c.In, Out: c.Out,
		})
	}
	finished := config.Finished
	config.Finished = func(e sim.Ending) {
		last = max(last, e.Core.View().Now())
		if finished != nil {
			finished(e)
		}
	}
	return func() error { return t.Close(last) }
}

// drawRecording draws the files of a recording, one after the other.
func drawRecording(path string, files []string) error {
	out, err := createOutput(path, nil)
	if err != nil {
		return err
	}
	var t *timeline.Timeline
	last := cluster.Time(0)
	for _, file := range files {
		if last, err = followRecording(out, &t, file); err != nil {
			return errors.Join(err, out.Discard())
		}
	}
	if err := t.Close(last); err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Commit()
}

// followRecording draws a file, in a timeline that the first of them begins, and returns when it ends.
func followRecording(out *output, t **timeline.Timeline, file string) (last cluster.Time, err error) {
	in, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	r, err := recording.NewReader(in, file)
	if err != nil {
		return 0, hinted(err)
	}
	defer r.Close()
	if *t == nil {
		*t = timeline.New(out, r.Header().Kinds, nil)
	}
	(*t).Anew()
	for {
		c, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return last, nil
		case err != nil:
			return last, err
		}
		last = c.At
		(*t).Call(timeline.Call{
			At: c.At, Lane: c.Lane, Begins: c.Kind == recording.Begin || c.Kind == recording.Step, Ends: c.Kind == recording.Finish || c.Kind == recording.Step,
			In: c.In, Out: c.Out,
		})
	}
}
