package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// This file reads the list of equivalent mutants. An entry is what a survivor is printed as,
// and a reason:
//
//	cluster/log.go, log.trim, off by one
//	- if len(l.touches) > small {
//	+ if len(l.touches) >= small {
//	why: when the memory is moved changes nothing of what is read
//
// The lines say which mutant it is, so that an entry holds wherever the function stands. One of
// a mutant that is not made any more is an error.

// equivalents are the entries: reasons by mutant.
type equivalents struct {
	file    string
	reasons map[string]string
	stale   map[string]bool
}

// readEquivalents reads the file.
func readEquivalents(file string) (*equivalents, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := &equivalents{file: file, reasons: map[string]string{}, stale: map[string]bool{}}
	for entry := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(entry), "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") || line == "" })
		if len(lines) == 0 {
			continue
		}
		if len(lines) != 4 || strings.Count(lines[0], ", ") != 2 || !strings.HasPrefix(lines[1], "- ") || !strings.HasPrefix(lines[2], "+") || !strings.HasPrefix(lines[3], "why: ") {
			return nil, fmt.Errorf("%s: an entry is a line of file, function, operator, one with - , one with + and one with why: , got\n%s", file, entry)
		}
		key := strings.TrimSpace(strings.Join(lines[:3], "\n"))
		if all.reasons[key] != "" {
			return nil, fmt.Errorf("%s: named twice:\n%s", file, entry)
		}
		all.reasons[key] = strings.TrimPrefix(lines[3], "why: ")
	}
	return all, nil
}

// names reports whether the list has the mutant.
func (e *equivalents) names(m *mutant) bool { return e.reasons[strings.TrimSpace(m.key())] != "" }

// seen notes which entries about the target are about no mutant of it.
func (e *equivalents) seen(t target, p *loaded) {
	made := map[string]bool{}
	for _, m := range p.mutants() {
		made[strings.TrimSpace(m.key())] = true
	}
	for key := range e.reasons {
		if folder := key[:strings.LastIndex(key[:strings.Index(key, ", ")], "/")]; folder == t.String() && !made[key] {
			e.stale[key] = true
		}
	}
}

// check is an error that names the entries that are about no mutant.
func (e *equivalents) check() error {
	var wrong []error
	for key := range e.stale {
		wrong = append(wrong, fmt.Errorf("%s names what is not made any more; remove it or name what it has become:\n%s", e.file, key))
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}
