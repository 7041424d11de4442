package parquet

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file reads the footer of a file: what columns there are, and where they lie.

// What a footer may hold. Each byte of it could stand for an element, a column of a group of rows or a level of nesting,
// which take many bytes here, and each column repeats the names of the groups that it is in.
const (
	mostFooter   = 64 << 20
	mostColumns  = 1 << 14
	mostElements = 4 * mostColumns // a column of a list takes three
	mostPaths    = 8 << 20         // bytes of the paths of all columns
	mostChunks   = 1 << 20         // columns of all groups of rows, and the groups
	mostMeta     = 1 << 12         // what the file says about itself
)

// rowsFree and rowsPer bound the rows of a file: so many, and so many more for each byte. A run of a few bytes may stand for any
// number of rows that are all the same, or count up, and what is read of them does not stay that small.
const rowsFree, rowsPer = 4 << 20, 100

// Column is a column as its readers see it.
type Column struct {
	// Name is the path through groups, with points between, as resource_request.cpus. What a list is wrapped in has no name
	// there: constraint.list.element.name is constraint.name.
	Name string
	Kind Kind
	// Repeated says that a row has any number of values.
	Repeated bool
}

// File is a file of which the footer was read.
type File struct {
	in      io.ReaderAt
	size    int64
	paths   int // bytes of the paths of all columns
	leaves  []leaf
	columns []Column
	groups  []group
	meta    map[string]string
}

// leaf is how the values of a column lie in the file.
type leaf struct {
	path     string // as it stands in the file
	physical int32
	maxDef   int32 // the definition level of a value that is there
	maxRep   int32
	listDef  int32 // the least definition level of an element of the list
}

// group is a group of rows.
type group struct {
	rows   int64
	chunks []chunk
}

// chunk is where a column of a group of rows lies.
type chunk struct {
	path     string
	physical int32
	codec    int32
	values   int64
	from     int64
	size     int64
}

// Open reads the footer.
func Open(in io.ReaderAt, size int64) (*File, error) {
	var ends [8]byte
	least := int64(len(Magic) + len(ends))
	if size < least {
		return nil, &Error{Want: fmt.Sprintf("a Parquet file, of %d bytes at least", least), Got: fmt.Sprintf("%d bytes", size)}
	}
	if _, err := in.ReadAt(ends[:4], 0); err != nil {
		return nil, err
	}
	if string(ends[:4]) != Magic {
		return nil, &Error{Want: "a Parquet file, which begins with " + Magic, Got: string(ends[:4])}
	}
	if _, err := in.ReadAt(ends[:], size-8); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(ends[:4]))
	switch {
	case string(ends[4:]) != Magic:
		return nil, &Error{Want: "a Parquet file, which ends with " + Magic, Got: string(ends[4:]), Hint: "is it cut short?"}
	case length > min(size-least, mostFooter):
		return nil, &Error{At: "footer", Want: fmt.Sprintf("a length up to %d", min(size-least, mostFooter)), Got: fmt.Sprint(length)}
	}
	text := make([]byte, length)
	if _, err := in.ReadAt(text, size-8-length); err != nil {
		return nil, err
	}
	f := &File{in: in, size: size, meta: map[string]string{}}
	return f, f.read(&thrift{data: text}, size-8-length)
}

// Columns lists the columns.
func (f *File) Columns() []Column { return f.columns }

// Meta is what the file says under a key about itself.
func (f *File) Meta(key string) (string, bool) {
	value, ok := f.meta[key]
	return value, ok
}

// read reads the metadata of the file, whose pages end where the footer begins.
func (f *File) read(t *thrift, end int64) error {
	var schema []element
	chunks := 0
	t.fields(wireStruct, func(id int16, wire byte) {
		switch id {
		case 2:
			t.list(wire, func(wire byte) {
				t.bound(len(schema), mostElements, "elements of the schema")
				schema = append(schema, readElement(t, wire))
			})
		case 4:
			t.list(wire, func(wire byte) { f.groups = append(f.groups, readGroup(t, wire, &chunks)) })
		case 5:
			t.list(wire, func(wire byte) { f.readMeta(t, wire) })
		default:
			t.skip(wire)
		}
	})
	if t.wrong != nil {
		return t.wrong
	}
	if t.broken {
		return &Error{At: "footer", Want: "the metadata of a Parquet file, in Thrift's compact protocol", Hint: "the file is damaged"}
	}
	if err := f.flatten(schema); err != nil {
		return err
	}
	for g := range f.groups {
		if err := f.checkGroup(&f.groups[g], end); err != nil {
			err.At = fmt.Sprintf("row group %d, %s", g+1, err.At)
			return err
		}
	}
	if err := f.checkRows(); err != nil {
		return err
	}
	if err := f.checkOverlap(); err != nil {
		return err
	}
	return nil
}

