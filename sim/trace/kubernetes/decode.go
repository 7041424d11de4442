package kubernetes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file finds the objects in what kubectl prints: one object, a List, or
// several of either behind each other, as JSON or as YAML, perhaps compressed
// with gzip. JSON is read object by object, and of a list block by block (list.go), so that
// the list of a large cluster is never in memory as a whole. YAML is read a document at a time, and each
// document goes through JSON, so that both mean the same.

const kubectl = "Nodes and Pods as kubectl get -o json prints them"

// reader reads one file.
type reader struct {
	file    string
	seen    int // objects so far
	add     take
	portion document.Portion
}

// An object, or a document of YAML, is in memory as a whole, and text that is compressed may be
// as long as one likes. Kubernetes keeps no object of more than 2 MB; a document may be a
// list of all of a cluster's.
const (
	mostObject   = 16 << 20
	mostDocument = 256 << 20
)

// take takes in an object, or why it could not be read. The place is where it
// stands in its file, such as items[3].
type take func(file, place string, o *manifest.Object, err error) error

// readAll reads a file, or the files of a folder by their names.
func readAll(path string, add take) error {
	files, err := filesOf(path)
	if err != nil {
		return err
	}
	return readFiles(files, add)
}

// readFiles reads the files one after the other.
func readFiles(files []string, add take) error {
	for _, file := range files {
		f, name, err := trace.Open(file)
		if err != nil {
			return err
		}
		r := reader{file: name, add: add}
		err = errors.Join(r.read(f), f.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

func filesOf(path string) ([]string, error) {
	if path == trace.Stdin {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		ending := filepath.Ext(strings.TrimSuffix(e.Name(), ".gz"))
		if !e.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, ending) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, &trace.Error{File: path, Want: "a .json, .yaml or .yml file in the folder, perhaps with .gz behind"}
	}
	return files, nil
}

// read reads the file, and says where it cannot.
func (r *reader) read(from io.Reader) error {
	text := bufio.NewReaderSize(from, 1<<16)
	if magic, _ := text.Peek(2); string(magic) == "\x1f\x8b" {
		unzip, err := gzip.NewReader(text)
		if err != nil {
			return r.error("", "intact gzip data", "", err)
		}
		text = bufio.NewReaderSize(unzip, 1<<16)
	}
	r.portion = document.Portion{In: text, Most: mostObject}
	text = bufio.NewReaderSize(&r.portion, 1<<16)
	first, err := firstByte(text)
	switch {
	case errors.Is(err, io.EOF):
		return r.error("", kubectl, "", errors.New("the file is empty"))
	case err != nil:
		return r.broken(err, 0)
	case isJSON(first, text):
		return r.json(newStream(text))
	}
	r.portion.Most = mostDocument
	return r.yaml(text)
}

// firstByte returns the first byte that is no space, which it leaves there.
func firstByte(text *bufio.Reader) (byte, error) {
	for {
		b, err := text.ReadByte()
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n\ufeff"), rune(b)) || b >= 0x80 {
			return b, text.UnreadByte()
		}
	}
}

// isJSON reports whether the text, which begins so, is JSON: YAML may begin with a brace as well, and its keys need no quotes.
func isJSON(first byte, text *bufio.Reader) bool {
	start, _ := text.Peek(512)
	inside := bytes.TrimLeft(start, "{[ \t\r\n")
	return (first == '{' || first == '[') && (len(inside) == 0 || bytes.IndexByte([]byte(`"}]`), inside[0]) >= 0)
}

func (r *reader) error(at, want, got string, cause error) error {
	if len(got) > 40 {
		got = got[:40] + "…"
	}
	return &trace.Error{File: r.file, At: at, Want: want, Got: got, Err: cause}
}

// broken says that the file ends, or stops being what it was, after the objects
// seen so far. A disk that fails is no fault of the file. Offsets in the error are counted from
// the base.
func (r *reader) broken(err error, base int64) error {
	if _, system := errors.AsType[*fs.PathError](err); system {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	place := ""
	if r.seen > 0 {
		place = fmt.Sprintf("after %d objects", r.seen)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = fmt.Errorf("byte %d: %w", base+syntax.Offset, err)
	}
	return r.error(place, kubectl, "", err)
}

// stream is a text of JSON, of which a decoder reads all but long lists.
type stream struct {
	*json.Decoder
	in   io.Reader // where the decoder reads
	base int64     // how far that begins from the start of the file
}

func newStream(in io.Reader) *stream { return &stream{json.NewDecoder(in), in, 0} }

// rest is what the decoder has not decoded.
func (s *stream) rest() io.Reader { return io.MultiReader(s.Buffered(), s.in) }

// offset is how far that is from the start of the file.
func (s *stream) offset() int64 { return s.base + s.InputOffset() }

// goOn has a new decoder read on behind a list, of which it has seen the bracket: in an object if there is one around it.
func (s *stream) goOn(in io.Reader, at int64, within bool) error {
	if !within {
		*s = stream{json.NewDecoder(in), in, at}
		return nil
	}
	const seen = `{"items":[]`
	in = io.MultiReader(strings.NewReader(seen), in)
	*s = stream{json.NewDecoder(in), in, at - int64(len(seen))}
	var list []struct{}
	_, brace := s.Token()
	_, key := s.Token()
	return errors.Join(brace, key, s.Decode(&list))
}

// json reads values until there are no more.
func (r *reader) json(s *stream) error {
	for {
		token, err := s.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return r.broken(err, s.base)
		case token == json.Delim('{'):
			err = r.object(s, "")
		case token == json.Delim('['):
			err = r.list(s, "", false)
		default:
			return r.error("", kubectl, fmt.Sprint(token), nil)
		}
		if err != nil {
			return err
		}
	}
}

// object reads what stands in braces: a list, or one object. The kind of a list
// says of which kind its items are; it is known before them, or stands there.
func (r *reader) object(s *stream, kind string) error {
	fields := map[string]json.RawMessage{}
	list := false
	for s.More() {
		key, err := s.Token()
		if err != nil {
			return r.broken(err, s.base)
		}
		name, _ := key.(string)
		if name != "items" {
			var value json.RawMessage
			if err := s.Decode(&value); err != nil {
				return r.broken(err, s.base)
			}
			fields[name] = value
			if name == "kind" {
				kind = textIn(value)
			}
			continue
		}
		list = true
		token, err := s.Token()
		switch {
		case err != nil:
			return r.broken(err, s.base)
		case token == json.Delim('['):
			if err := r.list(s, strings.TrimSuffix(kind, "List"), true); err != nil {
				return err
			}
		case token != nil:
			return r.error("items", "a list", fmt.Sprint(token), nil)
		}
	}
	if _, err := s.Token(); err != nil {
		return r.broken(err, s.base)
	}
	if list {
		return nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return r.broken(err, s.base)
	}
	one, err := r.one(text, fmt.Sprintf("object %d", r.seen+1), "")
	if err != nil {
		return r.broken(err, s.base)
	}
	r.seen++
	r.portion.Begin()
	return r.add(r.file, one.place, one.object, one.wrong)
}

// list reads a list behind its bracket, and goes on behind it: in an object if it is within one.
func (r *reader) list(s *stream, kind string, within bool) error {
	rest, at, err := r.items(s, kind)
	if err != nil {
		return err
	}
	return s.goOn(rest, at, within)
}

// textIn is the text that a value is, or nothing.
func textIn(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

// item is an object and where it stands, or what is wrong with it.
type item struct {
	place  string
	object *manifest.Object
	wrong  error
}

// one decodes an object. Fields of a wrong type matter only in objects that are
// read: other kinds may have fields of the same names. The error is that the text is no JSON.
func (r *reader) one(text []byte, place, kind string) (item, error) {
	o := &manifest.Object{}
	err := json.Unmarshal(text, o)
	var mistyped *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &mistyped) {
		return item{}, err
	}
	if o.Kind == "" {
		o.Kind = kind
	}
	if mistyped != nil && (isRead(o.Kind) || mistyped.Field == "" || mistyped.Field == "kind") {
		at := place
		if mistyped.Field != "" {
			at += ": " + fieldOf(mistyped.Field)
		}
		return item{place, nil, r.error(at, "a value of type "+mistyped.Type.String(), mistyped.Value, nil)}, nil
	}
	return item{place, o, nil}, nil
}

// isRead reports whether objects of the kind are read field by field.
func isRead(kind string) bool {
	return slices.Contains([]string{
		"Node", "Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "PodDisruptionBudget",
	}, kind)
}

// fieldOf is the path of a field without the names of our own structures, which have capital letters.
func fieldOf(path string) string {
	parts := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p != "" && p[0] >= 'A' && p[0] <= 'Z' }), ".")
}

