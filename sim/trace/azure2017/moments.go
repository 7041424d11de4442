package azure2017

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"fairlead.dev/fairlead/sim/trace"
)

// This file reads a part moment by moment: who comes, and beside that, in another file that is
// read in step, what became of each.

// lastSecond bounds times, so that none overflows.
const lastSecond = 1 << 40

// bar ends a batch.
const bar = "|"

// moment is who comes at the same time.
type moment struct {
	at      int64 // in seconds
	vms     []vm
	batches []int // how many of them each batch has, one after the other
}

// vm is a virtual machine that comes.
type vm struct {
	flavour int
	fate    fate
	bin     int // of ended and going
}

// fate is what is known of how long a VM lived.
type fate uint8

const (
	unknown fate = iota
	ended        // after a duration in its bin
	going        // it was there at the horizon, at an age in its bin
)

// moments reads a part.
type moments struct {
	flavours []flavour
	bins     bins
	skips    *trace.Skips
	arrivals *trace.Lines
	fates    *trace.Lines // nil: nobody says
	horizon  int64        // the second until which fates are known

	row, fate trace.Row
	held      bool  // the row of fates was read ahead
	begun     bool  // a moment was read
	last      int64 // the second of the moment before, of whatever part; -1 if there is none
}

// next reads the next moment, or returns io.EOF after the last one.
func (m *moments) next(to *moment) error {
	for {
		line, err := m.arrivals.Next()
		switch {
		case errors.Is(err, io.EOF) && !m.begun:
			return m.arrivals.Missing("arrivals: SECOND FLAVOUR,…,|,…")
		case errors.Is(err, io.EOF):
			return m.atEnd()
		case err != nil:
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		m.row.SplitBlanks(m.arrivals, line, 2)
		m.readArrivals(to)
		err = m.row.Err()
		if err == nil && m.fates != nil {
			err = m.readFates(to)
		}
		if err == nil {
			m.begun, m.last = true, to.at
			return nil
		}
		if err := m.skips.Refuse(err); err != nil {
			return err
		}
	}
}

// atEnd is io.EOF, unless something is said of VMs that never came.
func (m *moments) atEnd() error {
	if m.fates == nil {
		return io.EOF
	}
	for {
		line, err := m.fates.Next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := m.skips.Refuse(m.fates.Error(0, "the end of the file, as all who came have been", line)); err != nil {
			return err
		}
	}
}

// readArrivals reads who comes. The row says what is wrong.
func (m *moments) readArrivals(to *moment) {
	to.vms, to.batches = to.vms[:0], to.batches[:0]
	to.at = int64(m.row.Uint(1, "a time in seconds", lastSecond))
	switch {
	case m.row.Err() != nil:
		return
	case to.at <= m.last:
		m.row.Fail(1, fmt.Sprintf("a time after %d, that of the VMs before", m.last))
	case m.fates != nil && to.at > m.horizon:
		m.row.Fail(1, fmt.Sprintf("a time until %d, where what is known of the VMs ends", m.horizon))
	}
	batch := 0
	for word := range bytes.SplitSeq(m.row.Text(2), []byte(",")) {
		if string(word) == bar {
			if batch == 0 {
				m.row.Fail(2, "a flavour before each bar")
			}
			to.batches = append(to.batches, batch)
			batch = 0
			continue
		}
		of, known := flavourOf(m.flavours, word)
		if !known {
			m.row.Fail(2, "flavours of flav_map.txt and bars, with commas between")
			return
		}
		to.vms = append(to.vms, vm{flavour: of})
		batch++
	}
	if batch > 0 {
		to.batches = append(to.batches, batch)
	}
}

// readFates reads what became of those who came.
func (m *moments) readFates(of *moment) error {
	for {
		if err := m.nextFates(of.at); err != nil {
			return err
		}
		at := int64(m.fate.Uint(1, "a time in seconds", lastSecond))
		if err := m.fate.Err(); err != nil {
			return err
		}
		switch {
		case at > of.at: // it is of those who come later
			m.held = true
			return m.fates.Error(1, fmt.Sprintf("the time %d, at which VMs come", of.at), m.fate.Text(1))
		case at == of.at:
			m.matchFates(of)
			return m.fate.Err()
		}
		if err := m.skips.Refuse(m.fates.Error(1, fmt.Sprintf("the time %d, at which the next VMs come", of.at), m.fate.Text(1))); err != nil {
			return err
		}
	}
}

// nextFates reads the next row of fates, unless it was read ahead.
func (m *moments) nextFates(at int64) error {
	if m.held {
		m.held = false
		return nil
	}
	for {
		line, err := m.fates.Next()
		if errors.Is(err, io.EOF) {
			return m.fates.Missing(fmt.Sprintf("what became of the VMs of time %d: SECOND U15,C46,…,|,…", at))
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			m.fate.SplitBlanks(m.fates, line, 2)
			return nil
		}
	}
}

// matchFates gives each VM what became of it. The row says what is wrong.
func (m *moments) matchFates(of *moment) {
	const alike = "as many as have come, in batches of the same size"
	vms, batch, rest := 0, 0, of.batches[0]
	for word := range bytes.SplitSeq(m.fate.Text(2), []byte(",")) {
		switch {
		case string(word) == bar && rest == 0 && batch < len(of.batches):
			batch++
			if batch < len(of.batches) {
				rest = of.batches[batch]
			}
		case string(word) == bar || rest == 0:
			m.fate.Fail(2, alike)
			return
		default:
			if !m.readFate(word, of.at, &of.vms[vms]) {
				return
			}
			vms++
			rest--
		}
	}
	if vms != len(of.vms) {
		m.fate.Fail(2, alike)
	}
}

// readFate reads what became of one VM. The row says what is wrong, which false says as well.
func (m *moments) readFate(word []byte, at int64, of *vm) bool {
	number := ""
	if len(word) > 0 {
		number = string(word[1:])
	}
	bin, err := strconv.ParseUint(number, 10, 31)
	if err != nil || int(bin) >= len(m.bins)-1 || word[0] != 'U' && word[0] != 'C' {
		m.fate.Fail(2, fmt.Sprintf("U and C, each with the number of a bin, from 0 to %d, and bars, with commas between", len(m.bins)-2))
		return false
	}
	of.fate, of.bin = ended, int(bin)
	age := m.horizon - at
	if word[0] == 'C' {
		of.fate = going
		if now, known := m.bins.of(age); !known || now != of.bin {
			m.fate.Fail(2, fmt.Sprintf("C with the bin of %d s, which is how long before %d they came", age, m.horizon))
			return false
		}
		return true
	}
	if m.bins[bin] > age {
		m.fate.Fail(2, fmt.Sprintf("U with a bin of at most %d s, which is how long before %d they came", age, m.horizon))
		return false
	}
	return true
}

// close closes the files. It may be called more than once.
func (m *moments) close() error {
	var err error
	for _, l := range []*trace.Lines{m.arrivals, m.fates} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}
