package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// This file makes files that would take far more memory than they have bytes, if what they say were believed.

// craft makes a file of pages, which begin at 4, and of a footer that the function writes.
func craft(pages []byte, footer func(*thriftWriter)) []byte {
	var t thriftWriter
	t.open()
	footer(&t)
	t.close()
	file := append([]byte(Magic), pages...)
	file = append(file, t.out...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(t.out)))
	return append(file, Magic...)
}

// schema writes the elements below the root, of which so many are its children.
func schema(t *thriftWriter, children int, elements ...element) {
	t.list(2, wireStruct, len(elements)+1)
	for _, e := range append([]element{{name: "root", children: int32(children), physical: -1, converted: -1}}, elements...) {
		t.open()
		if e.physical >= 0 {
			t.int32(1, e.physical)
		}
		t.int32(3, e.repetition)
		t.text(4, e.name)
		if e.children > 0 {
			t.int32(5, e.children)
		}
		t.close()
	}
}

// columns are elements of the schema that are columns of texts, of so many names.
func columns(n int, repetition int32) []element {
	var all []element
	for i := range n {
		all = append(all, element{name: fmt.Sprint("c", i), physical: typeByteArray, repetition: repetition})
	}
	return all
}

// table makes a file of one group of rows, and columns of texts whose chunks are these pages, side by side.
func table(rows int64, repetition int32, chunks []chunk, pages ...[]byte) []byte {
	at := int64(len(Magic))
	for i := range chunks {
		chunks[i].physical, chunks[i].path = typeByteArray, fmt.Sprint("c", i)
		chunks[i].from, chunks[i].size = at, int64(len(pages[i]))
		at += chunks[i].size
	}
	return craft(bytes.Join(pages, nil), func(t *thriftWriter) {
		schema(t, len(chunks), columns(len(chunks), repetition)...)
		groups(t, rows, chunks)
	})
}

// groups writes one group of rows.
func groups(t *thriftWriter, rows int64, chunks []chunk) {
	t.list(4, wireStruct, 1)
	t.open()
	t.list(1, wireStruct, len(chunks))
	for _, c := range chunks {
		t.open()
		t.int64(2, c.from)
		t.group(3)
		t.int32(1, c.physical)
		t.list(3, wireBinary, 1)
		t.element(c.path)
		t.int32(4, c.codec)
		t.int64(5, c.values)
		t.int64(7, c.size)
		t.int64(9, c.from)
		t.close()
		t.close()
	}
	t.int64(3, rows)
	t.close()
}

// page is a page with its head, of bytes that are compressed already.
func page(kind, values, encoding int32, unpacked int, packed []byte) []byte {
	var t thriftWriter
	t.open()
	t.int32(1, kind)
	t.int32(2, int32(unpacked))
	t.int32(3, int32(len(packed)))
	t.group(map[int32]int16{pageData: 5, pageDictionary: 7}[kind])
	t.int32(1, values)
	t.int32(2, encoding)
	t.close()
	t.close()
	return append(t.out, packed...)
}

// packed compresses texts with a window of so many bytes.
func packed(tb testing.TB, window int, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Flush() // so that the size is not known at the beginning, and the window is taken
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// plainText is one text of so many bytes, as PLAIN has it.
func plainText(n int) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...)
}

