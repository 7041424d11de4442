package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// output is a file that appears under its name when it is whole, and not before:
// until then it is written beside it. What is interrupted leaves no half file,
// and what was there stays. A name that ends in .gz is compressed; - is the
// standard output.
type output struct {
	io.Writer
	path, part string // part is empty where there is nothing to rename
	file       *os.File
	zip        *gzip.Writer
}

// createOutput begins an output. One of Commit and Discard must follow.
func createOutput(path string, stdout io.Writer) (*output, error) {
	o := &output{Writer: stdout, path: path}
	if path == "-" {
		return o, nil
	}
	target := path
	// A pipe or /dev/null is written as it is; only a file can be replaced.
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		o.part = fmt.Sprintf("%s.%d.part", path, os.Getpid())
		target = o.part
	}
	file, err := os.Create(target)
	if err != nil {
		return nil, err
	}
	o.file, o.Writer = file, file
	if strings.HasSuffix(path, ".gz") {
		o.zip = gzip.NewWriter(file)
		o.Writer = o.zip
	}
	return o, nil
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
		return err
	}
	if err == nil {
		err = os.Rename(o.part, o.path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(o.part))
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
