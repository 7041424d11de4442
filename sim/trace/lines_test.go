package trace

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readLines(t *testing.T, name string, data []byte, skips *Skips) (lines []string, last error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLines(file, skips)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	}()
	for {
		line, err := l.Next()
		if err != nil {
			if _, again := l.Next(); !errors.Is(again, err) {
				t.Errorf("%v is followed by %v", err, again)
			}
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine+1)
	whole := zipped(t, strings.Repeat("a line\n", 1000))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-5] ^= 1 // in the checksum
	for _, tc := range []struct {
		about, name string
		data        []byte
		lines       int
		want        string // the error; lenient reading counts one in its place
	}{
		{about: "empty", name: "a.csv"},
		{about: "no end of line, and both kinds of it", name: "a.csv", data: []byte("a\r\n\nb"), lines: 3},
		{about: "gzip", name: "a.csv.gz", data: whole, lines: 1000},
		{about: "gzip by another name", name: "a.csv", data: whole, lines: 1000},
		{about: "unpacked by a browser", name: "a.csv.gz", data: []byte("a\nb\n"), lines: 2},
		{about: "empty gzip", name: "a.csv.gz", want: "a.csv.gz:1: want the rest of a gzip file that is cut short: unexpected EOF"},
		{about: "gzip cut in its header", name: "a.csv.gz", data: whole[:5], want: "a.csv.gz:1: want the rest"},
		{about: "gzip cut in its trailer", name: "a.csv.gz", data: whole[:len(whole)-3], lines: 1000, want: "a.csv.gz:1001: want the rest"},
		{about: "gzip damaged", name: "a.csv.gz", data: damaged, lines: 1000, want: "a.csv.gz:1001: want intact gzip data"},
		{about: "too long", name: "a.csv", data: []byte("a\n" + long), lines: 1, want: "a.csv:2: want a line of at most 262144 bytes"},
	} {
		t.Run(tc.about, func(t *testing.T) {
			strict := &Skips{}
			lines, err := readLines(t, tc.name, tc.data, strict)
			if len(lines) != tc.lines || strict.Count != 0 {
				t.Errorf("%d lines, want %d", len(lines), tc.lines)
			}
			var broken *Error
			if errors.As(err, &broken) != (tc.want != "") || broken != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			lenient := &Skips{Lenient: true}
			lines, err = readLines(t, tc.name, tc.data, lenient)
			if !errors.Is(err, io.EOF) || len(lines) != tc.lines || (lenient.Count == 1) != (tc.want != "") || len(lenient.First) != lenient.Count {
				t.Errorf("lenient: %d lines, %d skipped, %v", len(lines), lenient.Count, err)
			}
		})
	}
	// After a line that is too long the next one is read.
	lenient := &Skips{Lenient: true}
	lines, err := readLines(t, "a.csv", []byte("a\n"+long+"\nb\n"), lenient)
	if !errors.Is(err, io.EOF) || len(lines) != 2 || lines[1] != "b" || lenient.Count != 1 {
		t.Errorf("lenient: %d lines, %d skipped, %v", len(lines), lenient.Count, err)
	}
}

