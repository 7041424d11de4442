package kubernetes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// This file reads the items of a list. Those of a large cluster are half a gigabyte of text, which takes longer to decode than
// all else that is done with them before somebody decides. So one goroutine reads block by block and only looks where items end, the
// items of a block are decoded beside that, those of several blocks at once, and whoever called takes them in, in the
// order of the file. What comes of it is what came of a json.Decoder that read one item after the other, mistakes among it:
// the first in the file is the one that is reported.
//
// An item ends with the brace that closes its first one, braces in quotes aside. Text that is no JSON may seem to end elsewhere,
// but it begins where an item does, and whoever decodes it from there meets the first mistake in it. Whatever else stands in a
// list, is missing between its items, or ends too early is left to a json.Decoder, which knows what to say of it.

// How much is read at once: little of a short list, a hundred pods or so of a long one.
const (
	leastBlock = 4 << 10
	mostBlock  = 256 << 10
)

// list is a list that is being read.
type list struct {
	*reader
	kind  string // of its items, where they do not say it
	found int    // items so far
	size  int    // of the next block
	scan  scan

	in       io.Reader // what is not read yet
	at       int64     // how far the last block, or in the end what is behind the list, is from the start of the file
	decoding chan *block
	free     chan *block   // which may be used again
	stop     chan struct{} // is closed once nobody wants more
}

// block is a part of a list's text, and the items that end in it.
type block struct {
	text   []byte
	at     int64 // how far it is from the start of the file
	index  int   // of its first item
	spans  []span
	broken error // why the list does not go on behind its items; nil if it does, or is over
	base   int64 // how far what is broken is from the start of the file

	tight   []byte // the text of an item without blanks
	items   []item
	decoded chan struct{} // is closed once the items are decoded
}

// span is where an item stands in its block.
type span struct{ from, to int }

// items reads a list up to its end, and returns what is behind it and how far that is from the start of the file.
func (r *reader) items(s *stream, kind string) (rest io.Reader, at int64, err error) {
	most := runtime.GOMAXPROCS(0) + 1 // blocks that wait to be taken in
	l := &list{
		reader: r, kind: kind, size: leastBlock, in: s.rest(), at: s.offset(),
		decoding: make(chan *block, most), free: make(chan *block, most), stop: make(chan struct{}),
	}
	go l.read()
	for b := range l.decoding {
		<-b.decoded // of all blocks, so that nobody is at work in the end
		if err != nil {
			continue
		}
		if err = b.takeIn(r); err != nil {
			close(l.stop)
		}
		select {
		case l.free <- b:
		default:
		}
	}
	return l.in, l.at, err
}

// takeIn takes in the items, and says what is wrong behind them.
func (b *block) takeIn(r *reader) error {
	for _, one := range b.items {
		r.seen++
		if err := r.add(r.file, one.place, one.object, one.wrong); err != nil {
			return err
		}
	}
	if b.broken != nil {
		return r.broken(b.broken, b.base)
	}
	return nil
}

// decode decodes the items, up to the first that is no JSON.
func (b *block) decode(r *reader, kind string) {
	defer close(b.decoded)
	for i, s := range b.spans {
		text, place := b.text[s.from:s.to], fmt.Sprintf("items[%d]", b.index+i)
		b.tight = appendTight(b.tight[:0], text)
		one, err := r.one(b.tight, place, kind)
		if err != nil { // which is counted from the start of the text as it is
			_, err = r.one(text, place, kind)
		}
		if err != nil {
			b.broken, b.base = err, b.at+int64(s.from)
			return
		}
		b.items = append(b.items, one)
	}
}

// read reads blocks, and has them decoded.
func (l *list) read() {
	defer close(l.decoding)
	for b := l.block(nil); b != nil; {
		if len(b.text) == cap(b.text) {
			b.text = append(make([]byte, 0, 2*cap(b.text)), b.text...)
		}
		n, err := l.in.Read(b.text[len(b.text):min(cap(b.text), len(b.text)+mostBlock)])
		b.text = b.text[:len(b.text)+n]
		l.split(b, err)
		over := b.broken != nil || l.scan.where == atEnd
		if len(b.spans) == 0 && !over {
			continue
		}
		if len(b.spans) > 0 {
			l.portion.Begin()
		}
		next := l.next(b, err, over)
		go b.decode(l.reader, l.kind)
		select {
		case l.decoding <- b:
		case <-l.stop:
			<-b.decoded
			return
		}
		b = next
	}
}

// next is a block that begins with what the block has behind its items. If the list is over there is none, and that is to be read
// before all else, or why no more can be.
func (l *list) next(b *block, err error, over bool) *block {
	keep := l.scan.start()
	l.at += int64(keep)
	if over {
		behind := l.in
		if err != nil {
			behind = failed{err}
		}
		l.in = io.MultiReader(bytes.NewReader(bytes.Clone(b.text[keep:])), behind)
		return nil
	}
	l.scan.next -= keep
	l.scan.from -= keep
	return l.block(b.text[keep:])
}

