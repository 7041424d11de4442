package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Limits bound what a recording takes of a disk. What is 0 is as given here.
type Limits struct {
	FileBytes int64 // after so many compressed bytes a file is full; 64 MiB
	Files     int   // so many files are kept, the newest; 20
}

// Writer writes a recording: files recording-000001.jsonl.zst and so on in one
// directory, numbered on from those that are there. It never waits for a disk
// to become well: after its first error it writes nothing more, and says so
// from Flush and Close. It has one owner.
type Writer struct {
	dir     string
	limits  Limits
	number  int
	file    *os.File
	zip     *zstd.Encoder
	written int64   // compressed bytes of the file
	bytes   int64   // of all files
	encode  encoder // the events of a line
	around  encoder // the line
	err     error
}

const (
	prefix, suffix   = "recording-", ".jsonl.zst"
	defaultFileBytes = 64 << 20
	defaultFiles     = 20
	// lineBytes is how long a line may grow before the events that are left go
	// to the next one.
	lineBytes = 1 << 20
)

// NewWriter begins the first file. It makes the directory if need be.
func NewWriter(dir string, header Header, limits Limits) (*Writer, error) {
	if limits.FileBytes <= 0 {
		limits.FileBytes = defaultFileBytes
	}
	if limits.Files <= 0 {
		limits.Files = defaultFiles
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	w := &Writer{dir: dir, limits: limits}
	files, err := Files(dir)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		w.number = numberOf(files[len(files)-1])
	}
	if w.zip, err = zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return w, w.Rotate(header)
}

// Files lists the files of a recording, oldest first: those in a directory, or
// the one that path names.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	var files []string
	for _, e := range entries {
		if numberOf(e.Name()) > 0 {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	slices.SortFunc(files, func(a, b string) int { return numberOf(a) - numberOf(b) })
	return files, nil
}

// numberOf is the number of a file of a recording; 0 for any other file.
func numberOf(path string) int {
	rest, begins := strings.CutPrefix(filepath.Base(path), prefix)
	digits, ends := strings.CutSuffix(rest, suffix)
	n, err := strconv.Atoi(digits)
	if !begins || !ends || err != nil || n < 0 {
		return 0
	}
	return n
}

// Full reports whether the file has grown so large that it is time for the next
// epoch: a new core, a new header, a snapshot.
func (w *Writer) Full() bool { return w.written >= w.limits.FileBytes }

// Bytes is how many compressed bytes were written to all files.
func (w *Writer) Bytes() int64 { return w.bytes }

// Rotate ends the file and begins the next one, for a core that is made anew:
// its first call is the snapshot. An earlier error is forgotten.
func (w *Writer) Rotate(header Header) error {
	line, err := header.encode()
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	var ended error
	if w.file != nil {
		ended = w.Close()
	}
	w.number++
	path := filepath.Join(w.dir, fmt.Sprintf("%s%06d%s", prefix, w.number, suffix))
	if w.file, w.err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640); w.err != nil { //nolint:gosec // the directory is the operator's
		return errors.Join(ended, fmt.Errorf("recording: %w", w.err))
	}
	w.written = 0
	w.zip.Reset((*counted)(w))
	w.write(line)
	return errors.Join(ended, w.Flush(), w.prune())
}

// prune removes the oldest files beyond the limit.
func (w *Writer) prune() error {
	files, err := Files(w.dir)
	if err != nil {
		return err
	}
	for len(files) > w.limits.Files {
		err = errors.Join(err, os.Remove(files[0]))
		files = files[1:]
	}
	return err
}

// counted is the writer as its compressor sees it.
type counted Writer

// Write writes to the file and counts.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.file.Write(b)
	c.written += int64(n)
	c.bytes += int64(n)
	return n, err
}

// write hands a line to the compressor.
func (w *Writer) write(line []byte) {
	if w.err != nil || w.file == nil {
		return
	}
	_, w.err = w.zip.Write(line)
}

// Flush hands what was written to the operating system, so that it outlives the
// process. It returns the first error of the file.
func (w *Writer) Flush() error {
	if w.err == nil && w.file != nil {
		w.err = w.zip.Flush()
	}
	return w.failed()
}

// Close ends the file. Nothing is written after it but by Rotate.
func (w *Writer) Close() error {
	if w.file == nil {
		return w.failed()
	}
	if w.err == nil {
		w.err = w.zip.Close()
	}
	if err := w.file.Close(); w.err == nil {
		w.err = err
	}
	w.file = nil
	return w.failed()
}

func (w *Writer) failed() error {
	if w.err == nil {
		return nil
	}
	return fmt.Errorf("recording: %w", w.err)
}

// Append writes a call on a core that no Recorder stands before. Nothing of it is kept.
func (w *Writer) Append(c Call) { w.call(&c) }

// call writes a call. Where its events fill lines, the first of them go before
// it.
func (w *Writer) call(c *Call) {
	events := &w.encode
	events.line = events.line[:0]
	for i, e := range c.In {
		if w.err != nil || w.file == nil {
			return
		}
		if len(events.line) > lineBytes {
			w.line(&Call{Kind: more, At: c.At})
			events.line = events.line[:0]
		}
		events.separate()
		from := len(events.line)
		if !events.event(e) {
			w.err = fmt.Errorf("event %d of %s is a %T, which has no encoding", i+1, c.Kind, e)
		}
		if size, most := len(events.line)-from, usual().event; size > most {
			w.err = fmt.Errorf("event %d of %s, a %T, has %d bytes as text, of which at most %d can be read again", i+1, c.Kind, e, size, most)
		}
	}
	w.line(c)
}

// line writes a line with the events that were encoded.
func (w *Writer) line(c *Call) {
	x := &w.around
	x.line = append(x.line[:0], `{"call":"`...)
	x.line = append(x.line, c.Kind...)
	x.line = append(x.line, `","at":`...)
	x.line = strconv.AppendInt(x.line, int64(c.At), 10)
	x.signed("lane", int64(c.Lane)).signed("budget", c.Budget).signed("given_up", int64(c.GivenUp))
	if len(w.encode.line) > 0 {
		x.key("in")
		x.line = append(x.line, '[')
		x.line = append(x.line, w.encode.line...)
		x.line = append(x.line, ']')
	}
	for i, d := range c.Out {
		if i == 0 {
			x.key("out")
		}
		x.line = append(x.line, separator(i))
		x.decision(d)
	}
	if len(c.Out) > 0 {
		x.line = append(x.line, ']')
	}
	for i, by := range c.Won {
		if i == 0 {
			x.key("won")
		}
		x.line = append(x.line, separator(i))
		x.quote(string(by))
	}
	if len(c.Won) > 0 {
		x.line = append(x.line, ']')
	}
	x.line = append(x.line, '}', '\n')
	w.write(x.line)
}
