package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/strict"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// Kind says which method of the core a call is.
type Kind string

// The calls that a recording knows; see the package comment.
const (
	Snapshot Kind = "snapshot"
	Observe  Kind = "observe"
	Step     Kind = "step"
	Begin    Kind = "begin"
	Finish   Kind = "finish"

	more Kind = "more"
)

// Call is one call on a core.
type Call struct {
	Kind   Kind
	At     cluster.Time
	Lane   int   // of Begin and Finish
	Budget int64 // of Finish: of the round's Run
	In     []cluster.Event
	Out    []sched.Decision
	// Won says who won the races of the rounds of Step or Finish, if any raced.
	Won []mcmf.Algorithm
}

// wireCall is a call as it is written.
type wireCall struct {
	Call   Kind             `json:"call"`
	At     cluster.Time     `json:"at"`
	Lane   int              `json:"lane,omitempty"`
	Budget int64            `json:"budget,omitempty"`
	In     []wireEvent      `json:"in,omitempty"`
	Out    []wireDecision   `json:"out,omitempty"`
	Won    []mcmf.Algorithm `json:"won,omitempty"`
}

// Reader reads one file of a recording, call by call. Its errors name the file,
// the line and what is wrong there.
type Reader struct {
	name    string
	unzip   *zstd.Decoder
	lines   *bufio.Reader
	line    int // the number of the latest line
	calls   int
	buffer  []byte
	header  *Header
	needs   map[string]string
	rows    map[string]uint32 // how many of each kind were made
	flying  []bool            // per lane, whether its round is in flight
	cut     string
	partial []cluster.Event // of lines that are no call yet
}

// maxLine bounds a line, so that a file that is something else is an error. A
// Writer's lines grow by one event beyond lineBytes.
const maxLine = 64 << 20

// NewReader reads the header. The name stands in errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	unzip, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &Reader{name: name, unzip: unzip, lines: bufio.NewReaderSize(unzip, 1<<16), needs: needs(), rows: map[string]uint32{}}
	line, err := r.next()
	switch {
	case r.cut != "":
		err = r.wrong(errors.New("the file ends before its header is complete"))
	case errors.Is(err, io.EOF):
		err = r.wrong(errors.New("the file is empty; a recording begins with a header"))
	case err == nil:
		if r.header, err = decodeHeader(line); err != nil {
			err = r.wrong(err)
		}
	}
	if err != nil {
		unzip.Close()
		return nil, err
	}
	r.flying = make([]bool, len(r.header.Lanes))
	return r, nil
}

// Close frees the reader's memory. It does not close what is read below.
func (r *Reader) Close() { r.unzip.Close() }

// Header is the file's first line.
func (r *Reader) Header() *Header { return r.header }

// Line is the number of the line that was read last.
func (r *Reader) Line() int { return r.line }

// Cut says what is missing at the end of a file whose writer was killed; it is
// empty before the end, and of a file that is whole.
func (r *Reader) Cut() string { return r.cut }

// Next returns the next call, and io.EOF after the last.
func (r *Reader) Next() (Call, error) {
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) && len(r.partial) > 0 && r.cut == "" {
			r.cut = fmt.Sprintf("%s ends within a call, after line %d", r.name, r.line)
		}
		if err != nil {
			return Call{}, err
		}
		var w wireCall
		if err := strict.Decode(line, &w); err != nil {
			return Call{}, r.wrong(err)
		}
		call, err := r.call(&w)
		if err != nil {
			return Call{}, r.wrong(err)
		}
		if call.Kind == more {
			r.partial = call.In
			continue
		}
		r.partial = nil
		r.calls++
		return call, nil
	}
}

