package versions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Result is what became of a test.
type Result struct {
	State State
	// Words say why, if it did not pass, or not at first.
	Words string
	// Says is what Fairlead said meanwhile that a user would read, as the test logged it.
	Says []string
	// Again tells that it failed at first, and passed alone.
	Again bool
}

// State is the end of a test.
type State string

// These are the states.
const (
	Passed    State = "passed"
	Failed    State = "failed"
	NotServed State = "not served" // skipped, as the API server lacks what it is about
	Skipped   State = "skipped"    // for another reason
)

// The words by which tests of kube/e2e say so (versions_test.go).
const (
	notServed = "not served: "
	says      = "says: "
)

// Results are those of tests by name. A test of a test counts as a part of it.
type Results map[string]Result

// event is a line of `go test -json`.
type event struct{ Action, Test, Output string }

// Read reads what `go test -json` printed.
func Read(from io.Reader) (Results, error) {
	results, said := Results{}, map[string][]string{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<24) // a failed test quotes logs
	for lines.Scan() {
		var e event
		if !strings.HasPrefix(lines.Text(), "{") {
			continue // the go command's own words
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read what go test said: %w", err)
		}
		name, _, part := strings.Cut(e.Test, "/")
		if name == "" {
			continue
		}
		switch state := stateOf(e.Action); {
		case e.Action == "output":
			said[name] = append(said[name], e.Output)
		case state != "" && !part:
			results[name] = newResult(state, said[name])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what go test said: %w", err)
	}
	return results, nil
}

func stateOf(action string) State {
	switch action {
	case "pass":
		return Passed
	case "fail":
		return Failed
	case "skip":
		return Skipped
	}
	return ""
}

// newResult reads the lines that a test logged.
func newResult(state State, lines []string) Result {
	r := Result{State: state}
	logged := regexp.MustCompile(`^\s*\w+\.go:\d+: (.*)`)
	for _, line := range lines {
		found := logged.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		words := strings.TrimSpace(found[1])
		lacks, isLack := strings.CutPrefix(words, notServed)
		said, isSaid := strings.CutPrefix(words, says)
		switch {
		case isSaid:
			if !slices.Contains(r.Says, said) {
				r.Says = append(r.Says, said)
			}
		case isLack && state == Skipped:
			r.State, r.Words = NotServed, lacks
		case state != Passed && r.Words == "":
			r.Words = words
		}
	}
	return r
}

// Failed are the tests that failed, in order.
func (r Results) Failed() []string {
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if r[name].State == Failed {
			failed = append(failed, name)
		}
	}
	return failed
}

// Repeat takes the results of those that were tried again, as they had failed: on a busy machine a test may fail for want of time.
func (r Results) Repeat(again Results) {
	for name, second := range again {
		if first := r[name]; first.State == Failed && second.State == Passed {
			second.Again, second.Words = true, first.Words
		}
		r[name] = second
	}
}
