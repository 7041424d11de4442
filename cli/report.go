package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/report/page"
)

// newReport is fairlead report: results that were printed before, as a page; and what a shadow found.
func newReport(known policies.List) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "report FILE... | recording:DIR",
		Short: "Draw results as one HTML page, or compare a shadow with whom it watched",
		Long: `Report reads what 'fairlead simulate --output json' printed and draws it: latency,
allocation, backlog, fragmentation, how full the nodes were, and why tasks wait.
Runs of several files stand side by side; - is the standard input, and what begins
like gzip is unpacked, and a folder is that of a sweep. The page is one file that needs no
network; without JavaScript it shows the same charts as pictures.

The page goes to the first file's name with .html at its end, or to --output,
and replaces what is there. Its name is printed; with --output - the page itself is printed.

Of recording:DIR, the recording of a shadow (fairlead-scheduler with mode: shadow), it prints what the
shadow decided beside what the other scheduler did, after a replay; with --output FILE that
goes there as JSON.`,
		Example: `  fairlead simulate -o json > result.json && fairlead report result.json
  fairlead report monday.json tuesday.json --output week.html
  fairlead report recording:/var/lib/fairlead/recording`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			recorded, is, err := recordingFiles(files[0])
			switch {
			case !is:
				return reportResults(c, path, files)
			case err == nil && len(files) > 1:
				err = usage(c, fmt.Errorf("%s: a recording is reported by itself; name its files as recording:FILE,FILE", report.Printable(files[1])))
			}
			if err != nil {
				return err
			}
			return reportShadow(c.OutOrStdout(), path, recorded, replayer{known: known})
		},
	}
	c.Flags().StringVarP(&path, "output", "o", "", "write the page to `FILE` (default: the first file's name, ending in .html)")
	_ = c.Flags().MarkShorthandDeprecated("output", "-o is a format everywhere else; write --output")
	return c
}

// reportResults draws results as a page, at the path or at one that is called after the first file.
func reportResults(c *cobra.Command, path string, files []string) error {
	switch {
	case path != "":
	case files[0] == "-" || filepath.Clean(files[0]) == ".":
		path = "report.html"
	default:
		path = strings.TrimSuffix(strings.TrimRight(files[0], "/"), ".gz")
		path = strings.TrimSuffix(path, filepath.Ext(path)) + ".html"
	}
	var inputs []named
	for _, file := range files {
		inputs = append(inputs, named{path: file})
	}
	if err := checkOutputs(inputs, []named{{"output", path}}); err != nil {
		return usage(c, err)
	}
	results, err := readResults(files, c.InOrStdin())
	if err != nil {
		return err
	}
	for _, file := range results {
		if len(file.Runs) == 0 {
			return fmt.Errorf("%s: %w; there is nothing to draw", file.Name, page.ErrNoRuns)
		}
	}
	if len(results) == 1 {
		results[0].Name = "" // which tells nothing apart
	}
	drawn, err := createOutput(path, c.OutOrStdout())
	if err != nil {
		return err
	}
	if err := writePage(drawn, results); err != nil || path == "-" {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), path)
	return err
}

// writePage draws files and finishes the output, or gives it up.
func writePage(o *output, files []report.File) error {
	if err := page.Write(o, files); err != nil {
		return errors.Join(err, o.Discard())
	}
	return o.Commit()
}
