package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// output is a file that appears under its name when it is whole, and not before:
// until then it is written beside it. What is interrupted leaves no half file,
// and what was there stays. A name that ends in .gz is compressed; - is the
// standard output; a link stays one, and what it leads to is replaced.
type output struct {
	to           io.Writer
	path         string // as the user called it
	part, actual string // what is renamed to what; empty where there is nothing to rename
	file         *os.File
	zip          *gzip.Writer
}

// createOutput begins an output. One of Commit and Discard must follow.
func createOutput(path string, stdout io.Writer) (*output, error) {
	o := &output{to: stdout, path: path}
	if path == "-" {
		return o, nil
	}
	actual, err := actualPath(path)
	if err != nil {
		return nil, o.named(err)
	}
	// A pipe or /dev/null is written as it is; only a file can be replaced.
	if info, missing := os.Stat(actual); missing != nil || info.Mode().IsRegular() {
		o.actual = actual
		err = o.createPart()
	} else {
		o.file, err = os.Create(path)
	}
	if err != nil {
		return nil, o.named(err)
	}
	o.to = o.file
	if strings.HasSuffix(path, ".gz") {
		o.zip = gzip.NewWriter(o.file)
		o.to = o.zip
	}
	return o, nil
}

// createPart creates a file beside the real one, under a name that nobody has.
func (o *output) createPart() (err error) {
	for n := 0; ; n++ {
		o.part = fmt.Sprintf("%s.%d.part", o.actual, n)
		//nolint:gosec // outputs are to be read by anybody whom the umask lets
		o.file, err = os.OpenFile(o.part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	return n, o.named(err)
}

// Commit finishes the output and gives it its name. If that fails, nothing is
// left.
func (o *output) Commit() error {
	var err error
	if o.zip != nil {
		err = o.zip.Close()
	}
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
	}
	if o.part == "" {
		return o.named(err)
	}
	if err == nil {
		err = os.Rename(o.part, o.actual)
	}
	if err != nil {
		err = errors.Join(o.named(err), os.Remove(o.part))
	}
	return err
}

// Discard gives the output up. Only errors of removing what was written are
// told.
func (o *output) Discard() error {
	if o.file == nil {
		return nil
	}
	_ = o.file.Close() // it is given up
	if o.part == "" {
		return nil
	}
	return os.Remove(o.part)
}

// named makes an error about the file name it as the user did.
func (o *output) named(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		err = at.Err
	}
	if err == nil || o.path == "-" {
		return err
	}
	return fmt.Errorf("%s: %w", o.path, err)
}

// actualPath is where an output of that name comes to be: links are followed.
func actualPath(path string) (string, error) {
	// A pipe behind /dev/stdout has no path.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return path, nil
	}
	actual, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return actual, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("a link to what is not there; remove it, or name another file")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// checkOutput says whether an output would change what is read: whether it is
// one of the inputs, by whatever name or link, or lies in one that is a folder.
// What cannot be looked at is no error here: opening it will be.
func checkOutput(path string, inputs ...string) error {
	if path == "-" {
		return nil
	}
	actual, err := actualPath(path)
	if err != nil {
		return nil //nolint:nilerr // creating it fails alike
	}
	if actual, err = filepath.Abs(actual); err != nil {
		return err
	}
	named, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(actual); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; want a file", path)
	}
	for _, input := range inputs {
		info, err := os.Stat(input)
		switch {
		case err != nil:
		case info.IsDir() && (within(actual, info) || within(named, info)):
			return fmt.Errorf("%s lies in %s, which is read; name a file elsewhere", path, input)
		case info.Mode().IsRegular() && same(actual, info):
			return fmt.Errorf("%s is to be read; name another file", path)
		}
	}
	return nil
}

// same reports whether the path leads to the file.
func same(path string, file fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, file)
}

// within reports whether the absolute path lies in the folder, at any depth.
func within(path string, folder fs.FileInfo) bool {
	for up := filepath.Dir(path); up != path; path, up = up, filepath.Dir(up) {
		if same(up, folder) {
			return true
		}
	}
	return false
}

// filesOf are the files and folders that sources read.
func filesOf(sources ...sourceSpec) []string {
	var files []string
	for _, s := range sources {
		if s.format != "synthetic" && s.text != "" {
			files = append(files, s.path)
		}
	}
	return files
}
