package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/setup"
)

// This file replays and describes recordings of real clusters. Their nodes,
// tasks, times and policies are what they were; there is nothing to choose.

// recordingFiles returns the files that a SRC such as recording:DIR names, and
// false if it names no recording.
func recordingFiles(text string) (files []string, is bool, err error) {
	paths, is := strings.CutPrefix(text, "recording:")
	if !is {
		return nil, false, nil
	}
	for path := range strings.SplitSeq(paths, ",") {
		if path == "" {
			return nil, true, fmt.Errorf("%q names nothing to read; write recording:FILE, recording:FILE,FILE or recording:DIR", text)
		}
		more, err := recording.Files(path)
		if siblings := runsOf(path); errors.Is(err, fs.ErrNotExist) && len(siblings) > 0 {
			err = fmt.Errorf("%s is not there; each of its runs has a folder of its own: %s; name one of them", path, strings.Join(siblings, ", "))
		}
		if err == nil && len(more) == 0 {
			err = fmt.Errorf("%s holds no recording: looked for recording-NNNNNN.jsonl.zst", path)
		}
		if err != nil {
			return nil, true, err
		}
		files = append(files, more...)
	}
	return files, true, nil
}

// runsOf are the folders of the runs that were recorded with --record and that path, DIR.POLICY.SEED.
func runsOf(path string) (folders []string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if is && e.IsDir() && strings.Contains(rest, ".") {
			folders = append(folders, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return folders
}

// recordingFlags are the files of the recording that the flags name, and the policy that they ask for, which
// may be empty. Other flags than the sensible make no sense beside it.
func recordingFlags(c *cobra.Command, sensible ...string) (files []string, policy string, err error) {
	text := func(flag string) string { return c.Flags().Lookup(flag).Value.String() }
	if nodes := text("cluster"); nodes != "" && nodes != text("workload") {
		return nil, "", usage(c, errors.New("--cluster: a recording holds both nodes and tasks; name it as --workload alone"))
	}
	if err := checkRecordingFlags(c, sensible...); err != nil {
		return nil, "", usage(c, err)
	}
	if c.Flags().Changed("policy") {
		policy = text("policy")
	}
	if files, _, err = recordingFiles(text("workload")); err != nil {
		err = fmt.Errorf("--workload: %w", err)
	}
	return files, policy, err
}

// checkRecordingFlags says which of the given flags make no sense beside a
// recording.
func checkRecordingFlags(c *cobra.Command, sensible ...string) error {
	var errs []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(sensible, f.Name) {
			errs = append(errs, fmt.Errorf("--%s makes no sense beside a recording, which says itself what happened and how it was decided; leave it out", f.Name))
		}
	})
	return errors.Join(errs...)
}

// replayAll replays the files one after the other, and says what it found. A
// difference is an error.
func replayAll(out io.Writer, files []string, by replayer) error {
	decisions := 0
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		result, err := recording.Replay(in, file, by.policyOf)
		if err := errors.Join(hinted(err), in.Close()); err != nil {
			return err
		}
		if err := describeRecording(out, file, &result); err != nil {
			return err
		}
		if result.Difference != nil {
			return fmt.Errorf("the replay decides differently; %d calls before this one decided alike\n%s", result.Calls-1, result.Difference.Text(report.Printable))
		}
		decisions += result.Decisions()
	}
	_, err := fmt.Fprintf(out, "all %s decisions identical\n", report.Grouped(decisions))
	return err
}

// hinted says what a recording looks like to whoever names something else.
func hinted(err error) error {
	if errors.Is(err, zstd.ErrMagicMismatch) {
		return fmt.Errorf("%w; want a recording, recording-NNNNNN.jsonl.zst; a workload is named without 'recording:'", err)
	}
	return err
}

// replayer makes the policies of a recording.
type replayer struct {
	known  policies.List
	wanted string // the policy that it is to have; empty: any
}

// policyOf makes the policy of a lane of what the header says of it.
func (r replayer) policyOf(l recording.Lane) (sched.Policy, error) {
	if wanted := r.wanted; wanted != "" && wanted != l.Policy && !l.LongRunning {
		return nil, fmt.Errorf("it was recorded with policy %s, and --policy says %s; leave --policy out, or simulate a trace to compare policies", report.Printable(l.Policy), wanted)
	}
	p, err := chosen.Make(r.known, &l, policies.Options{Racer: again(l.Races), Programs: ilp.UpTo{Solver: newLazily(), More: l.Answers.Ask}})
	if err != nil { // it may name what the header says
		return nil, errors.New(report.Printable(err.Error()))
	}
	return p, nil
}

