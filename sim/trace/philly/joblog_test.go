package philly

import (
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// entry is the example in the description of the log.
const entry = `{
    "status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_14199",
    "attempts": [
        {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23", "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}]},
        {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-09 06:53:12", "detail": [{"ip": "m412", "gpus": ["gpu0", "gpu1"]}]}
    ],
    "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c"
}`

// A job of the log works for all of its attempts, on the GPUs of the last.
func TestJobLog(t *testing.T) {
	all, s, err := read(t, " [\n"+entry+`,
		{"status": "Failed", "vc": "a", "jobid": "b", "submitted_time": "2017-10-07 01:11:40", "attempts": [
			{"start_time": "2017-10-07 02:00:00", "end_time": null, "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
			{"start_time": "2017-10-07 02:10:00", "end_time": "2017-10-07 02:20:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu0"]}]},
			{"start_time": "None", "end_time": "None", "detail": []}]},
		{"status": "Killed", "vc": "a", "jobid": "c", "submitted_time": "2017-10-07 01:11:41", "attempts": [
			{"start_time": "2017-10-07 02:00:00", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
		{"status": "Killed", "vc": "a", "jobid": "d", "submitted_time": "2017-10-07 01:11:41", "attempts": []}
	]`, Default())
	if err != nil {
		t.Fatal(err)
	}
	tasks, at := jobs(all)
	const second = cluster.Second
	task := func(job uint64, name, user string, gpus int64, work cluster.Time) trace.Task {
		return trace.Task{Job: job, JobTasks: 1, Name: name, User: user, Demand: cluster.Vector{1000 * gpus}, Work: work}
	}
	want := []trace.Task{
		task(0, "application_1506638472019_14199", "ee9e8c", 2, (74+193_182)*second), task(1, "b", "a", 2, 600*second), task(2, "c", "a", 1, cluster.Never),
	}
	want[1].Fails = true
	if diff := gocmp.Diff(want, tasks); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]cluster.Time{0, second, 2 * second}, at); diff != "" {
		t.Error(diff)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 1 jobs that never began, or had no GPU" {
		t.Error(notes)
	}
}

// What cannot be read is named; a job that is wrong in itself is left out and counted where that is wanted, and nothing else is.
func TestBrokenJobLog(t *testing.T) {
	for _, c := range []struct {
		text, want string
		lenient    bool // it is left out
	}{
		{"[]", "job 1 of the list: want a job", false},
		{"[", "job 1 of the list: want a job", false},
		{"[" + entry, "job 2 of the list: want a job, {\"jobid\": ..., \"attempts\": [...]}, or the end of the list: unexpected EOF", false},
		{"[" + entry + ", 5]", "job 2 of the list: want a job", false},
		{"[" + entry + ", {\"jobid\": \"" + strings.Repeat("x", 2*mostJob) + "\"}]", "job 2 of the list: want a job", false},
		{"[" + strings.Replace(entry, "2017-10-07 01:11:39", "None", 1) + "," + entry + "]", "job 1 of the list, application_1506638472019_14199: want a date in submitted_time", true},
		{"[" + strings.Replace(entry, "01:13:23", "01:12:00", 1) + "," + entry + "]", "want an end_time that is not before its start_time", true},
	} {
		_, _, err := read(t, c.text, Default())
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "philly.csv: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: got %v, want %q", c.text, err, c.want)
		}
		o := Default()
		o.Lenient = true
		all, s, err := read(t, c.text, o)
		if !c.lenient {
			if err == nil {
				t.Errorf("%.80s, lenient: no error", c.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.80s, lenient: %v", c.text, err)
			continue
		}
		if tasks, _ := jobs(all); len(tasks) != 1 {
			t.Errorf("%.80s, lenient: %d tasks", c.text, len(tasks))
		}
		if count, _ := s.Skipped(); count != 1 {
			t.Errorf("%.80s, lenient: skipped %d", c.text, count)
		}
	}
}
