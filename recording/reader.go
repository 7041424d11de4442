package recording

import (
	"bufio"
	"cmp"
	"encoding/json"
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
	// GivenUp is, of Finish, at which model of the round the solver of integer programs was given up, from 1; 0 if it was not.
	GivenUp int
	// Won says who won the races of the rounds of Step or Finish, if any raced.
	Won []mcmf.Algorithm
}

// wireCall is a call as it is written. Its lists are read apart, element by element.
type wireCall struct {
	Call    Kind         `json:"call"`
	At      cluster.Time `json:"at"`
	Lane    int          `json:"lane,omitempty"`
	Budget  int64        `json:"budget,omitempty"`
	GivenUp int          `json:"given_up,omitempty"`
	In      unread       `json:"in,omitempty"`
	Out     unread       `json:"out,omitempty"`
	Won     unread       `json:"won,omitempty"`
}

// unread is a list as text.
type unread []byte

// UnmarshalJSON is for what was not taken out as a list before.
func (*unread) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	return errors.New("in, out and won want a list, and each stands once")
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
	values  values
	latest  wireEvent // one after the other
	most    bounds
	tables  tables
	flying  []bool // per lane, whether its round is in flight
	cut     string
	partial []cluster.Event // of lines that are no call yet
	weight  int             // of those, and of the call that is being read; in bytes
}

// NewReader reads the header. The name stands in errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	unzip, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &Reader{name: name, unzip: unzip, lines: bufio.NewReaderSize(unzip, 1<<16), needs: needs(), most: usual()}
	r.most.line = maxHeader
	line, err := r.next()
	r.most.line = usual().line
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
	r.tables = tables{kinds: len(r.header.Kinds), lanes: len(r.header.Lanes), viewed: make([]bool, len(r.header.Lanes))}
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
		call, err := r.call(line)
		if err == nil {
			err = r.tables.check(&r.most)
		}
		if err != nil {
			return Call{}, r.wrong(err)
		}
		if call.Kind == more {
			r.partial = call.In
			continue
		}
		r.partial, r.weight = nil, 0
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
		case len(r.buffer) > r.most.line:
			r.line++
			return nil, r.wrong(fmt.Errorf("the line has more than %d bytes, which is the most that is read", r.most.line))
		case err == nil:
			r.line++
			r.tables.text += len(r.buffer)
			return r.buffer, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buffer) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			r.cut = fmt.Sprintf("%s was cut off after line %d", r.name, r.line)
			return nil, io.EOF
		case errors.Is(err, zstd.ErrWindowSizeExceeded):
			r.line++
			return nil, r.wrong(fmt.Errorf("%w: reading takes a window of at most %d bytes, and recordings are written with less; compress the file anew", err, maxWindow))
		default:
			r.line++
			return nil, r.wrong(err)
		}
	}
}

func (r *Reader) wrong(err error) error { return fmt.Errorf("%s:%d: %w", r.name, r.line, err) }

// split takes the lists out of a line, and decodes what else it says.
func (r *Reader) split(line []byte) (w wireCall, err error) {
	if !json.Valid(line) {
		return w, cmp.Or(strict.Decode(line, new(json.RawMessage)), errors.New("this is no JSON"))
	}
	head, lists := []byte("{"), map[string]*unread{"in": &w.In, "out": &w.Out, "won": &w.Won}
	for name, value := range strict.Members(line) {
		if list := lists[unquoted(name)]; list != nil && *list == nil && value[0] == '[' {
			*list = value
			continue
		}
		if len(head)+len(name)+len(value) > r.most.head {
			return w, fmt.Errorf("the call has more than %d bytes beside in, out and won", r.most.head)
		}
		if len(head) > 1 {
			head = append(head, ',')
		}
		head = append(append(append(head, name...), ':'), value...)
	}
	err = strict.Decode(append(head, '}'), &w)
	return w, err
}

