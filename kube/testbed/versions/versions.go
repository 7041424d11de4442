// Package versions makes a table of what works on which Kubernetes out of what `go test -json` said on each: no line of it is written by hand.
package versions

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Feature is what a user asks of a scheduler, and the tests that try it.
type Feature struct {
	Name  string
	Tests []string
}

//go:embed features.txt
var featuresFile string

// Features are the rows of the table.
func Features() ([]Feature, error) {
	var all []Feature
	for line := range strings.Lines(featuresFile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, tests, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("features.txt: %q names no tests", line)
		}
		all = append(all, Feature{Name: name, Tests: strings.Fields(tests)})
	}
	return all, nil
}

// Pattern selects these tests, as the flag -run of go test.
func Pattern(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// Tests are those of all features.
func Tests(all []Feature) []string {
	var tests []string
	for _, f := range all {
		tests = append(tests, f.Tests...)
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}
