package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
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
func replayAll(out io.Writer, files []string, wanted string) error {
	decisions := 0
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		result, err := recording.Replay(in, file, func(l recording.Lane) (sched.Policy, error) { return policyOf(l, wanted) })
		if err := errors.Join(hinted(err), in.Close()); err != nil {
			return err
		}
		if err := describeRecording(out, file, &result); err != nil {
			return err
		}
		if result.Difference != nil {
			return fmt.Errorf("the replay decides differently; %d calls before this one decided alike\n%v", result.Calls-1, result.Difference)
		}
		decisions += result.Decisions()
	}
	_, err := fmt.Fprintf(out, "all %s decisions identical\n", grouped(decisions))
	return err
}

// hinted says what a recording looks like to whoever names something else.
func hinted(err error) error {
	if errors.Is(err, zstd.ErrMagicMismatch) {
		return fmt.Errorf("%w; want a recording, recording-NNNNNN.jsonl.zst; a workload is named without 'recording:'", err)
	}
	return err
}

// policyOf makes the policy of a lane of what the header says of it.
func policyOf(l recording.Lane, wanted string) (sched.Policy, error) {
	if wanted != "" && wanted != l.Policy {
		return nil, fmt.Errorf("it was recorded with policy %s, and --policy says %s; leave --policy out, or simulate a trace to compare policies", l.Policy, wanted)
	}
	options := policies.Options{Seed: l.Seed, Solver: l.Solver, Migrations: l.Migrations, Racer: again(l.Races), Programs: newLazily()}
	if l.Ties != "" {
		var err error
		if options.Ties, err = policies.ParseTies(l.Ties); err != nil {
			return nil, err
		}
	}
	var err error
	if options.SLA.Criteria, err = criteriaOf(l.Criteria); err != nil {
		return nil, err
	}
	return policies.New(l.Policy, options)
}

// criteriaOf is what the policy sla ordered its queue by; nil where that was its own.
func criteriaOf(recorded []recording.Criterion) ([]promethee.Criterion, error) {
	var criteria []promethee.Criterion
	for _, r := range recorded {
		function, err := promethee.ParseFunction(r.Function)
		if err != nil {
			return nil, err
		}
		criteria = append(criteria, promethee.Criterion{Weight: r.Weight, Function: function, Indifference: r.Indifference, Preference: r.Preference})
	}
	return criteria, nil
}

// again makes solvers that race as it was recorded.
func again(races *recording.Races) func(*mcmf.Graph) flow.Solver {
	return func(g *mcmf.Graph) flow.Solver {
		return race.Again{Solver: race.New(g, mcmf.CostScaling), Next: races.Next}
	}
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
	line := func(name, format string, a ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", a...) }
	line("recording", "%s", file)
	if r.Header.Comment != "" {
		line("comment", "%s", r.Header.Comment)
	}
	span := short(r.Last - r.First)
	if !r.Header.Origin.IsZero() {
		span += ", from " + r.Header.Origin.Add(time.Duration(r.First)*time.Microsecond).Format(time.RFC3339)
	}
	line("span", "%s", span)
	for _, l := range r.Header.Lanes {
		line("lane "+l.Name, "policy %s, seed %d, tie-break %s", l.Policy, l.Seed, l.Ties)
	}
	var kinds []string
	for _, k := range r.Header.Kinds {
		kinds = append(kinds, k.Name)
	}
	line("kinds", "%s", strings.Join(kinds, ", "))
	line("events", "%s in %s calls; %s nodes added, %s tasks submitted", grouped(r.Events), grouped(r.Calls), grouped(r.Nodes), grouped(r.Tasks))
	decisions := fmt.Sprintf("%s placements, %s evictions", grouped(r.Placements), grouped(r.Evictions))
	if r.Resizes > 0 {
		decisions += fmt.Sprintf(", %s resizes", grouped(r.Resizes))
	}
	if r.Ends > 0 {
		decisions += fmt.Sprintf(", %s copies ended", grouped(r.Ends))
	}
	line("decisions", "%s", decisions)
	if r.Wrong > 0 {
		line("wrong", "%s calls with events that made no sense, then as now", grouped(r.Wrong))
	}
	if r.Cut != "" {
		line("cut", "%s; what stands before is good", r.Cut)
	}
	return w.Flush()
}

// grouped prints a number with commas between its thousands.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
