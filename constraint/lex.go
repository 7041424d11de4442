package constraint

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file cuts a text into tokens. A tag is written as it is if it has only letters,
// digits and the characters of tagMarks, and does not begin with a colon; any other in
// double quotes, with Go's escapes. From # to the end of a line is a comment.

// tagMarks are what a tag may have beside letters and digits and need no quotes.
const tagMarks = "-_./:=@+~"

// token is a piece of a text: a sign of the grammar, or a word.
type token struct {
	kind  tokenKind
	text  string // as it stands there
	value string // of a word, without quotes
	start int    // the byte at which it begins
}

type tokenKind byte

// Every other kind is the sign itself; those of the paper are the kinds of ours.
const (
	endOfText tokenKind = 0
	bareWord  tokenKind = 'a'
	inQuotes  tokenKind = '"'
	infinity  tokenKind = 'i'
	strange   tokenKind = '?'
)

// nextToken is the first token at or behind a byte of the text.
func nextToken(text string, from int) token {
	from = skipBlank(text, from)
	if from == len(text) {
		return token{start: from}
	}
	is := func(kind tokenKind, length int) token {
		return token{kind: kind, text: text[from : from+length], start: from}
	}
	first, size := utf8.DecodeRuneInString(text[from:])
	switch first {
	case '{', '}', ',', '&', '|', ':', '*':
		return is(tokenKind(first), size)
	case '∧':
		return is('&', size)
	case '∨':
		return is('|', size)
	case '∞':
		return is(infinity, size)
	case '"':
		literal, err := strconv.QuotedPrefix(text[from:])
		if err != nil {
			return is(strange, size)
		}
		t := is(inQuotes, len(literal))
		t.value, _ = strconv.Unquote(literal) // QuotedPrefix has checked it
		return t
	}
	length := bareLength(text[from:])
	if length == 0 {
		return is(strange, size)
	}
	t := is(bareWord, length)
	t.value = t.text
	return t
}

// skipBlank is where white space and comments from a byte on end.
func skipBlank(text string, from int) int {
	for from < len(text) {
		r, size := utf8.DecodeRuneInString(text[from:])
		switch {
		case unicode.IsSpace(r):
			from += size
		case r == '#':
			line := strings.IndexByte(text[from:], '\n')
			if line < 0 {
				return len(text)
			}
			from += line
		default:
			return from
		}
	}
	return from
}

// bareLength is how many bytes at the beginning of a text are a word that needs no quotes.
func bareLength(text string) int {
	if strings.HasPrefix(text, ":") {
		return 0
	}
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(tagMarks, r) {
			return i
		}
	}
	return len(text)
}
