package ilp_test

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/ilp"
)

var inf = math.Inf(1)

// small is a model in which something of everything occurs.
func small() *ilp.Model {
	m := &ilp.Model{}
	m.AddColumn(0, 1, -2.5, ilp.Integer)
	m.AddColumn(-inf, inf, 0, ilp.Continuous)
	m.AddColumn(3, 3, 1e-7, ilp.Integer)
	m.AddColumn(-inf, 4, 1, ilp.Continuous)
	m.AddRow(-inf, 4, ilp.Term{Column: 0, Value: 1}, ilp.Term{Column: 3, Value: -2})
	m.AddRow(1, 2, ilp.Term{Column: 1, Value: 1})
	m.AddRow(0, 0, ilp.Term{Column: 2, Value: 1}, ilp.Term{Column: 1, Value: -1}, ilp.Term{Column: 0, Value: -1})
	m.AddRow(-inf, inf, ilp.Term{Column: 0, Value: 1})
	m.AddRow(-1, inf)
	return m
}

func TestResetKeepsMemory(t *testing.T) {
	m := &ilp.Model{}
	row := []ilp.Term{{Column: 0, Value: 1}, {Column: 1, Value: 2}}
	build := func() {
		m.Reset()
		m.AddColumn(0, 1, 1, ilp.Integer)
		m.AddColumn(0, 1, 2, ilp.Continuous)
		m.AddRow(0, 1, row...)
		m.AddRow(1, 2, row[1:]...)
	}
	build()
	if allocations := testing.AllocsPerRun(10, build); allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
	columns, values := m.Row(1)
	if m.Columns() != 2 || m.Rows() != 2 || !reflect.DeepEqual(columns, []int32{1}) || !reflect.DeepEqual(values, []float64{2}) {
		t.Errorf("%d columns, %d rows, the last with %v, %v", m.Columns(), m.Rows(), columns, values)
	}
}

func TestValidate(t *testing.T) {
	if err := small().Validate(); err != nil {
		t.Fatal(err)
	}
	if err := new(ilp.Model).Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		spoil func(m *ilp.Model)
		want  string
	}{
		{"bounds crossed", func(m *ilp.Model) { m.Lower[0] = 2 }, "column 0: from 2 to 1: the lower bound is above"},
		{"bound not a number", func(m *ilp.Model) { m.Upper[1] = math.NaN() }, "column 1: a bound is not a number"},
		{"nothing below", func(m *ilp.Model) { m.Lower[1] = inf }, "column 1: from +Inf"},
		{"nothing above", func(m *ilp.Model) { m.RowUpper[4] = -inf }, "row 4: from -1 to -Inf"},
		{"huge bound", func(m *ilp.Model) { m.RowUpper[0] = 1e20 }, "row 0: from -Inf to 1e+20: bounds from"},
		{"cost not a number", func(m *ilp.Model) { m.Cost[2] = math.NaN() }, "column 2: cost NaN"},
		{"cost without end", func(m *ilp.Model) { m.Cost[2] = -inf }, "column 2: cost -Inf"},
		{"kind", func(m *ilp.Model) { m.Kind[3] = 7 }, "column 3: kind 7"},
		{"no such column", func(m *ilp.Model) { m.Column[1] = 4 }, "row 0: a term has column 4, and there are 4"},
		{"column below 0", func(m *ilp.Model) { m.Column[1] = -1 }, "row 0: a term has column -1"},
		{"column twice", func(m *ilp.Model) { m.Column[5] = 1 }, "row 2: column 1 is there twice"},
		{"value 0", func(m *ilp.Model) { m.Value[0] = 0 }, "row 0: column 0 has value 0"},
		{"value too small", func(m *ilp.Model) { m.Value[0] = -1e-10 }, "row 0: column 0 has value -1e-10"},
		{"value too large", func(m *ilp.Model) { m.Value[0] = 1e16 }, "row 0: column 0 has value 1e+16"},
		{"value not a number", func(m *ilp.Model) { m.Value[0] = math.NaN() }, "row 0: column 0 has value NaN"},
		{"lengths of columns", func(m *ilp.Model) { m.Upper = m.Upper[:3] }, "4 costs has 4 lower bounds, 3 upper"},
		{"lengths of rows", func(m *ilp.Model) { m.RowLower = nil }, "5 rows has 0 lower bounds"},
		{"terms of no row", func(m *ilp.Model) { m.Column, m.Value = append(m.Column, 0), append(m.Value, 1) }, "the rows have 7 terms, and 8"},
		{"terms backwards", func(m *ilp.Model) { m.End[1] = 1 }, "row 1: terms from 2 to 1 of 7"},
		{"terms beyond", func(m *ilp.Model) { m.End[1] = 9 }, "row 1: terms from 2 to 9 of 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := small()
			tc.spoil(m)
			if err := m.Validate(); err == nil || !strings.HasPrefix(err.Error(), tc.want) && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want one that says %q", err, tc.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	m := small()
	for _, tc := range []struct {
		name   string
		values []float64
		want   string // of the error, or empty
	}{
		{"holds", []float64{1, 2, 3, -1.5}, ""},
		{"holds nearly", []float64{1 + 9e-7, 2, 3, -1.5}, ""},
		{"below a bound", []float64{-1, 2, 3, 0}, "column 0 is -1, not within 0 and 1"},
		{"above a bound", []float64{1, 2, 3, 5}, "column 3 is 5, not within -Inf and 4"},
		{"not whole", []float64{.5, 2, 3, 0}, "column 0 is 0.5, not a whole number"},
		{"not a number", []float64{1, math.NaN(), 3, 0}, "column 1 is NaN"},
		{"without end", []float64{1, 2, 3, -inf}, "column 3 is -Inf"},
		{"row above", []float64{1, 2, 3, -2}, "row 0 sums to 5, not within -Inf and 4"},
		{"row below", []float64{1, .5, 3, 0}, "row 1 sums to 0.5, not within 1 and 2"},
		{"equation", []float64{0, 2, 3, 0}, "row 2 sums to 1, not within 0 and 0"},
		{"too few", []float64{1}, "1 values for 4 columns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objective, err := ilp.Check(m, tc.values)
			switch {
			case tc.want == "" && (err != nil || math.Abs(objective-(-4+3e-7)) > 1e-5):
				t.Errorf("%g, %v", objective, err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)):
				t.Errorf("%v, want one that says %q", err, tc.want)
			}
		})
	}
	_, err := ilp.Check(m, []float64{1, .5, 3, 0})
	if v := (*ilp.ViolationError)(nil); !errors.As(err, &v) || *v != (ilp.ViolationError{Row: 1, Column: -1, Value: .5, Lower: 1, Upper: 2}) {
		t.Errorf("%#v", err)
	}
}

