package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"fairlead.dev/fairlead/internal/strict"
)

// This file is the list of runs as it is kept: who gathers the results needs neither the sweep nor the files that it
// names, nor the program that did the runs.

// ListFile is the name of the list.
const ListFile = "sweep.json"

// List is the runs of a sweep, in order.
type List struct {
	Version int    `json:"version"`
	Program string `json:"program"` // that is to do the runs
	Lists   bool   `json:"lists"`   // whether lists are kept
	Runs    []Run  `json:"runs"`

	Inputs []string `json:"-"` // the files and folders that the runs read, sorted; a list that was read has none
}

// Encode is the list as a text, a line a run.
func (l *List) Encode() ([]byte, error) {
	program, err := json.Marshal(l.Program)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "{\"version\": %d, \"program\": %s, \"lists\": %t, \"runs\": [", l.Version, program, l.Lists)
	for i := range l.Runs {
		run, err := compact(&l.Runs[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
		text.Write(run)
	}
	text.WriteString("\n]}\n")
	return text.Bytes(), nil
}

// DecodeList reads what Encode wrote; errors call it name.
func DecodeList(name string, text []byte) (*List, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: no list of runs: %w", name, err)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("%s: a list of version %d; this program reads version %d", name, head.Version, Version)
	}
	l := &List{}
	if err := strict.Decode(text, l); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(l.Runs) > MostRuns {
		return nil, fmt.Errorf("%s: %d runs; at most %d are read", name, len(l.Runs), MostRuns)
	}
	isKey := regexp.MustCompile(fmt.Sprintf("^[0-9a-f]{%d}$", 2*keyBytes))
	seen := map[string]bool{}
	for i := range l.Runs {
		key := l.Runs[i].Key
		if !isKey.MatchString(key) || seen[key] { // it becomes the name of a file
			return nil, fmt.Errorf("%s: runs[%d].key: %q is no key, or there twice; write the list again with fairlead sweep", name, i, key)
		}
		seen[key] = true
	}
	return l, nil
}

// Differs says in a few words how the other list differs; empty where it is the same.
func (l *List) Differs(other *List) string {
	mine := map[string]bool{}
	for i := range l.Runs {
		mine[l.Runs[i].Key] = true
	}
	same := 0
	for i := range other.Runs {
		if mine[other.Runs[i].Key] {
			same++
		}
	}
	switch {
	case l.Program != other.Program:
		return fmt.Sprintf("of %s and of %s", l.Program, other.Program)
	case len(l.Runs) != len(other.Runs) || same < len(l.Runs):
		return fmt.Sprintf("%d runs and %d, of which %d are the same", len(l.Runs), len(other.Runs), same)
	}
	for i := range l.Runs {
		if l.Runs[i].Key != other.Runs[i].Key {
			return "the same runs in another order"
		}
	}
	return ""
}

// compact is a value as JSON on one line, in which names may have a "<".
func compact(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(text.Bytes()), err
}