// next returns the next line without its end, and io.EOF after the last. Of a
// file that was cut, everything before the cut is good.
func (r *Reader) next() ([]byte, error) {
	r.buffer = r.buffer[:0]
	for {
		part, err := r.lines.ReadSlice('\n')
		r.buffer = append(r.buffer, part...)
		switch {
		case len(r.buffer) > maxLine:
			r.line++
			return nil, r.wrong(fmt.Errorf("the line has more than %d bytes", maxLine))
		case err == nil:
			r.line++
			return r.buffer, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buffer) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			r.cut = fmt.Sprintf("%s was cut off after line %d", r.name, r.line)
			return nil, io.EOF
		default:
			r.line++
			return nil, r.wrong(err)
		}
	}
}

func (r *Reader) wrong(err error) error { return fmt.Errorf("%s:%d: %w", r.name, r.line, err) }

// call checks that what is written is a call that can be made now.
func (r *Reader) call(w *wireCall) (Call, error) {
	c := Call{Kind: w.Call, At: w.At, Lane: w.Lane, Budget: w.Budget, In: r.partial}
	if !sensible(w.At) {
		return c, fmt.Errorf("at %d, want a time from 0 to %d", w.At, maxTime)
	}
	if err := r.checkOrder(w); err != nil {
		return c, err
	}
	for i := range w.In {
		e := &w.In[i]
		if err := e.check(r.needs); err != nil {
			return c, fmt.Errorf("event %d: %w", i+1, err)
		}
		r.count(e)
		c.In = append(c.In, e.event())
	}
	for i := range w.In {
		if err := r.checkRows(&w.In[i]); err != nil {
			return c, fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	for i := range w.Out {
		d, err := w.Out[i].decision()
		if err != nil {
			return c, fmt.Errorf("decision %d: %w", i+1, err)
		}
		c.Out = append(c.Out, d)
	}
	c.Won = w.Won
	return c, nil
}

// checkOrder says why the call cannot be made now.
func (r *Reader) checkOrder(w *wireCall) error {
	if w.Lane < 0 || w.Lane >= len(r.flying) {
		return fmt.Errorf("lane %d of %d", w.Lane, len(r.flying))
	}
	switch w.Call {
	case more:
	case Snapshot:
		if r.calls > 0 {
			return errors.New("a snapshot stands behind other calls; it begins a file")
		}
	case Observe, Step:
	case Begin, Finish:
		if r.flying[w.Lane] == (w.Call == Begin) {
			return fmt.Errorf("%s of lane %d, whose round is in flight: %v", w.Call, w.Lane, r.flying[w.Lane])
		}
		r.flying[w.Lane] = w.Call == Begin
	default:
		return fmt.Errorf("unknown call %q", w.Call)
	}
	if (w.Call == Begin || w.Call == Finish) && len(w.In)+len(r.partial) > 0 {
		return fmt.Errorf("%s takes no events", w.Call)
	}
	if (w.Call == Begin || w.Call == more) && len(w.Out) > 0 {
		return fmt.Errorf("%s makes no decisions", w.Call)
	}
	for i, by := range w.Won {
		switch {
		case w.Call != Step && w.Call != Finish:
			return fmt.Errorf("%s runs no races", w.Call)
		case !slices.Contains(mcmf.Algorithms(), by):
			return fmt.Errorf("race %d: unknown algorithm %q; there are %v", i+1, by, mcmf.Algorithms())
		}
	}
	return nil
}

// count counts the rows that events make.
func (r *Reader) count(e *wireEvent) {
	switch e.Event {
	case "node", "set", "shape", "constraint", "job", "task":
		r.rows[e.Event]++
	}
}

// checkRows refuses rows that are wild: tables are as long as their largest row.
func (r *Reader) checkRows(e *wireEvent) error {
	row := map[string]*uint32{"node": e.Node, "set": e.Set, "shape": e.Shape, "job": e.Job, "task": e.Task, "constraint": e.Constraint}[e.Event]
	if row == nil {
		return nil
	}
	if most := uint64(1<<20) + 64*uint64(r.rows[e.Event]); uint64(*row) > most {
		return fmt.Errorf("%s row %d is wild: %d such rows were made so far", e.Event, *row, r.rows[e.Event])
	}
	return nil
}
