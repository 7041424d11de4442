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
Runs of several files stand side by side; - is the standard input. The page is one file that needs no
network; without JavaScript it shows the same charts as pictures.

The page goes to the first file's name with .html at its end, or to --output,
and replaces what is there. Its name is printed.`,
		Example: `  fairlead simulate -o json > result.json && fairlead report result.json
  fairlead report monday.json tuesday.json --output week.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			if output == "" && files[0] == "-" {
				output = "report.html"
			}
			if output == "" {
				output = strings.TrimSuffix(files[0], filepath.Ext(files[0])) + ".html"
			}
			for _, path := range files {
				if filepath.Clean(path) == filepath.Clean(output) {
					return usage(c, fmt.Errorf("--output: %s is to be read; name another file", output))
				}
			}
			results, err := readResults(files, c.InOrStdin())
			if err != nil {
				return err
			}
			for i, file := range results {
				if len(file.Runs) == 0 {
					return fmt.Errorf("%s: %w; there is nothing to draw", inputName(files[i]), page.ErrNoRuns)
				}
			}
			if len(results) == 1 {
				results[0].Name = "" // which tells nothing apart
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

// writePage writes the page of files to path whole or not at all: it becomes
// path only when all of it is on disk. What is no regular file, such as
// /dev/stdout, is written to.
func writePage(path string, files []report.File) error {
	var text bytes.Buffer
	if err := page.Write(&text, files); err != nil {
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