func TestLinesOfAFolder(t *testing.T) {
	l, err := OpenLines(t.TempDir(), &Skips{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	var broken *Error
	if _, err := l.Next(); err == nil || errors.Is(err, io.EOF) || errors.As(err, &broken) {
		t.Errorf("reading a folder leniently: %v, want the system's error", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// oneRow splits a line into as many fields as it has.
func oneRow(line string) *Row {
	l := NewLines("a.csv", strings.NewReader(line), &Skips{})
	text, _ := l.Next()
	r := &Row{}
	r.Split(l, text, strings.Count(line, ",")+1)
	return r
}

func TestRow(t *testing.T) {
	r := oneRow("7,,255,x")
	if r.Uint(1, "", 7) != 7 || !r.Empty(2) || r.Uint(3, "", 255) != 255 || string(r.Text(4)) != "x" || r.Err() != nil {
		t.Error(r.Err())
	}
	r.Uint(3, "a byte", 254)
	r.Uint(4, "not reported", 9)
	if got, want := r.Err().Error(), `a.csv:1:3: want a byte, got "255"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, text := range []string{"", "-1", "1.0", "+1", " 1", "18446744073709551616", "99999999999999999999999"} {
		r := oneRow(text)
		if r.Uint(1, "", 1<<64-1); r.Err() == nil {
			t.Errorf("%q passes for an integer", text)
		}
	}
	l := NewLines("a.csv", strings.NewReader(""), &Skips{})
	if r.Split(l, []byte("1,2"), 3); r.Err() == nil || r.Uint(3, "", 1) != 0 {
		t.Error("a missing field is not missed")
	}
}

func TestDecimal(t *testing.T) {
	for _, tc := range []struct {
		text     string
		down, up int64
	}{
		{"0", 0, 0},
		{"1", 1e7, 1e7},
		{"0.5", 5e6, 5e6},
		{".5", 5e6, 5e6},
		{"5.", 5e7, 5e7},
		{"0.0006247", 6247, 6247},
		{"3.815e-05", 381, 382},
		{"1e-7", 1, 1},
		{"1e-8", 0, 1},
		{"1E+2", 1e9, 1e9},
		{"0.30000001", 3e6, 3e6 + 1},
		{"0.00000000000000000000000000000001", 0, 1},
		{"0e99", 0, 0},
		{"0.1000000000000000000000000000000001", 1e6, 1e6 + 1},
		{"0000000000000000000000000000000000001", 1e7, 1e7},
		{"1000000000000000000000000e-24", 1e7, 1e7},
		{"3518437.2088832", cluster.MaxQuantity, cluster.MaxQuantity},
	} {
		down, ok1 := decimal([]byte(tc.text), 7, Down)
		up, ok2 := decimal([]byte(tc.text), 7, Up)
		if !ok1 || !ok2 || down != tc.down || up != tc.up {
			t.Errorf("%s: %d and %d, %v %v; want %d and %d", tc.text, down, up, ok1, ok2, tc.down, tc.up)
		}
	}
	for _, text := range []string{"", ".", "-1", "+1", "1..2", "1.2.3", "e5", "1e", "1e-", "1e10000", "1e99", "0x1", "NaN", "inf", " 1", "3518437.2088833", "99999999999999999999"} {
		if q, ok := decimal([]byte(text), 7, Down); ok {
			t.Errorf("%q passes for %d", text, q)
		}
	}
}

// FuzzDecimal compares with exact rational arithmetic.
func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"0.5", "3.815e-05", "1e9", "00.10"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		down, ok := decimal([]byte(text), 7, Down)
		if !ok {
			return
		}
		exact, fine := new(big.Rat).SetString(text)
		if !fine {
			t.Fatalf("%q passes for %d", text, down)
		}
		exact.Mul(exact, big.NewRat(1e7, 1))
		floor := new(big.Int).Quo(exact.Num(), exact.Denom())
		if floor.Int64() != down {
			t.Errorf("%q: %d, want %d", text, down, floor)
		}
		want := down
		if !exact.IsInt() {
			want++
		}
		if up, ok := decimal([]byte(text), 7, Up); ok && up != want {
			t.Errorf("%q: %d rounded up, want %d", text, up, want)
		}
	})
}

// Reading lines and their fields allocates nothing.
func TestRowAllocates(t *testing.T) {
	l := NewLines("a.csv", strings.NewReader(strings.Repeat("600026913,12,0.0006247,6.199e-05\n", 20_000)), &Skips{})
	r := &Row{}
	got := testing.AllocsPerRun(10_000, func() {
		line, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		r.Split(l, line, 4)
		r.Uint(1, "", 1<<63)
		r.Decimal(3, "", 7, Up)
		r.Decimal(4, "", 7, Up)
	})
	if got > 0 {
		t.Errorf("%v allocations per line", got)
	}
}
