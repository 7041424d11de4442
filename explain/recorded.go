package explain

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file brings a recording to its moment.

// Replay replays the one of the files that holds the moment up to it. Build makes policies of what the
// header says of a lane, as chosen.Make does. Until says of a file and its header up to when the run went
// on, as setup.RecordedUntil does; 0 is that nobody knows, and then its last call is the end.
func Replay(
	files []string, at cluster.Time,
	build func(recording.Lane) (sched.Policy, error), until func(string, *recording.Header) (cluster.Time, error),
) (*Moment, error) {
	file, err := fileAt(files, at, until)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	result, core, err := recording.ReplayTo(in, file, at, build)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	if result.Difference != nil {
		return nil, fmt.Errorf("the replay decides differently, so that there is nothing to explain\n%s", result.Difference.Text(report.Printable))
	}
	var lanes []Lane
	for _, l := range result.Header.Lanes {
		l.Races, l.Answers = new(recording.Races), new(recording.Answers) // nobody wrote down a race of one that is only asked
		fresh, err := build(l)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, Lane{l.Policy, fresh})
	}
	return New(core, at, lanes, Who{})
}

// fileAt is the one file that holds the moment. Each file is an epoch that counts its
// time by itself.
func fileAt(files []string, at cluster.Time, until func(string, *recording.Header) (cluster.Time, error)) (string, error) {
	var holding, spans []string
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return "", err
		}
		result, err := recording.Describe(in, file)
		if err := errors.Join(err, in.Close()); err != nil {
			return "", err
		}
		end := result.Last
		if at > end && result.Cut == "" { // of what is missing at the end of a cut one nobody knows
			limit, err := until(file, &result.Header)
			if err != nil {
				return "", err
			}
			end = max(end, limit)
		}
		if result.First <= at && at <= end {
			holding = append(holding, file)
		}
		spans = append(spans, fmt.Sprintf("%s from %s to %s", file, report.ShortTime(result.First), report.ShortTime(end)))
	}
	switch len(holding) {
	case 1:
		return holding[0], nil
	case 0:
		return "", QuestionError{"at", fmt.Errorf("nothing is recorded of %s; there is %s", report.ShortTime(at), strings.Join(spans, ", "))}
	}
	return "", QuestionError{"at", fmt.Errorf("%s is in %d files, which count their time each for itself; name one of them: %s", report.ShortTime(at), len(holding), strings.Join(holding, ", "))}
}