// again makes solvers that race as it was recorded.
func again(races *recording.Races) func(*mcmf.Graph) flow.Solver {
	return func(g *mcmf.Graph) flow.Solver {
		return race.Again{Solver: race.New(g, mcmf.CostScaling), Next: races.Next}
	}
}

// describeLane says who decides in a lane, and for whom.
func describeLane(l *recording.Lane) string {
	parts := []string{"policy " + l.Policy, fmt.Sprint("seed ", l.Seed)}
	for _, name := range slices.Sorted(maps.Keys(l.Options)) {
		parts = append(parts, strings.ReplaceAll(name, "_", "-")+" "+l.Options[name])
	}
	if l.Heartbeat > 0 {
		parts = append(parts, fmt.Sprint("heartbeat ", setup.Time(l.Heartbeat)))
	}
	if l.Watchdog > 0 {
		parts = append(parts, fmt.Sprint("watchdog ", setup.Time(l.Watchdog)))
	}
	if l.User != "" {
		parts = append(parts, "jobs of user "+l.User)
	}
	if l.LongRunning {
		parts = append(parts, "long-running applications alone")
	}
	return strings.Join(parts, ", ")
}

// recordedSpec is the spec of the run that was recorded in the files.
func recordedSpec(files []string) (*setup.Spec, error) {
	var spec setup.Spec
	var text []byte
	for i, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		r, err := recording.NewReader(in, file)
		if err == nil {
			if spec, err = setup.Recorded(file, r.Header()); err == nil && i > 0 && !bytes.Equal(text, r.Header().Spec) {
				err = fmt.Errorf("%s and %s are of different runs; name one of them", files[0], file)
			}
			text = r.Header().Spec
			r.Close()
		}
		if err := errors.Join(hinted(err), in.Close()); err != nil {
			return nil, err
		}
	}
	return &spec, nil
}

// describeAll sums recordings up without replaying them, unless they were not
// found.
func describeAll(c *cobra.Command, files []string, missing error) error {
	if missing != nil {
		return missing
	}
	if err := checkRecordingFlags(c); err != nil {
		return usage(c, err)
	}
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		result, err := recording.Describe(in, file)
		if err := errors.Join(hinted(err), in.Close()); err != nil {
			return err
		}
		if err := describeRecording(c.OutOrStdout(), file, &result); err != nil {
			return err
		}
	}
	return nil
}

// describeRecording prints what is in a file as two columns.
func describeRecording(out io.Writer, file string, r *recording.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, a ...any) {
		fmt.Fprintf(w, "%s\t%s\n", report.Printable(name), report.Printable(fmt.Sprintf(format, a...)))
	}
	line("recording", "%s", file)
	if r.Header.Comment != "" {
		line("comment", "%s", r.Header.Comment)
	}
	span := report.ShortTime(r.Last - r.First)
	if !r.Header.Origin.IsZero() {
		span += ", from " + r.Header.Origin.Add(time.Duration(r.First)*time.Microsecond).Format(time.RFC3339)
	}
	line("span", "%s", span)
	spec, err := setup.Recorded(file, &r.Header)
	if err != nil && !errors.Is(err, setup.ErrNoSpec) { // without one the lanes say all there is
		line("spec", "cannot be read: %v", err)
	} else if err == nil {
		from := spec.Source
		for _, src := range []struct{ name, text string }{{"cluster", from.Cluster}, {"workload", from.Workload}, {"beside", from.Beside}, {"data", from.Data}} {
			if src.text != "" {
				line(src.name, "%s", src.text)
			}
		}
	}
	for _, l := range r.Header.Lanes {
		line("lane "+l.Name, "%s", describeLane(&l))
	}
	var kinds []string
	for _, k := range r.Header.Kinds {
		kinds = append(kinds, k.Name)
	}
	line("kinds", "%s", strings.Join(kinds, ", "))
	line("events", "%s in %s calls; %s nodes added, %s tasks submitted", report.Grouped(r.Events), report.Grouped(r.Calls), report.Grouped(r.Nodes), report.Grouped(r.Tasks))
	decisions := fmt.Sprintf("%s placements, %s evictions", report.Grouped(r.Placements), report.Grouped(r.Evictions))
	if r.Resizes > 0 {
		decisions += fmt.Sprintf(", %s resizes", report.Grouped(r.Resizes))
	}
	if r.Ends > 0 {
		decisions += fmt.Sprintf(", %s copies ended", report.Grouped(r.Ends))
	}
	line("decisions", "%s", decisions)
	if r.Wrong > 0 {
		line("wrong", "%s calls with events that made no sense, then as now", report.Grouped(r.Wrong))
	}
	if r.Cut != "" {
		line("cut", "%s; what stands before is good", r.Cut)
	}
	return w.Flush()
}