// levels are so many repeated levels of one value, with their length before them.
func levels(parts ...[2]uint64) []byte {
	out := make([]byte, 4)
	for _, part := range parts {
		out = binary.AppendUvarint(out, part[0]<<1)
		out = append(out, byte(part[1]))
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

// counting are so many integers in DELTA_BINARY_PACKED, of which each is larger by step than the one before.
func counting(n int, first, step int64) []byte {
	const parts, perPart = 1, mostPerPart
	zigzag := func(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }
	out := binary.AppendUvarint(nil, parts*perPart)
	out = binary.AppendUvarint(out, parts)
	out = binary.AppendUvarint(out, uint64(n))
	out = binary.AppendUvarint(out, zigzag(first))
	for left := n - 1; left > 0; left -= perPart {
		out = binary.AppendUvarint(out, zigzag(step))
		out = append(out, 0)
	}
	return out
}

// oneAndThen are n integers in DELTA_BINARY_PACKED, the first one value and all others another, both below 2^21.
func oneAndThen(n int, first, then int64) []byte {
	const perPart, width = 8, 21
	zigzag := func(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }
	out := binary.AppendUvarint(nil, perPart)
	out = binary.AppendUvarint(out, 1)
	out = binary.AppendUvarint(out, uint64(n))
	out = binary.AppendUvarint(out, zigzag(first))
	least := min(then-first, 0)
	out = binary.AppendUvarint(out, zigzag(least))
	packed := make([]byte, width)
	for i := range perPart {
		difference := -least
		if i == 0 {
			difference = then - first - least
		}
		for bit := range width {
			packed[(i*width+bit)/8] |= byte(difference>>bit&1) << ((i*width + bit) % 8)
		}
	}
	out = append(append(out, width), packed...)
	for left := n - 1 - perPart; left > 0; left -= perPart {
		out = append(out, 0, 0)
	}
	return out
}

// repeat is the same n times.
func repeat[T any](n int, v T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// hostile is a file that is larger in memory than it looks.
type hostile struct {
	name string
	n    int // how often it does what it does; a few are enough to try out what is read of it
	file func(tb testing.TB, n int) []byte
	want string // of the error; empty of what is read after all

	large bool // a few of them are large, too
}

// hostileFooters are hostile by what they say about themselves.
func hostileFooters() []hostile {
	zeros := func(id int16) func(testing.TB, int) []byte {
		return func(_ testing.TB, n int) []byte {
			return craft(nil, func(t *thriftWriter) {
				t.list(id, wireStruct, n)
				t.out = append(t.out, make([]byte, n)...)
			})
		}
	}
	return []hostile{
		{"elements of a byte", 4 << 20, zeros(2), "footer: want at most 65536 elements of the schema", false},
		{"groups of a byte", 8 << 20, zeros(4), "footer: want at most 1048576 columns of groups of rows", false},
		{"columns of a byte", 4 << 20, func(_ testing.TB, n int) []byte {
			return craft(nil, func(t *thriftWriter) {
				t.list(4, wireStruct, 1)
				t.open()
				t.list(1, wireStruct, n)
				t.out = append(t.out, make([]byte, n)...)
				t.close()
			})
		}, "footer: want at most 1048576 columns of groups of rows", false},
		{"a path of nothing", 8 << 20, func(_ testing.TB, n int) []byte {
			return craft(nil, func(t *thriftWriter) {
				t.list(4, wireStruct, 1)
				t.open()
				t.list(1, wireStruct, 1)
				t.open()
				t.group(3)
				t.list(3, wireBinary, n)
				t.out = append(t.out, make([]byte, n)...)
				t.close()
				t.close()
				t.close()
			})
		}, "footer: want at most 33 names in the path of a column", false},
		{"much about itself", 1 << 20, func(_ testing.TB, n int) []byte {
			return craft(nil, func(t *thriftWriter) {
				t.list(5, wireStruct, n)
				for i := range n {
					t.open()
					t.text(1, fmt.Sprint(i))
					t.close()
				}
			})
		}, "footer: want at most 4096 things that the file says about itself", false},
		{"maps in maps", 16 << 20, func(_ testing.TB, n int) []byte {
			return craft(nil, func(t *thriftWriter) {
				t.head(9, wireMap)
				for range n {
					t.out = append(t.out, 1, wireMap<<4|wireMap)
				}
			})
		}, "footer: want the metadata of a Parquet file", false},
		{"long names of groups", 2000, func(_ testing.TB, n int) []byte {
			return craft(nil, func(t *thriftWriter) {
				name := strings.Repeat("n", 256<<10)
				schema(t, 1, append([]element{{name: name, physical: -1, children: int32(n)}}, columns(n, required)...)...)
			})
		}, "schema: want columns whose paths have 8388608 bytes together at most", false},
		{"rows without end", 1 << 30, func(_ testing.TB, n int) []byte {
			text := counting(n, 0, 0)
			return table(int64(n), required, []chunk{{values: int64(n)}}, page(pageData, int32(n), encodingDeltaLength, len(text), text))
		}, "row group 1: want at most ", false},
		{"columns of the same bytes", 64, func(tb testing.TB, n int) []byte {
			tb.Helper()
			text := plainText(16 << 20)
			one := page(pageData, 1, encodingPlain, len(text), packed(tb, 1<<20, text))
			chunks := make([]chunk, n)
			for i := range chunks {
				chunks[i] = chunk{path: fmt.Sprint("c", i), physical: typeByteArray, codec: zstandard, values: 1, from: 4, size: int64(len(one))}
			}
			return craft(one, func(t *thriftWriter) {
				schema(t, n, columns(n, required)...)
				groups(t, 1, chunks)
			})
		}, "row group 1, column c1: want bytes of its own", false},
	}
}

// hostilePages are hostile by what their pages hold.
func hostilePages() []hostile {
	const much = "bytes of memory at a time at most"
	return []hostile{
		{"columns of large pages", 64, func(tb testing.TB, n int) []byte {
			tb.Helper()
			text := plainText(30 << 20)
			one := page(pageData, 1, encodingPlain, len(text), packed(tb, 1<<20, text))
			return table(1, required, repeat(n, chunk{codec: zstandard, values: 1}), repeat(n, one)...)
		}, much, true},
		{"columns of large dictionaries", 16, func(tb testing.TB, n int) []byte {
			tb.Helper()
			text := make([]byte, 4*1_000_000)
			one := page(pageDictionary, 1_000_000, encodingPlain, len(text), packed(tb, 1<<20, text))
			one = append(one, page(pageData, 1, encodingRLEDictionary, 3, packed(tb, 1<<20, []byte{0, 2, 0}))...)
			return table(1, required, repeat(n, chunk{codec: zstandard, values: 1}), repeat(n, one)...)
		}, much, false},
		{"two dictionaries", 2, func(_ testing.TB, n int) []byte {
			one := bytes.Repeat(page(pageDictionary, 1, encodingPlain, 4, make([]byte, 4)), n)
			return table(1, required, []chunk{{values: 1}}, one)
		}, "one dictionary in a column of a row group", false},
		{"a dictionary without bytes", 1 << 22, func(_ testing.TB, n int) []byte {
			return table(1, required, []chunk{{values: 1}}, page(pageDictionary, int32(n), encodingPlain, 4, make([]byte, 4)))
		}, "a dictionary of 4194304 values", false},
		{"texts that begin alike", 1000, func(_ testing.TB, n int) []byte {
			const long = 1 << 20
			text := append(levels([2]uint64{1, 0}, [2]uint64{uint64(n) - 1, 1}), levels([2]uint64{uint64(n), 1})...)
			text = append(text, oneAndThen(n, 0, long)...)
			text = append(text, oneAndThen(n, long, 0)...)
			text = append(text, make([]byte, long)...)
			return table(1, repeated, []chunk{{values: int64(n)}}, page(pageData, int32(n), encodingDeltaBytes, len(text), text))
		}, "bytes at most in common", false},
		{"a list over many pages", 100, func(tb testing.TB, n int) []byte {
			tb.Helper()
			value := plainText(16 << 20)
			one := func(repetition uint64) []byte {
				text := append(append(levels([2]uint64{1, repetition}), levels([2]uint64{1, 1})...), value...)
				return page(pageData, 1, encodingPlain, len(text), packed(tb, 1<<20, text))
			}
			chunkOf := append(one(0), bytes.Repeat(one(1), n-1)...)
			return table(1, repeated, []chunk{{codec: zstandard, values: int64(n)}}, chunkOf)
		}, much, true},
		{"many long lists", 400, func(_ testing.TB, n int) []byte {
			const long = 60_000
			text := append(levels([2]uint64{1, 0}, [2]uint64{long - 1, 1}), levels([2]uint64{long, 1})...)
			text = append(text, counting(long, 0, 0)...)
			one := page(pageData, long, encodingDeltaLength, len(text), text)
			return table(1, repeated, repeat(n, chunk{values: long}), repeat(n, one)...)
		}, much, false},
		{"lengths of a few bytes", 8, func(_ testing.TB, n int) []byte {
			text := counting(4_000_000, 0, 0)
			one := page(pageData, 4_000_000, encodingDeltaLength, len(text), text)
			return table(4_000_000, required, repeat(n, chunk{values: 4_000_000}), repeat(n, one)...)
		}, "", false},
		{"many small columns", 12_000, func(_ testing.TB, n int) []byte {
			one := page(pageData, 1, encodingPlain, 4, plainText(0))
			return table(1, required, repeat(n, chunk{values: 1}), repeat(n, one)...)
		}, "", false},
		{"wide windows", 40, func(tb testing.TB, n int) []byte {
			tb.Helper()
			text := plainText(100)
			one := page(pageData, 1, encodingPlain, len(text), packed(tb, pageFree, text))
			return table(1, required, repeat(n, chunk{codec: zstandard, values: 1}), repeat(n, one)...)
		}, "", false},
	}
}

func hostiles() []hostile { return append(hostileFooters(), hostilePages()...) }

// someRows reads the first rows of all columns, and returns how many there are.
func someRows(data []byte) (int, error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return 0, err
	}
	var columns []int
	for i, c := range f.Columns() {
		if c.Kind != Other {
			columns = append(columns, i)
		}
	}
	r, err := f.Rows(columns)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for n := range 3 {
		if err := r.Next(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
	return 3, nil
}

// TestBoundedMemory reads hostile files. None takes 640 MiB, counted in all that was ever allocated; the race detector
// allocates up to twice as much as the 265 that it is without.
func TestBoundedMemory(t *testing.T) {
	for _, h := range hostiles() {
		data := h.file(t, h.n)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := someRows(data)
		runtime.ReadMemStats(&after)
		taken := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d bytes, took %d MiB: %.200v", h.name, len(data), taken, err)
		if taken > 640 {
			t.Errorf("%s: %d bytes took %d MiB", h.name, len(data), taken)
		}
		switch {
		case h.want == "" && (err != nil || n == 0):
			t.Errorf("%s: %d rows, %v", h.name, n, err)
		case h.want != "" && (err == nil || !strings.Contains(err.Error(), h.want)):
			t.Errorf("%s: %v, want …%s", h.name, err, h.want)
		}
	}
}

// HostileSeeds are the hostile files with a few of what they have many of, to begin from.
func HostileSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	var seeds [][]byte
	for _, h := range hostiles() {
		if seed := h.file(tb, 3); !h.large && len(seed) < 64<<10 {
			seeds = append(seeds, seed)
		}
	}
	if len(seeds) < 10 {
		tb.Fatalf("%d seeds", len(seeds))
	}
	return seeds
}
