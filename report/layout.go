package report

import "bytes"

// This file lays JSON out for people as json.Indent does, but for lists that
// hold no objects, which stay on one line: a month has 43,200 numbers a column.

// layOut appends compact JSON to the text, its first line standing at the depth.
func layOut(text *bytes.Buffer, compact []byte, depth int) {
	quoted, escaped := false, false
	flat := 0 // how many lists on one line we are in
	for i, b := range compact {
		switch {
		case quoted:
			quoted, escaped = b != '"' || escaped, b == '\\' && !escaped
		case b == '"':
			quoted = true
		case flat > 0 || b == '[' && compact[i+1] != '{':
			switch b {
			case '[':
				flat++
			case ']':
				flat--
			}
		case b == '{' && compact[i+1] == '}', b == '}' && compact[i-1] == '{': // empty
		case b == '{' || b == '[':
			text.WriteByte(b)
			depth++
			newLine(text, depth)
			continue
		case b == '}' || b == ']':
			depth--
			newLine(text, depth)
		case b == ',':
			text.WriteByte(b)
			newLine(text, depth)
			continue
		case b == ':':
			text.WriteString(": ")
			continue
		}
		text.WriteByte(b)
	}
}

// newLine begins a line at the depth.
func newLine(text *bytes.Buffer, depth int) {
	text.WriteByte('\n')
	for range depth {
		text.WriteString("  ")
	}
}