// block is one that begins with that text.
func (l *list) block(begin []byte) *block {
	b := &block{}
	select {
	case b = <-l.free:
	default:
	}
	text := b.text[:0]
	if cap(text) < len(begin)+l.size {
		text = make([]byte, 0, len(begin)+l.size)
	}
	l.size = min(2*l.size, mostBlock)
	clear(b.items)
	*b = block{
		text: append(text, begin...), at: l.at, index: l.found,
		spans: b.spans[:0], tight: b.tight, items: b.items[:0], decoded: make(chan struct{}),
	}
	return b
}

// split finds the items that end in the block. The error is why no more can be read behind it, if so.
func (l *list) split(b *block, err error) {
	s := &l.scan
	for s.where != atEnd {
		switch s.step(b.text, errors.Is(err, io.EOF)) {
		case goesOn:
		case itemEnds:
			b.spans = append(b.spans, span{s.from, s.next})
			l.found++
			s.where = behindItem
		case needsMore:
			if err == nil {
				return
			}
			fallthrough
		case isOdd:
			b.base, b.broken = s.mistake(b.text, err)
			b.base += b.at
			return
		}
	}
}

// scan is how far the text of a list was looked through.
type scan struct {
	where  where
	next   int  // where to go on
	from   int  // where the item begins, once it has begun
	depth  int  // open braces in it
	quoted bool // it goes on between quotes
}

// where is what comes next in a list.
type where uint8

const (
	atStart    where = iota // an item, or the end
	atItem                  // an item, as there was a comma
	inObject                // more of an item in braces
	behindItem              // a comma, or the end
	atEnd                   // nothing
)

// outcome is what came of a step.
type outcome uint8

const (
	goesOn    outcome = iota
	itemEnds          // what stands from scan.from to scan.next
	needsMore         // text
	isOdd             // a json.Decoder is to say what is wrong
)

// start is where the text begins that is still needed.
func (s *scan) start() int {
	if s.where == inObject {
		return s.from
	}
	return s.next
}

// step takes the next step. Last says that there is no text behind this.
func (s *scan) step(text []byte, last bool) outcome {
	if s.where == inObject {
		return s.object(text)
	}
	for s.next < len(text) && isBlank(text[s.next]) {
		s.next++
	}
	if s.next == len(text) {
		return needsMore
	}
	switch c := text[s.next]; {
	case c == ']' && s.where != atItem:
		s.next++
		s.where = atEnd
		return goesOn
	case c == ',' && s.where == behindItem:
		s.next++
		s.where = atItem
		return goesOn
	case s.where == behindItem:
		return isOdd
	case c == '{':
		s.from = s.next
		s.where = inObject
		return goesOn
	}
	return s.other(text, last)
}

// object looks for the end of an item in braces.
func (s *scan) object(text []byte) outcome {
	for s.next < len(text) {
		if s.quoted {
			quote := bytes.IndexByte(text[s.next:], '"')
			if quote < 0 {
				s.next = len(text)
				return needsMore
			}
			s.next += quote + 1
			s.quoted = isEscaped(text[:s.next-1])
			continue
		}
		c := text[s.next]
		s.next++
		switch c {
		case '"':
			s.quoted = true
		case '{':
			s.depth++
		case '}':
			if s.depth--; s.depth == 0 {
				return itemEnds
			}
		}
	}
	return needsMore
}

// other looks for the end of an item that is no object.
func (s *scan) other(text []byte, last bool) outcome {
	var value json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text[s.next:]))
	err := d.Decode(&value)
	end := s.next + int(d.InputOffset())
	switch {
	case err == nil && (end < len(text) || last):
		s.from, s.next = s.next, end
		return itemEnds
	case err == nil, errors.Is(err, io.ErrUnexpectedEOF):
		return needsMore
	}
	return isOdd
}

// mistake is what is wrong with the text behind the last item, which goes on with the error, and how far from the start of the
// text offsets in that are counted.
func (s *scan) mistake(text []byte, err error) (base int64, wrong error) {
	text, base = text[s.start():], int64(s.start())
	var value json.RawMessage
	if s.where != behindItem {
		wrong = json.Unmarshal(text, &value) // which does not copy what may be long
		switch syntax, _ := errors.AsType[*json.SyntaxError](wrong); {
		case wrong == nil || wrong.Error() == "unexpected end of JSON input":
			return base, cmp.Or(err, io.ErrUnexpectedEOF)
		case syntax != nil && syntax.Offset < int64(len(text)):
			return base, wrong
		}
		return base, json.NewDecoder(io.MultiReader(bytes.NewReader(text), failed{cmp.Or(err, io.ErrUnexpectedEOF)})).Decode(&value)
	}
	const item = "[{}"
	d := json.NewDecoder(io.MultiReader(strings.NewReader(item), bytes.NewReader(text), failed{cmp.Or(err, io.EOF)}))
	for range len(item) {
		if _, wrong = d.Token(); wrong != nil {
			return base, wrong
		}
	}
	if d.More() {
		wrong = d.Decode(&value)
	} else {
		_, wrong = d.Token()
	}
	return base - int64(len(item)), wrong
}

// failed is text that cannot be read.
type failed struct{ err error }

// Read returns the error.
func (f failed) Read([]byte) (int, error) { return 0, f.err }