// TestCheckLargeNumbers lets a sum over bytes miss its bound by what adding them
// up in floating point makes of it, and not by more.
func TestCheckLargeNumbers(t *testing.T) {
	m := &ilp.Model{}
	m.AddColumn(0, 10, 0, ilp.Continuous)
	m.AddRow(-inf, 0, ilp.Term{Column: 0, Value: 1e12})
	if _, err := ilp.Check(m, []float64{1e-18}); err != nil {
		t.Error(err)
	}
	if _, err := ilp.Check(m, []float64{1e-9}); err == nil {
		t.Error("a row that is missed by 1000 of 1000 holds")
	}
}

func TestSolutionGap(t *testing.T) {
	for _, tc := range []struct {
		s    ilp.Solution
		want float64
	}{
		{ilp.Solution{Status: ilp.Optimal, Objective: 3, Bound: 3 - 1e-7}, 0},
		{ilp.Solution{Status: ilp.Feasible, Objective: -90, Bound: -99}, .1},
		{ilp.Solution{Status: ilp.Feasible, Objective: 0, Bound: -1}, inf},
		{ilp.Solution{Status: ilp.Feasible, Objective: 0, Bound: 0}, 0},
		{ilp.Solution{Status: ilp.Feasible, Objective: 5, Bound: -inf}, inf},
		{ilp.Solution{Status: ilp.Unknown, Objective: inf, Bound: 4}, inf},
	} {
		if got := tc.s.Gap(); got != tc.want {
			t.Errorf("%v at %g, at least %g: gap %g, want %g", tc.s.Status, tc.s.Objective, tc.s.Bound, got, tc.want)
		}
	}
}

func TestWriteLP(t *testing.T) {
	var b strings.Builder
	if err := small().WriteLP(&b); err != nil {
		t.Fatal(err)
	}
	want := `Minimize
 obj: - 2.5 x1 + 1e-07 x3 + 1 x4
Subject To
 r1: + 1 x1 - 2 x4 <= 4
 r2: + 1 x2 >= 1
 r2u: + 1 x2 <= 2
 r3: + 1 x3 - 1 x2 - 1 x1 = 0
 r5: + 0 x1 >= -1
Bounds
 0 <= x1 <= 1
 x2 free
 x3 = 3
 -inf <= x4 <= 4
Generals
 x1
 x3
End
`
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", &b, want)
	}
	if err := new(ilp.Model).WriteLP(&b); err == nil {
		t.Error("a model without columns was written")
	}
	broken := small()
	broken.Cost[0] = math.NaN()
	if err := broken.WriteLP(&b); err == nil {
		t.Error("a model that is not valid was written")
	}
	if err := small().WriteLP(full{}); err == nil {
		t.Error("an error of the writer was lost")
	}
}

