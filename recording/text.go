package recording

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// This file keeps text that is no UTF-8, as names may be, though JSON has nothing like it. A
// byte that is part of no character is written as the lone surrogate \udc80 to \udcff, which
// no other text contains; Python calls that surrogateescape.

// text is a name as it is written.
type text string

// MarshalJSON writes what encoder.quote does.
func (t text) MarshalJSON() ([]byte, error) {
	var x encoder
	x.quote(string(t))
	return x.line, nil
}

// UnmarshalJSON reads it.
func (t *text) UnmarshalJSON(quoted []byte) error {
	if quoted[0] != '"' || !bytes.Contains(quoted, []byte(`\u`)) {
		return json.Unmarshal(quoted, (*string)(t))
	}
	var whole []byte
	from := 1
	for i := 1; i < len(quoted)-1; {
		switch {
		case quoted[i] != '\\':
			i++
		case quoted[i+1] != 'u':
			i += 2
		default:
			unit := unitAt(quoted, i)
			switch {
			case unit>>10 == 0xd800>>10 && unitAt(quoted, i+6)>>10 == 0xdc00>>10:
				i += 12 // a character
			case unit>>7 == 0xdc80>>7:
				part, err := unescaped(quoted[from:i])
				if err != nil {
					return err
				}
				whole = append(append(whole, part...), byte(unit))
				i += 6
				from = i
			default:
				i += 6
			}
		}
	}
	part, err := unescaped(quoted[from : len(quoted)-1])
	*t = text(append(whole, part...))
	return err
}

// unitAt is the number of an escape \uXXXX that stands there; 0 if none does.
func unitAt(quoted []byte, i int) uint64 {
	if i+6 > len(quoted) || quoted[i] != '\\' || quoted[i+1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(quoted[i+2:i+6]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}

// unescaped is what stands between quotes.
func unescaped(part []byte) (string, error) {
	var s string
	err := json.Unmarshal(append(append([]byte{'"'}, part...), '"'), &s)
	return s, err
}

// quote appends text in quotes. What is not plain is left to encoding/json.
func (x *encoder) quote(v string) {
	if !plain(v) {
		x.quoteAny(v)
		return
	}
	x.line = append(x.line, '"')
	x.line = append(x.line, v...)
	x.line = append(x.line, '"')
}

func plain(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// quoteAny is quote of text that is not plain.
func (x *encoder) quoteAny(v string) {
	x.line = append(x.line, '"')
	for from, i := 0, 0; i <= len(v); {
		r, size := utf8.DecodeRuneInString(v[i:])
		if i < len(v) && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		quoted, err := json.Marshal(v[from:i])
		if err != nil {
			panic("recording: a text that cannot be quoted: " + err.Error())
		}
		x.line = append(x.line, quoted[1:len(quoted)-1]...)
		if i < len(v) {
			x.line = append(x.line, `\u`...)
			x.line = strconv.AppendUint(x.line, 0xdc00+uint64(v[i]), 16)
		}
		i++
		from = i
	}
	x.line = append(x.line, '"')
}

// textsOf are names to be written.
func textsOf(names []string) []text {
	var texts []text
	for _, name := range names {
		texts = append(texts, text(name))
	}
	return texts
}

// namesOf are names that were read.
func namesOf(texts []text) []string {
	var names []string
	for _, t := range texts {
		names = append(names, string(t))
	}
	return names
}
