package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// This file is the rule that no output replaces what the same command reads, by whatever
// name or link, nor another of its outputs. Every command that writes files asks it before
// it opens any of them for writing.

// named is a file with the flag that names it, which is empty of an argument.
type named struct{ flag, path string }

// checkOutputs says of each flag which of its outputs would replace an input, lie in a
// folder that is an input, or be an output of another flag; nil if none. Empty paths are no
// files, and - is the standard input or output. What cannot be looked at is no error here:
// opening it will be.
func checkOutputs(inputs, outputs []named) error {
	var read []input
	for _, i := range inputs {
		read = i.expand(read, map[string]bool{})
	}
	var errs []error
	wrong, written := map[string]bool{}, map[string]string{}
	for _, o := range outputs {
		if o.path == "" || o.path == "-" || wrong[o.flag] {
			continue
		}
		if err := o.replaces(read, written); err != nil {
			errs, wrong[o.flag] = append(errs, fmt.Errorf("--%s: %w", o.flag, err)), true
		}
	}
	return errors.Join(errs...)
}

// input is a file or a folder that is read.
type input struct {
	named

	info fs.FileInfo
}

// expand appends the input, and what links within it lead to where it is a folder. Folders
// that were seen are not looked through again.
func (i named) expand(read []input, seen map[string]bool) []input {
	info, err := i.stat()
	if err != nil {
		return read
	}
	read = append(read, input{i, info})
	actual, err := filepath.EvalSymlinks(i.path)
	if !info.IsDir() || err != nil || seen[actual] {
		return read
	}
	seen[actual] = true
	_ = filepath.WalkDir(actual, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeSymlink != 0 {
			read = named{i.flag, path}.expand(read, seen)
		}
		return nil // what cannot be looked through is left out
	})
	return read
}

// stat looks at an input, which may be the standard input.
func (i named) stat() (fs.FileInfo, error) {
	if i.path == "-" {
		return os.Stdin.Stat()
	}
	return os.Stat(i.path)
}

// replaces says what the output would replace, of inputs and of outputs by where they come
// to be, to which it is added.
func (i named) replaces(read []input, written map[string]string) error {
	actual, err := actualPath(i.path)
	if err != nil {
		actual = filepath.Clean(i.path) // creating it fails
	}
	if actual, err = filepath.Abs(actual); err != nil {
		return err
	}
	if other, taken := written[actual]; taken && other != i.flag {
		return fmt.Errorf("%s is the file of --%s too", i.path, other)
	}
	written[actual] = i.flag
	byName, err := filepath.Abs(i.path)
	if err != nil {
		return err
	}
	old, err := os.Stat(actual)
	if err == nil && old.IsDir() && i.flag != "record" { // which wants a folder; checkRecord sees that it is empty
		return fmt.Errorf("%s is a folder; want a file", i.path)
	}
	for _, r := range read {
		switch {
		case r.info.IsDir() && (within(actual, r.info) || within(byName, r.info)):
			return fmt.Errorf("%s lies in %s, which is read%s; name a file elsewhere", i.path, r.path, r.by())
		case r.info.Mode().IsRegular() && err == nil && os.SameFile(old, r.info):
			return fmt.Errorf("%s is to be read%s; name another file", i.path, r.by())
		}
	}
	return nil
}

// by says which flag names the input.
func (i input) by() string {
	if i.flag == "" {
		return ""
	}
	return " by --" + i.flag
}

// within reports whether the absolute path lies in the folder, at any depth.
func within(path string, folder fs.FileInfo) bool {
	for up := filepath.Dir(path); up != path; path, up = up, filepath.Dir(up) {
		if info, err := os.Stat(up); err == nil && os.SameFile(info, folder) {
			return true
		}
	}
	return false
}