func (f *File) readMeta(t *thrift, wire byte) {
	var key, value string
	t.fields(wire, func(id int16, wire byte) {
		switch id {
		case 1:
			key = string(t.text(wire))
		case 2:
			value = string(t.text(wire))
		default:
			t.skip(wire)
		}
	})
	t.bound(len(f.meta), mostMeta, "things that the file says about itself")
	f.meta[key] = value
}

// element is a group or a column of the schema, which is a tree in the order of its depths.
type element struct {
	name       string
	physical   int32 // -1 of a group
	repetition int32
	children   int32
	converted  int32 // -1 where it is not said
	list       bool
	unsigned   bool // an integer without sign, as newer files say it
	other      bool // a decimal, or another thing whose bytes are not what they seem
	json       bool
}

func readElement(t *thrift, wire byte) element {
	e := element{physical: -1, converted: -1}
	t.fields(wire, func(id int16, wire byte) {
		switch id {
		case 1:
			e.physical = t.int32(wire)
		case 3:
			e.repetition = t.int32(wire)
		case 4:
			e.name = string(t.text(wire))
		case 5:
			e.children = t.int32(wire)
		case 6:
			e.converted = t.int32(wire)
		case 10:
			e.readLogical(t, wire)
		default:
			t.skip(wire)
		}
	})
	e.list = e.list || e.converted == convertedList
	e.other = e.other || e.converted == convertedDecimal
	e.json = e.json || e.converted == convertedJSON
	e.unsigned = e.unsigned || e.converted >= convertedUint8 && e.converted <= convertedUint64
	return e
}

// readLogical reads what newer files say beside the converted type, a union of which one field is there.
func (e *element) readLogical(t *thrift, wire byte) {
	t.fields(wire, func(id int16, wire byte) {
		switch id {
		case 3:
			e.list = true
		case 5, 15: // a decimal, a float of 16 bits
			e.other = true
		case 12:
			e.json = true
		case 10:
			t.fields(wire, func(id int16, wire byte) {
				if id == 2 {
					e.unsigned = !t.bool(wire)
					return
				}
				t.skip(wire)
			})
			return
		}
		t.skip(wire)
	})
}

// readGroup reads a group of rows; read counts the groups, and the columns of each.
func readGroup(t *thrift, wire byte, read *int) group {
	count := func() {
		t.bound(*read, mostChunks, "columns of groups of rows")
		*read++
	}
	count()
	var g group
	t.fields(wire, func(id int16, wire byte) {
		switch id {
		case 1:
			t.list(wire, func(wire byte) {
				count()
				g.chunks = append(g.chunks, readChunk(t, wire))
			})
		case 3:
			g.rows = t.int(wire)
		default:
			t.skip(wire)
		}
	})
	return g
}

func readChunk(t *thrift, wire byte) chunk {
	var c chunk
	data, dictionary := int64(-1), int64(0)
	t.fields(wire, func(id int16, wire byte) {
		if id != 3 { // a path to another file is not followed: there the chunk has no metadata
			t.skip(wire)
			return
		}
		t.fields(wire, func(id int16, wire byte) {
			switch id {
			case 1:
				c.physical = t.int32(wire)
			case 3:
				var path []string
				t.list(wire, func(wire byte) {
					t.bound(len(path), deepest+1, "names in the path of a column")
					path = append(path, string(t.text(wire)))
				})
				c.path = strings.Join(path, ".")
			case 4:
				c.codec = t.int32(wire)
			case 5:
				c.values = t.int(wire)
			case 7:
				c.size = t.int(wire)
			case 9:
				data = t.int(wire)
			case 11:
				dictionary = t.int(wire)
			default:
				t.skip(wire)
			}
		})
	})
	c.from = data
	if dictionary > 0 { // 0 stands for none in some files
		c.from = min(data, dictionary)
	}
	return c
}

// flatten lists the columns of the schema.
func (f *File) flatten(schema []element) error {
	rest := schema
	if len(schema) > 0 {
		rest = schema[1:]
		for range schema[0].children {
			var err error
			if rest, err = f.add(rest, branch{}, 0); err != nil {
				return err
			}
		}
	}
	if len(schema) == 0 || len(rest) > 0 {
		return &Error{At: "schema", Want: "a tree of groups and columns", Got: fmt.Sprintf("%d elements that belong nowhere", len(rest)), Hint: "the file is damaged"}
	}
	return nil
}

// branch is where in the tree an element stands.
type branch struct {
	path, names []string
	def, rep    int32
	listDef     int32
	inList      bool // its parent is a list: the element repeats, and has no name of its own
	wrapped     bool // its parent is what repeats in a list, and the element has no name of its own
}