// call checks that what is written is a call that can be made now.
func (r *Reader) call(line []byte) (Call, error) {
	w, err := r.split(line)
	c := Call{Kind: w.Call, At: w.At, Lane: w.Lane, Budget: w.Budget, GivenUp: w.GivenUp, In: r.partial}
	if err != nil {
		return c, err
	}
	if !sensible(w.At) {
		return c, fmt.Errorf("at %d, want a time from 0 to %d", w.At, maxTime)
	}
	if err := r.checkOrder(&w); err != nil {
		return c, err
	}
	for i, text := range strict.Elements(w.In) {
		e, err := r.event(i, text)
		if err != nil {
			return c, err
		}
		c.In = append(c.In, e)
	}
	for i, text := range strict.Elements(w.Out) {
		d, err := r.decision(i, text)
		if err != nil {
			return c, err
		}
		c.Out = append(c.Out, d)
	}
	c.Won, err = winners(&w)
	return c, err
}

// event decodes and checks the event of that place in its line.
func (r *Reader) event(i int, text []byte) (cluster.Event, error) {
	if len(text) > r.most.event {
		return nil, fmt.Errorf("event %d has %d bytes, of which at most %d are read", i+1, len(text), r.most.event)
	}
	w := &r.latest
	*w = wireEvent{}
	if err := r.decodeAt("in", i, text, w); err != nil {
		return nil, err
	}
	if err := w.check(r.needs); err != nil {
		return nil, fmt.Errorf("event %d: %w", i+1, err)
	}
	if err := r.weigh(w.weight(len(text))); err != nil {
		return nil, fmt.Errorf("event %d: %w", i+1, err)
	}
	r.tables.note(w)
	return w.event(), nil
}

// decision is event for a decision.
func (r *Reader) decision(i int, text []byte) (d sched.Decision, err error) {
	if len(text) > r.most.event {
		return d, fmt.Errorf("decision %d has %d bytes, of which at most %d are read", i+1, len(text), r.most.event)
	}
	var w wireDecision
	if err := r.decodeAt("out", i, text, &w); err != nil {
		return d, err
	}
	d, err = w.decision()
	if err = cmp.Or(err, r.weigh(w.weight(len(text)))); err != nil {
		return d, fmt.Errorf("decision %d: %w", i+1, err)
	}
	return d, nil
}

// weigh adds so many bytes to what the call takes, or says that they are too many.
func (r *Reader) weigh(bytes int) error {
	if r.weight += bytes; r.weight > r.most.call {
		return fmt.Errorf("the call takes more than %d bytes up to here, which is the most that is read", r.most.call)
	}
	return nil
}

// decodeAt decodes an element of a list, and says where a field stands that is not known.
func (r *Reader) decodeAt(list string, i int, text []byte, into any) error {
	err := r.values.decode(text, into)
	if err != nil {
		err = cmp.Or(strict.Unknown(fmt.Sprintf("%s[%d]", list, i), text, into), err)
	}
	return err
}

// winners says who won the races of the call.
func winners(w *wireCall) ([]mcmf.Algorithm, error) {
	var won []mcmf.Algorithm
	for i, text := range strict.Elements(w.Won) {
		by := mcmf.Algorithm(unquoted(text))
		switch {
		case w.Call != Step && w.Call != Finish:
			return nil, fmt.Errorf("%s runs no races", w.Call)
		case !slices.Contains(mcmf.Algorithms(), by):
			return nil, fmt.Errorf("race %d: unknown algorithm %.40q; there are %v", i+1, by, mcmf.Algorithms())
		}
		won = append(won, by)
	}
	return won, nil
}

// none reports whether a list has no elements.
func none(list unread) bool {
	for range strict.Elements(list) {
		return false
	}
	return true
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
		r.flying[w.Lane], r.tables.viewed[w.Lane] = w.Call == Begin, true
	default:
		return fmt.Errorf("unknown call %q", w.Call)
	}
	if (w.Call == Begin || w.Call == Finish) && (!none(w.In) || len(r.partial) > 0) {
		return fmt.Errorf("%s takes no events", w.Call)
	}
	if w.GivenUp < 0 || w.GivenUp > 0 && w.Call != Finish {
		return fmt.Errorf("%s gives up a solver at model %d; only finish says so, from 1", w.Call, w.GivenUp)
	}
	if (w.Call == Begin || w.Call == more) && !none(w.Out) {
		return fmt.Errorf("%s makes no decisions", w.Call)
	}
	return nil
}
