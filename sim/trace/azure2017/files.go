package azure2017

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file finds the files of the trace, and reads the two tables among them.

// The parts, as files are named by them.
const (
	train = "train"
	dev   = "dev"
	test  = "test"
)

// files are those of a folder.
type files struct{ dir string }

// named is the path of a file, which may end in .gz.
func (f files) named(name string) string {
	path := filepath.Join(f.dir, name)
	if _, err := os.Stat(path); err != nil {
		if _, err := os.Stat(path + ".gz"); err == nil {
			return path + ".gz"
		}
	}
	return path
}

// fates finds the file that says what became of the VMs of a part, and in whose name
// stands until when they were watched.
func (f files) fates(part string) (path string, horizon int64, err error) {
	prefix := "v1." + part + ".c"
	var found []string
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return "", 0, err
	}
	for _, e := range entries {
		number, is := strings.CutPrefix(e.Name(), prefix)
		number, text := strings.CutSuffix(strings.TrimSuffix(number, ".gz"), ".txt")
		if at, err := strconv.ParseInt(number, 10, 64); is && text && err == nil && at > 0 && at <= lastSecond {
			found, horizon = append(found, e.Name()), at
		}
	}
	if len(found) != 1 {
		return "", 0, fmt.Errorf("%s: %d files %sSECOND.txt or %sSECOND.txt.gz, want one, which says what became of the VMs of v1.%s.txt until that second", f.dir, len(found), prefix, prefix, part)
	}
	return filepath.Join(f.dir, found[0]), horizon, nil
}

// open opens a part.
func (f files) open(part string, flavours []flavour, bins bins, skips *trace.Skips) (*moments, error) {
	m := &moments{flavours: flavours, bins: bins, skips: skips, last: -1}
	var err error
	var fates string
	if part != train {
		if fates, m.horizon, err = f.fates(part); err != nil {
			return nil, err
		}
	}
	if m.arrivals, err = trace.OpenLines(f.named("v1."+part+".txt"), skips); err != nil {
		return nil, err
	}
	if fates != "" {
		if m.fates, err = trace.OpenLines(fates, skips); err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	return m, nil
}

// table reads a file line by line, and calls read with each that is not empty, as a row with a comma in place of
// each blank; it returns what is wrong with that, most often Row.Err. There must be a line that is read.
func (f files) table(name, want string, fields int, skips *trace.Skips, read func(*trace.Row) error) error {
	lines, err := trace.OpenLines(f.named(name), skips)
	if err != nil {
		return err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	var row trace.Row
	for rows := 0; ; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF) && rows == 0:
			return lines.Missing(want)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		row.Split(lines, bytes.ReplaceAll(line, []byte(" "), []byte(",")), fields)
		err = read(&row)
		if err == nil {
			rows++
		}
		if err := skips.Refuse(err); err != nil {
			return err
		}
	}
}

// mostFlavours bounds the flavours, so that a wild file is an error.
const mostFlavours = 1000

// flavours reads the sizes of VMs.
func (f files) flavours(skips *trace.Skips) (all []flavour, err error) {
	const cores, memory, letter = 1, 2, 3
	err = f.table("flav_map.txt", "a flavour: CORES,GIB LETTER", 3, skips, func(row *trace.Row) error {
		of := flavour{
			letter: string(row.Text(letter)),
			demand: cluster.Vector{
				row.Decimal(cores, "a number of cores", 3, trace.Up),
				mebibytes(row, memory),
			},
		}
		of.tags = []string{"flavour:" + of.letter}
		_, twice := flavourOf(all, row.Text(letter))
		switch {
		case of.letter == "" || of.letter == bar:
			row.Fail(letter, "the letter of a flavour")
		case twice:
			row.Fail(letter, "a flavour that is not there yet")
		case len(all) == mostFlavours:
			row.Fail(letter, fmt.Sprintf("at most %d flavours", mostFlavours))
		}
		if row.Err() == nil {
			all = append(all, of)
		}
		return row.Err()
	})
	return all, err
}

// mebibytes reads a number of GiB, rounded up. Decimal returns no number so large
// that it would overflow.
func mebibytes(row *trace.Row, field int) int64 {
	const million = 1_000_000
	return (row.Decimal(field, "a number of GiB", 6, trace.Up)*gib + million - 1) / million
}

// bins are stretches of durations: bin b is from the second bins[b] on, before bins[b+1].
type bins []int64

// These bound the bins and their durations, so that a wild file is an error.
const (
	mostBins = 1000
	longest  = 1 << 31 // 68 years
)

// bins reads which bin durations fall into. The last one ends as much after its last line as
// that is after the line before.
func (f files) bins(skips *trace.Skips) (bins, error) {
	const second, bin = 1, 2
	var begin bins
	last, step := int64(-1), int64(1)
	err := f.table("v1.interval_map.txt", "a bin: SECOND BIN", 2, skips, func(row *trace.Row) error {
		at := int64(row.Uint(second, "a duration in seconds", longest))
		b := int(row.Uint(bin, "the number of a bin", mostBins-1))
		switch {
		case row.Err() != nil:
		case at <= last || last < 0 && at > 0:
			row.Fail(second, "a duration, the first 0 and each longer than the one before")
		case b == len(begin):
			begin = append(begin, at)
		case b != len(begin)-1:
			row.Fail(bin, "the bin of the line before, or the one after that, from 0 on")
		}
		if row.Err() == nil {
			last, step = at, at-max(last, 0)
		}
		return row.Err()
	})
	if err != nil {
		return nil, err
	}
	return append(begin, last+max(step, 1)), nil
}

// of is the bin of a duration, and false if that is longer than those of any bin.
func (b bins) of(seconds int64) (bin int, known bool) {
	for bin < len(b) && b[bin] <= seconds {
		bin++
	}
	return bin - 1, bin < len(b)
}