// full is a disk with no room left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room left") }

// TestLPReadBack writes random models, reads them by a reader that knows just this
// much of the format, and wants the same model.
func TestLPReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &ilp.Model{}
		bound := rapid.OneOf(rapid.Float64Range(-1e3, 1e3), rapid.Just(0.0), rapid.Map(rapid.IntRange(-5, 5), func(i int) float64 { return float64(i) }))
		between := func() (float64, float64) {
			a, b := bound.Draw(t, "lower"), bound.Draw(t, "upper")
			a, b = min(a, b), max(a, b)
			switch rapid.IntRange(0, 5).Draw(t, "open") {
			case 0:
				a = -inf
			case 1:
				b = inf
			case 2:
				a, b = -inf, inf
			case 3:
				b = a
			}
			return a, b
		}
		for range rapid.IntRange(1, 15).Draw(t, "columns") {
			lower, upper := between()
			m.AddColumn(lower, upper, bound.Draw(t, "cost"), ilp.Kind(rapid.IntRange(0, 1).Draw(t, "kind")))
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			var row []ilp.Term
			for c := range m.Columns() {
				if v := bound.Draw(t, "value"); math.Abs(v) >= ilp.Least {
					row = append(row, ilp.Term{Column: int32(c), Value: v})
				}
			}
			lower, upper := between()
			if math.IsInf(lower, -1) && math.IsInf(upper, 1) {
				lower = 0
			}
			m.AddRow(lower, upper, row...)
		}
		var b bytes.Buffer
		if err := m.WriteLP(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if got := readLP(t, &b, m.Columns()); !reflect.DeepEqual(got, m) {
			t.Fatalf("%s\nwas read as\n%+v\nwant\n%+v", text, got, m)
		}
	})
}

// readLP reads what WriteLP writes.
func readLP(t *rapid.T, from *bytes.Buffer, columns int) *ilp.Model {
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	m := &ilp.Model{}
	for range columns {
		m.AddColumn(0, 0, 0, ilp.Continuous)
	}
	column := func(s string) int32 { return int32(number(strings.TrimPrefix(s, "x"))) - 1 }
	var sections [5][]string
	section := map[string]int{"Minimize": 0, "Subject To": 1, "Bounds": 2, "Generals": 3, "End": 4}
	at := -1
	for lines := bufio.NewScanner(from); lines.Scan(); {
		line := lines.Text()
		if len(line) > 255 {
			t.Fatalf("a line of %d characters", len(line))
		}
		if i, ok := section[line]; ok {
			at = i
			continue
		}
		if last := len(sections[at]) - 1; strings.HasPrefix(line, "   ") {
			sections[at][last] += line
			continue
		}
		sections[at] = append(sections[at], line)
	}
	sum := func(words []string) (row []ilp.Term) {
		for ; len(words) > 0; words = words[3:] {
			if v := number(words[0] + words[1]); v != 0 {
				row = append(row, ilp.Term{Column: column(words[2]), Value: v})
			}
		}
		return row
	}
	for _, cost := range sum(strings.Fields(sections[0][0])[1:]) {
		m.Cost[cost.Column] = cost.Value
	}
	for _, line := range sections[1] {
		words := strings.Fields(line)
		name, relation, bound := words[0], words[len(words)-2], number(words[len(words)-1])
		switch {
		case strings.HasSuffix(name, "u:"):
			m.RowUpper[m.Rows()-1] = bound
			continue
		case relation == "=":
			m.AddRow(bound, bound, sum(words[1:len(words)-2])...)
		case relation == ">=":
			m.AddRow(bound, inf, sum(words[1:len(words)-2])...)
		default:
			m.AddRow(-inf, bound, sum(words[1:len(words)-2])...)
		}
	}
	for c, line := range sections[2] {
		switch words := strings.Fields(line); words[1] {
		case "free":
			m.Lower[c], m.Upper[c] = -inf, inf
		case "=":
			m.Lower[c], m.Upper[c] = number(words[2]), number(words[2])
		default:
			m.Lower[c], m.Upper[c] = number(words[0]), number(words[4])
		}
	}
	for _, line := range sections[3] {
		m.Kind[column(strings.TrimSpace(line))] = ilp.Integer
	}
	return m
}
