package strict

import (
	"bytes"
	"iter"
)

// This file takes JSON that is known to be valid apart without a copy, so that a list may be
// counted, or read element by element, before much is made of few bytes.

// Elements are the values of a list; none of anything else, such as null.
func Elements(list []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		rest, is := bytes.CutPrefix(blank(list), []byte("["))
		for i := 0; is; i++ {
			rest = blank(bytes.TrimPrefix(rest, []byte(",")))
			n := extent(rest)
			if n == 0 || !yield(i, rest[:n]) {
				return
			}
			rest = blank(rest[n:])
		}
	}
}

// Members are the names, in quotes, and values of an object; none of anything else.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		rest, is := bytes.CutPrefix(blank(object), []byte("{"))
		for is {
			rest = blank(bytes.TrimPrefix(rest, []byte(",")))
			n := extent(rest)
			if n == 0 {
				return
			}
			name := rest[:n]
			rest = blank(bytes.TrimPrefix(blank(rest[n:]), []byte(":")))
			n = extent(rest)
			if !yield(name, rest[:n]) {
				return
			}
			rest = blank(rest[n:])
		}
	}
}

func blank(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// extent is how long the value is with which the text begins; 0 at the end of what it is in.
func extent(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case quoted && c == '"':
			quoted = false
			if depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case depth > 1 && (c == '}' || c == ']'):
			depth--
		case depth == 1 && (c == '}' || c == ']'):
			return i + 1
		case depth == 0 && bytes.IndexByte([]byte("}],: \t\r\n"), c) >= 0:
			return i
		}
	}
	return len(text)
}
