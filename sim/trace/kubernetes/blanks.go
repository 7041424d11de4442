package kubernetes

import "bytes"

// This file takes the blanks out of JSON: kubectl indents it, so that of a large dump two fifths are blanks, at each of which
// encoding/json looks twice, with a call. It is done only for that, and changes nothing of what the text means, or of whether it means
// something: blanks are left out only before and behind a bracket, a brace, a comma or a colon, where JSON allows any number of
// them. Where they are all that keeps two words apart, or stand in quotes, they stay.

// appendTight appends the text without such blanks.
func appendTight(to, text []byte) []byte {
	for len(text) > 0 {
		switch c := text[0]; c {
		case ' ', '\t', '\r', '\n':
			n := 1
			for n < len(text) && isBlank(text[n]) {
				n++
			}
			if len(to) > 0 && !isMark(to[len(to)-1]) && n < len(text) && !isMark(text[n]) {
				to = append(to, ' ')
			}
			text = text[n:]
		case '"':
			n := quoted(text)
			to = append(to, text[:n]...)
			text = text[n:]
		default:
			to = append(to, c)
			text = text[1:]
		}
	}
	return to
}

// quoted is how long the text in quotes is with which the text begins, or else all of it.
func quoted(text []byte) int {
	for n := 1; n < len(text); {
		quote := bytes.IndexByte(text[n:], '"')
		if quote < 0 {
			break
		}
		n += quote + 1
		if !isEscaped(text[:n-1]) {
			return n
		}
	}
	return len(text)
}

// isEscaped reports whether what comes behind the text, which is in quotes, is escaped.
func isEscaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 1
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isMark(c byte) bool {
	return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']'
}
