package recording

import (
	"bytes"
	"encoding/json"
)

// This file decodes what a line was taken apart into (strict.Elements), so that of its events
// only one at a time is there as it was written: a few bytes of text make a large wireEvent.

// values decodes values one after the other, and keeps its memory.
type values struct {
	text    bytes.Reader
	decoder *json.Decoder
}

// decode decodes the value, whose fields must all be known.
func (v *values) decode(value []byte, into any) error {
	if v.decoder == nil {
		v.decoder = json.NewDecoder(&v.text)
		v.decoder.DisallowUnknownFields()
	}
	v.text.Reset(value)
	return v.decoder.Decode(into)
}

// unquoted is the name that stands in quotes; empty of anything else.
func unquoted(name []byte) string {
	var s string
	if json.Unmarshal(name, &s) != nil {
		return ""
	}
	return s
}
