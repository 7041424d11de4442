package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/report/page"
)

func newReport() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "report FILE...",
		Short: "Draw results as one HTML page",
		Long: `Report reads what 'fairlead simulate --output json' printed and draws it: latency,
allocation, backlog, fragmentation, how full the nodes were, and why tasks wait.
Runs of several files stand side by side. The page is one file that needs no
network; without JavaScript it shows the same charts as pictures.

The page goes to the first file's name with .html at its end, or to --output,
and replaces what is there. Its name is printed.`,
		Example: `  fairlead simulate -o json > result.json && fairlead report result.json
  fairlead report monday.json tuesday.json --output week.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			if output == "" {
				output = strings.TrimSuffix(files[0], filepath.Ext(files[0])) + ".html"
			}
			for _, path := range files {
				if filepath.Clean(path) == filepath.Clean(output) {
					return usage(c, fmt.Errorf("--output: %s is to be read; name another file", output))
				}
			}
			results, err := readRuns(files)
			if err != nil {
				return err
			}
			if err := writePage(output, results); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), output)
			return err
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write the page to `FILE` (default: the first file's name, ending in .html)")
	return c
}

// readRuns reads files of results and returns their runs, in order.
func readRuns(files []string) (report.Results, error) {
	var all report.Results
	var errs []error
	for _, path := range files {
		results, err := readRunsOf(path)
		errs = append(errs, err)
		all.Runs = append(all.Runs, results.Runs...)
	}
	return all, errors.Join(errs...)
}

func readRunsOf(path string) (report.Results, error) {
	file, err := os.Open(path)
	if err != nil {
		return report.Results{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	results, err := report.ReadJSON(file)
	switch {
	case err != nil:
		return report.Results{}, fmt.Errorf("%s: %w; want a file that 'fairlead simulate --output json' wrote", path, err)
	case len(results.Runs) == 0:
		return report.Results{}, fmt.Errorf("%s: %w; there is nothing to draw", path, page.ErrNoRuns)
	}
	return results, nil
}

// writePage writes the page of results to path whole or not at all: it becomes
// path only when all of it is on disk. What is no regular file, such as
// /dev/stdout, is written to.
func writePage(path string, results report.Results) error {
	var text bytes.Buffer
	if err := page.Write(&text, results); err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(path, text.Bytes(), 0)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	part := path + ".part"
	//nolint:gosec // pages are to be read by anybody whom the umask lets
	if err := os.WriteFile(part, text.Bytes(), 0o666); err != nil {
		return errors.Join(err, removed(part))
	}
	if err := os.Rename(part, path); err != nil {
		return errors.Join(err, removed(part))
	}
	return nil
}

// removed removes a file that may not be there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
