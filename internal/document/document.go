// Package document walks a YAML document, or a JSON one, which is YAML too. A decoder into Go
// types stops at the first mistake and seldom says where it is; here every mistake is reported,
// in the order of the text, with file, line, column, path and what was expected.
package document

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/internal/nearest"
)

// Value is a value, and where it stands.
type Value struct {
	Node *yaml.Node
	Path string // such as nodes[2].name; empty for all of the document
}

// Given reports whether there is a value: the zero Value is none.
func (v Value) Given() bool { return v.Node != nil }

// Single reports whether it is one text, number or truth, and neither a list nor fields.
func (v Value) Single() bool { return v.Node.Kind == yaml.ScalarNode }

// At is the value at a path below it, as far as it is given: its node is otherwise that of
// what it would stand in.
func (v Value) At(path string) Value {
	at := Value{v.Node, path}
	if v.Path != "" && path != "" {
		at.Path = v.Path + "." + path
	} else if path == "" {
		at.Path = v.Path
	}
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		next := below(at.Node, step)
		if next == nil {
			break
		}
		at.Node = next
	}
	return at
}

// below is the value of a field, or the item of a number such as 2]; nil if there is none.
func below(node *yaml.Node, step string) *yaml.Node {
	if digits, isItem := strings.CutSuffix(step, "]"); isItem {
		if i, err := strconv.Atoi(digits); err == nil && node.Kind == yaml.SequenceNode && i < len(node.Content) {
			return node.Content[i]
		}
		return nil
	}
	for n := 0; node.Kind == yaml.MappingNode && n+1 < len(node.Content); n += 2 {
		if node.Content[n].Value == step {
			return node.Content[n+1]
		}
	}
	return nil
}

// ErrEmpty is what is wrong with a text that says nothing.
var ErrEmpty = errors.New("the file says nothing")

// Field is a field that may be given, and what reads it.
type Field struct {
	Name string
	Read func(Value)
}

// Reader collects what is wrong with a document.
type Reader struct {
	name  string
	wrong []mistake
}

// mistake is an error about a place of the text.
type mistake struct {
	line, column int
	err          error
}

// Open reads the text, in which there must be one document; errors call it name.
func Open(name string, text []byte) (*Reader, Value, error) {
	stream := StreamOf(text)
	var document, second yaml.Node
	err := stream.Next(&document)
	switch {
	case errors.Is(err, io.EOF), err == nil && (len(document.Content) == 0 || isNull(document.Content[0])):
		return nil, Value{}, fmt.Errorf("%s: %w", name, ErrEmpty)
	case err != nil:
		return nil, Value{}, fmt.Errorf("%s: neither YAML nor JSON: %w", name, err)
	}
	if err := stream.Next(&second); !errors.Is(err, io.EOF) {
		return nil, Value{}, more(name, err)
	}
	return &Reader{name: name}, Value{Node: document.Content[0]}, nil
}

// more says what follows the document, where reading on gives such an error, or none: another
// one, or text that is not even that.
func more(name string, err error) error {
	if err == nil || !strings.HasSuffix(err.Error(), "did not find expected <document start>") {
		return fmt.Errorf("%s: there is more than one YAML document; keep one and remove the line ---", name)
	}
	before := 0 // lines; the parser names none for the first
	_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &before)
	return fmt.Errorf("%s:%d: the document has ended, and more text follows; keep one document, such as one object of JSON, and nothing behind it", name, before+1)
}

// Complain notes a mistake at a value.
func (r *Reader) Complain(at Value, format string, args ...any) {
	path := ""
	if at.Path != "" {
		path = at.Path + ": "
	}
	err := fmt.Errorf("%s:%d:%d: %s%s", r.name, at.Node.Line, at.Node.Column, path, fmt.Sprintf(format, args...))
	r.wrong = append(r.wrong, mistake{at.Node.Line, at.Node.Column, err})
}

// Failed reports whether something was wrong so far.
func (r *Reader) Failed() bool { return r.Mistakes() > 0 }

// Mistakes is how many were reported so far.
func (r *Reader) Mistakes() int { return len(r.wrong) }

