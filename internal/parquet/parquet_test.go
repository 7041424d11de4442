package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/parquet"
)

// all has a column of each kind.
func all() []parquet.Column {
	return []parquet.Column{
		{Name: "flag", Kind: parquet.Flag},
		{Name: "n", Kind: parquet.Integer},
		{Name: "u", Kind: parquet.Natural},
		{Name: "x", Kind: parquet.Real},
		{Name: "s", Kind: parquet.Text},
		{Name: "j", Kind: parquet.JSON},
	}
}

// write writes rows of values drawn from the seed, of which many are missing, and returns the file and what its rows say.
func write(tb testing.TB, rows int, seed uint64) (file []byte, want []string) {
	tb.Helper()
	chance := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	w := parquet.NewWriter(&b, all())
	w.Meta("maker", "test")
	w.Meta("other", "")
	for range rows {
		var row []string
		for i, c := range all() {
			if chance.IntN(3) == 0 {
				row = append(row, "-")
				continue
			}
			n := chance.Int64N(1000) - 500
			switch c.Kind {
			case parquet.Flag:
				w.Bool(i, n > 0)
				row = append(row, fmt.Sprint(n > 0))
			case parquet.Integer:
				w.Int(i, n)
				row = append(row, fmt.Sprint(n))
			case parquet.Natural:
				w.Uint(i, uint64(n))
				row = append(row, fmt.Sprint(uint64(n)))
			case parquet.Real:
				w.Float(i, float64(n)/7)
				row = append(row, fmt.Sprint(float64(n)/7))
			default:
				text := strings.Repeat("ü", int(n&7)*(1+rows/100)) // long ones fill groups sooner
				w.Text(i, []byte(text))
				row = append(row, text)
			}
		}
		want = append(want, strings.Join(row, " "))
		if err := w.End(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes(), want
}

// read returns what up to most rows of all columns that are read say, lists in brackets.
func read(data []byte, most int) (rows []string, err error) {
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var columns []int
	for i, c := range f.Columns() {
		if c.Kind != parquet.Other {
			columns = append(columns, i)
		}
	}
	r, err := f.Rows(columns)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for len(rows) < most {
		if err := r.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, err
		}
		var row []string
		for i, c := range columns {
			column := f.Columns()[c]
			if !column.Repeated {
				row = append(row, show(r.Value(i), column.Kind))
				continue
			}
			var list []string
			for _, v := range r.Values(i) {
				list = append(list, show(v, column.Kind))
			}
			row = append(row, fmt.Sprint(list))
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return rows, nil
}

func show(v parquet.Value, kind parquet.Kind) string {
	switch {
	case v.Null:
		return "-"
	case kind == parquet.Flag:
		return fmt.Sprint(v.Bool())
	case kind == parquet.Integer:
		return fmt.Sprint(v.Int())
	case kind == parquet.Natural:
		return fmt.Sprint(v.Uint())
	case kind == parquet.Real:
		return fmt.Sprint(v.Float())
	}
	return string(v.Text)
}

func TestRoundTrip(t *testing.T) {
	for _, rows := range []int{0, 1, 7, 8, 9, 1000, 10_000} { // the last in several groups of rows
		file, want := write(t, rows, uint64(rows))
		got, err := read(file, rows+1)
		if err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows are %d", rows, len(got))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("row %d of %d: %q, want %q", i, rows, got[i], want[i])
			}
		}
		if again, _ := write(t, rows, uint64(rows)); !bytes.Equal(file, again) {
			t.Errorf("%d rows: written twice, the bytes differ", rows)
		}
	}
}

func TestMetaAndColumns(t *testing.T) {
	file, _ := write(t, 3, 3)
	f, err := parquet.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if maker, ok := f.Meta("maker"); maker != "test" || !ok {
		t.Errorf("maker is %q, %v", maker, ok)
	}
	if _, ok := f.Meta("none"); ok {
		t.Error("there is a none")
	}
	for i, want := range all() {
		if got := f.Columns()[i]; got != want {
			t.Errorf("column %d is %v, want %v", i, got, want)
		}
	}
}

// TestDamage cuts a file short at every place, and turns bits of it around: that is an error or other values, but never a
// panic.
func TestDamage(t *testing.T) {
	file, _ := write(t, 20, 5)
	for n := range len(file) {
		if _, err := read(file[:n], 100); err == nil {
			t.Errorf("cut short to %d of %d bytes: no error", n, len(file))
		}
		for _, bit := range []int{n % 8, (n + 3) % 8} {
			damaged := bytes.Clone(file)
			damaged[n] ^= 1 << bit
			_, _ = read(damaged, 100)
		}
	}
}

// TestMisuse says that a value of another kind, and a second one of a row, are mistakes of ours.
func TestMisuse(t *testing.T) {
	for name, misuse := range map[string]func(*parquet.Writer){
		"kind":  func(w *parquet.Writer) { w.Int(0, 1) },
		"twice": func(w *parquet.Writer) { w.Int(1, 1); w.Int(1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			misuse(parquet.NewWriter(io.Discard, all()))
		}()
	}
}

func FuzzRead(f *testing.F) {
	file, _ := write(f, 9, 1)
	f.Add(file)
	for _, other := range others(f) {
		f.Add(other)
	}
	for _, hostile := range parquet.HostileSeeds(f) {
		f.Add(hostile)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = read(data, 1000) })
}