// add adds the first element of the tree and all below it, and returns the others.
func (f *File) add(rest []element, at branch, depth int) ([]element, error) {
	if len(rest) == 0 || depth > deepest || len(f.leaves) > mostColumns {
		return nil, &Error{At: "schema", Want: fmt.Sprintf("as many columns as it announces, at most %d, and %d groups within each other at most", mostColumns, deepest)}
	}
	e := rest[0]
	rest = rest[1:]
	if e.repetition != required {
		at.def++
	}
	if e.repetition == repeated {
		at.rep++
		at.listDef = at.def
	}
	at.path = append(slices.Clip(at.path), e.name)
	if !at.inList && !at.wrapped {
		at.names = append(slices.Clip(at.names), e.name)
	}
	// Of a list repeats a group of one element, or in older files the element itself.
	wrapped := at.inList && e.children == 1 && e.repetition == repeated && e.name != "array"
	if e.children == 0 {
		for _, name := range at.path {
			f.paths += len(name) + 1
		}
		if f.paths > mostPaths {
			return nil, &Error{At: "schema", Want: fmt.Sprintf("columns whose paths have %d bytes together at most", mostPaths), Hint: "give groups shorter names"}
		}
		f.leaves = append(f.leaves, leaf{path: strings.Join(at.path, "."), physical: e.physical, maxDef: at.def, maxRep: at.rep, listDef: at.listDef})
		f.columns = append(f.columns, Column{Name: strings.Join(at.names, "."), Kind: e.kind(at.rep), Repeated: at.rep > 0})
		return rest, nil
	}
	at.inList, at.wrapped = e.list, wrapped
	for range e.children {
		var err error
		if rest, err = f.add(rest, at, depth+1); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// kind is what a column holds that is within so many lists.
func (e *element) kind(lists int32) Kind {
	if e.other || lists > 1 {
		return Other
	}
	switch e.physical {
	case typeBoolean:
		return Flag
	case typeInt32, typeInt64:
		if e.unsigned {
			return Natural
		}
		return Integer
	case typeFloat, typeDouble:
		return Real
	case typeByteArray:
		if e.json {
			return JSON
		}
		return Text
	}
	return Other
}

// checkGroup wants a chunk of each column, within the file.
func (f *File) checkGroup(g *group, end int64) *Error {
	if len(g.chunks) != len(f.leaves) || g.rows < 0 {
		return &Error{At: "its columns", Want: fmt.Sprintf("%d of them, and a number of rows", len(f.leaves)), Got: fmt.Sprintf("%d, and %d rows", len(g.chunks), g.rows)}
	}
	for i := range g.chunks {
		c, l := &g.chunks[i], &f.leaves[i]
		at := "column " + f.columns[i].Name
		switch {
		case c.path != l.path || c.physical != l.physical:
			return &Error{At: at, Want: "the path and type of the schema, " + l.path, Got: c.path}
		case c.from < int64(len(Magic)) || c.size < 0 || c.size > end-c.from || c.values < 0:
			return &Error{At: at, Want: fmt.Sprintf("a place before the footer, at %d", end), Got: fmt.Sprintf("%d bytes at %d", c.size, c.from)}
		}
	}
	return nil
}

// checkRows wants no more rows than that many bytes can mean in earnest.
func (f *File) checkRows() *Error {
	left := rowsFree + rowsPer*f.size
	for g := range f.groups {
		if left -= f.groups[g].rows; left < 0 {
			return &Error{
				At: fmt.Sprintf("row group %d", g+1), Want: fmt.Sprintf("at most %d rows in a file of %d bytes", rowsFree+rowsPer*f.size, f.size), Got: fmt.Sprintf("%d more", -left),
				Hint: "write the file anew, uncompressed, if that is meant",
			}
		}
	}
	return nil
}

// checkOverlap wants that no two chunks share bytes: a page could be many columns otherwise, which it is to none of the
// writers.
func (f *File) checkOverlap() *Error {
	type place struct {
		from, end     int64
		group, column int
	}
	var places []place
	for g := range f.groups {
		for i := range f.groups[g].chunks {
			if c := &f.groups[g].chunks[i]; c.size > 0 {
				places = append(places, place{c.from, c.from + c.size, g, i})
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	at := func(p *place) string {
		return fmt.Sprintf("row group %d, column %s", p.group+1, f.columns[p.column].Name)
	}
	for i := 1; i < len(places); i++ {
		if before, p := &places[i-1], &places[i]; p.from < before.end {
			return &Error{At: at(p), Want: fmt.Sprintf("bytes of its own, from %d on", before.end), Got: fmt.Sprint(p.from), Hint: "the bytes before are those of " + at(before)}
		}
	}
	return nil
}