// Err is all that was wrong, in the order of the text; nil if nothing was.
func (r *Reader) Err() error {
	slices.SortStableFunc(r.wrong, func(a, b mistake) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var all []error
	for _, m := range r.wrong {
		all = append(all, m.err)
	}
	return errors.Join(all...)
}

// Fields reads the fields of a mapping, and returns which there were.
func (r *Reader) Fields(v Value, known []Field) map[string]bool {
	given := map[string]bool{}
	var names []string
	for _, f := range known {
		names = append(names, f.Name)
	}
	r.Pairs(v, known[0].Name, func(key, value Value) {
		at := slices.Index(names, key.Node.Value)
		if at < 0 {
			r.Complain(key, "unknown field; %s", Meant(key.Node.Value, names))
			return
		}
		given[key.Node.Value] = true
		known[at].Read(value)
	})
	return given
}

// Pairs reads the keys of a mapping and their values, in order; an example of a key is for
// errors.
func (r *Reader) Pairs(v Value, example string, read func(key, value Value)) {
	if v.Node.Kind != yaml.MappingNode {
		r.Complain(v, "expected fields, such as \"%s: ...\"", example)
		return
	}
	lines := map[string]int{}
	for n := 0; n+1 < len(v.Node.Content); n += 2 {
		key := v.Node.Content[n]
		path := key.Value
		if v.Path != "" {
			path = v.Path + "." + key.Value
		}
		at := Value{key, path}
		first, twice := lines[key.Value]
		switch {
		case key.ShortTag() == "!!merge":
			r.Complain(Value{key, v.Path}, "merging by << is not read; write the fields out")
		case key.Kind != yaml.ScalarNode:
			r.Complain(Value{key, v.Path}, "expected the name of a field")
		case twice:
			r.Complain(at, "given twice, first on line %d; keep one", first)
		default:
			lines[key.Value] = key.Line
			if value := (Value{v.Node.Content[n+1], path}); r.written(value) {
				read(at, value)
			}
		}
	}
}

// List reads the items of a list; what they are is for errors.
func (r *Reader) List(v Value, what string, read func(Value)) {
	if v.Node.Kind != yaml.SequenceNode {
		r.Complain(v, "expected a list of %s, each behind a dash or in brackets", what)
		return
	}
	for i, node := range v.Node.Content {
		if item := (Value{node, fmt.Sprintf("%s[%d]", v.Path, i)}); r.written(item) {
			read(item)
		}
	}
}

// written complains of a value that is none.
func (r *Reader) written(v Value) bool {
	switch {
	case v.Node.Kind == yaml.AliasNode:
		r.Complain(v, "is written as an alias, *%s; write it out, or in quotes if * is meant", v.Node.Value)
	case isNull(v.Node):
		r.Complain(v, "has no value; give one or remove the line")
	default:
		return true
	}
	return false
}

// Text is a value that is a text; empty, with a complaint, if it is none.
func (r *Reader) Text(v Value) string {
	if v.Node.Kind != yaml.ScalarNode {
		r.Complain(v, "expected one value, found a list or fields")
		return ""
	}
	text := strings.TrimSpace(v.Node.Value)
	if text == "" {
		r.Complain(v, "is empty")
	}
	return text
}

// Whole is a whole number within bounds; the lower one, with a complaint, if it is none.
func (r *Reader) Whole(v Value, low, high int64) int64 {
	text := r.Text(v)
	n, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || n < low || n > high) {
		r.Complain(v, "%q, want a whole number from %d to %d", text, low, high)
	}
	return max(low, min(n, high))
}

// Bool is true or false.
func (r *Reader) Bool(v Value) bool {
	text := r.Text(v)
	if text != "" && text != "true" && text != "false" {
		r.Complain(v, "%q, want true or false", text)
	}
	return text == "true"
}

// Decimal is a number such as 2 or 0.25, exactly, from 0 to the most; false, with a complaint,
// if it is none.
func (r *Reader) Decimal(v Value, most int64) (*big.Rat, bool) {
	text := r.Text(v)
	number, ok := ParseDecimal(text)
	switch {
	case text == "":
		return nil, false
	case !ok:
		r.Complain(v, "%q is not a number such as 2 or 0.25", text)
		return nil, false
	case number.Sign() < 0 || number.Cmp(big.NewRat(most, 1)) > 0:
		r.Complain(v, "%s, want 0 to %d", text, most)
		return nil, false
	}
	return number, true
}

// ParseDecimal reads a number without an exponent exactly.
func ParseDecimal(text string) (*big.Rat, bool) {
	digits := strings.TrimPrefix(text, "-")
	if len(text) > 40 || strings.Trim(digits, "0123456789.") != "" || strings.Trim(digits, ".") == "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// Meant says which of the known words a word may have been meant to be, or else which there
// are.
func Meant(word string, known []string) string {
	if near, ok := nearest.Of(word, known); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	const most = 16
	if len(known) > most {
		return fmt.Sprintf("there are %d others", len(known))
	}
	return "there are " + strings.Join(known, ", ")
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}