// yaml reads documents until there are no more.
func (r *reader) yaml(text io.Reader) error {
	return document.NewStream(text, &r.portion).Each(
		func(number int, said any) error { return r.document(said, fmt.Sprintf("document %d", number)) },
		func(err error) error { return r.broken(err, 0) },
	)
}

// document reads a document of YAML. As JSON its fields are sorted, items before
// the kind, and so the kind goes ahead.
func (r *reader) document(said any, place string) error {
	asJSON, err := json.Marshal(said)
	if err != nil {
		if wrong, ok := errors.AsType[manifest.FieldError](notInJSON("", said)); ok {
			at := place + ": " + strings.TrimPrefix(wrong.Path, ".")
			return r.error(strings.TrimSuffix(at, ": "), wrong.Want, wrong.Got, nil)
		}
		return r.broken(err, 0)
	}
	fields, isObject := said.(map[string]any)
	if !isObject {
		return r.error("", kubectl, fmt.Sprint(said), nil)
	}
	s := newStream(bytes.NewReader(asJSON))
	if _, err := s.Token(); err != nil {
		return r.broken(err, 0)
	}
	kind, _ := fields["kind"].(string)
	return r.object(s, kind)
}

// notInJSON is a field of YAML that JSON has nothing like: a key that is no text,
// or a number that is none.
func notInJSON(path string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := notInJSON(path+"."+key, v[key]); err != nil {
				return err
			}
		}
	case []any:
		for i := range v {
			if err := notInJSON(fmt.Sprintf("%s[%d]", path, i), v[i]); err != nil {
				return err
			}
		}
	case map[any]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, fmt.Sprint(key))
		}
		slices.Sort(keys)
		return manifest.Wrong(path, "keys that are text, in quotes if they look like something else", strings.Join(keys, ", "))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return manifest.Wrong(path, "a number", fmt.Sprint(v))
		}
	}
	return nil
}
