package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/unpack"
	"fairlead.dev/fairlead/report"
)

// The command compare: result files in, differences out. What is said about
// them is in package report.

func newCompare() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare FILE... | DIR",
		Short: "Say what differs between results, and whether it is more than chance",
		Long: `Compare reads results that simulate wrote with -o json, and holds each policy,
set-up or file against the first one, metric by metric. Runs that differ in
their seed alone are samples of the same thing: with several seeds a verdict
says where a difference is more than the chance of the seeds. With the same
seeds on both sides, differences are taken seed by seed.

One file holds several policies, or each file holds one; two files of the same
set-up, such as before and after a change, are told apart by their names. - is
the standard input; what begins like gzip is unpacked. Runs that were interrupted are left out.
A folder is that of a sweep, all of whose runs are read.`,
		Example: `  fairlead simulate --policy kube,random --seeds 1-5 -o json > both.json
  fairlead compare both.json
  fairlead compare before.json after.json
  fairlead sweep study.yaml && fairlead compare study
  fairlead compare both.json --base random --all
  fairlead simulate --policy kube,random -o json | fairlead compare - -o csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			format, err := f.check(args)
			if err != nil {
				return usage(c, err)
			}
			files, err := readResults(args, c.InOrStdin())
			if err != nil {
				return err
			}
			compared, err := report.Compare(files, f.base)
			if base, ok := errors.AsType[report.UnknownBaseError](err); ok {
				return usage(c, fmt.Errorf("--base: %w", unknown("base", base.Base, base.Names)))
			}
			if err != nil {
				return err
			}
			return report.WriteComparison(c.OutOrStdout(), format, compared, f.all)
		},
	}
	s := c.Flags()
	s.StringVar(&f.base, "base", "", "`NAME` of what the others are compared with, as the table calls it (default: the first)")
	s.StringVarP(&f.format, "output", "o", "table", "table, json or csv")
	s.BoolVar(&f.all, "all", false, "print the metrics that are the same too; json and csv always do")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "csv"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// compareFlags are the flags of compare as they were typed.
type compareFlags struct {
	base, format string
	all          bool
}

// check says what is wrong with the command line.
func (f *compareFlags) check(paths []string) (report.Format, error) {
	var errs []error
	seen := map[string]bool{}
	for _, path := range paths {
		if path != "-" {
			path = filepath.Clean(path)
		}
		if seen[path] {
			errs = append(errs, fmt.Errorf("%s is named twice", inputName(path)))
		}
		seen[path] = true
	}
	format, err := report.ParseFormat(f.format)
	if err != nil {
		errs = append(errs, fmt.Errorf("--output: %w", err))
	}
	return format, errors.Join(errs...)
}

// readResults reads result files, or says what is wrong with each.
func readResults(paths []string, stdin io.Reader) ([]report.File, error) {
	var files []report.File
	var errs []error
	names := fileNames(paths)
	for i, path := range paths {
		if set := setIn(path); set != "" {
			runs, err := readSet(set, names[i])
			files, errs = append(files, runs...), append(errs, err)
			continue
		}
		in, err := openInput(path, stdin)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		text, err := unpack.Reader(in)
		var results report.Results
		if err == nil {
			results, err = readJSON(text)
		}
		if err := errors.Join(err, in.Close()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w; want what fairlead simulate -o json writes", inputName(path), err))
		}
		files = append(files, report.File{Name: names[i], Runs: results.Runs})
	}
	return files, errors.Join(errs...)
}

// mostResults is how many bytes of results are read of a file; they have 131,072 runs at most.
const mostResults = 1 << 30

// readJSON reads results, of an input that may have no end.
func readJSON(in io.Reader) (report.Results, error) {
	text, err := document.ReadUpTo(in, mostResults)
	if err != nil {
		return report.Results{}, err
	}
	return report.ReadJSON(bytes.NewReader(text))
}

// fileNames are what tables call files: the last part of each path, or the
// paths where two have the same.
func fileNames(paths []string) []string {
	var names []string
	seen := map[string]bool{}
	for _, path := range paths {
		name := inputName(path)
		if path != "-" {
			name = filepath.Base(path)
		}
		if seen[name] {
			return paths
		}
		seen[name] = true
		names = append(names, name)
	}
	return names
}
