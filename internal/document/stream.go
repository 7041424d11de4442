package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// This file reads documents one after the other. It is the one place where a text is taken apart as YAML: Open does so for a text
// of which every mistake is wanted, others for what programs wrote, which may be long and hold many.

// Portion reads as much as one document, or one object of a long list, may have, again and again.
type Portion struct {
	In   io.Reader
	Most int // bytes
	read int // since the last one
}

// Read reads, or says that it becomes too much.
func (p *Portion) Read(to []byte) (int, error) {
	n, err := p.In.Read(to)
	if p.read += n; p.read > p.Most {
		return 0, fmt.Errorf("an object or a document of more than %d bytes, which is the most that is read", p.Most)
	}
	return n, err
}

// Begin says that another one begins.
func (p *Portion) Begin() { p.read = 0 }

// Stream is a text with any number of documents.
type Stream struct {
	decoder *yaml.Decoder
	bound   *Portion
	number  int
}

// NewStream reads documents; in reads from the bound, perhaps through a buffer, so that each is no longer than that.
func NewStream(in io.Reader, bound *Portion) *Stream {
	return &Stream{decoder: yaml.NewDecoder(in), bound: bound}
}

// StreamOf reads the documents of a text, which is in memory already (see ReadAll).
func StreamOf(text []byte) *Stream {
	p := &Portion{In: bytes.NewReader(text), Most: len(text)}
	return NewStream(p, p)
}

// Next reads the next document, and returns io.EOF if there is none.
func (s *Stream) Next(into any) error {
	s.number++
	s.bound.Begin()
	return s.decoder.Decode(into)
}

// Each calls read with every document that says something, counted from 1 with those that do not. What is broken ends it, as broken
// puts it, and so does an error of read.
func (s *Stream) Each(read func(number int, document any) error, broken func(error) error) error {
	for {
		var document any
		err := s.Next(&document)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return broken(err)
		case document == nil:
			continue
		}
		if err := read(s.number, document); err != nil {
			return err
		}
	}
}
