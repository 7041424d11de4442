package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/internal/parquet"
)

// output is a file that appears under its name when it is whole, and not before:
// until then it is written beside it. What is interrupted leaves no half file,
// and what was there stays. A name that ends in .gz is compressed; - is the
// standard output; a link stays one, and what it leads to is replaced.
type output struct {
	to           io.Writer
	path         string // as the user called it
	part, actual string // what is renamed to what; empty where there is nothing to rename
	replaces     bool   // a whole file, for which a machine that stops must leave no half one
	file         *os.File
	zip          *gzip.Writer
	table        io.Closer // ends what is written, where that is a table
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
		o.actual, o.replaces = actual, missing == nil
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

// as makes the output a table of Parquet, if its name ends so and there are columns: what is written to it is CSV then.
func (o *output) as(columns []parquet.Column, header bool) {
	if len(columns) > 0 && strings.HasSuffix(o.path, parquetEnding) {
		t := newParquetTable(o.to, columns, header)
		o.to, o.table = t, t
	}
}

// parquetEnding is how the name of a table in Parquet ends.
const parquetEnding = ".parquet"

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
	if o.table != nil {
		err = o.table.Close()
	}
	if o.zip != nil {
		err = errors.Join(err, o.zip.Close())
	}
	if o.replaces && err == nil {
		err = o.file.Sync()
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
// returned.
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
