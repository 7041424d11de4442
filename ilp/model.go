package ilp

// Kind says which values a column may take.
type Kind uint8

// The kinds of columns.
const (
	Continuous Kind = iota
	Integer
)

// Model is a mixed-integer linear program to be minimised; see the package's
// comment. The zero value is an empty model. Its arrays are there to be read by
// solvers, and Cost and the bounds may be changed between two solves; AddColumn
// and AddRow keep their lengths in step.
type Model struct {
	// Lower, Upper, Cost and Kind have an entry for each column.
	Lower, Upper, Cost []float64
	Kind               []Kind
	// RowLower and RowUpper have an entry for each row.
	RowLower, RowUpper []float64
	// End says where each row's terms end in Column and Value; they begin where
	// those of the row before it end.
	End    []int32
	Column []int32
	Value  []float64
}

// Term is one summand of a row: Value times what the column is.
type Term struct {
	Column int32
	Value  float64
}

// Reset empties the model and keeps its memory.
func (m *Model) Reset() {
	m.Lower, m.Upper, m.Cost, m.Kind = m.Lower[:0], m.Upper[:0], m.Cost[:0], m.Kind[:0]
	m.RowLower, m.RowUpper, m.End = m.RowLower[:0], m.RowUpper[:0], m.End[:0]
	m.Column, m.Value = m.Column[:0], m.Value[:0]
}

// AddColumn adds an unknown and returns its number.
func (m *Model) AddColumn(lower, upper, cost float64, kind Kind) int32 {
	m.Lower = append(m.Lower, lower)
	m.Upper = append(m.Upper, upper)
	m.Cost = append(m.Cost, cost)
	m.Kind = append(m.Kind, kind)
	return int32(len(m.Cost) - 1)
}

// AddRow adds a sum with bounds and returns its number. The terms are copied,
// so that a caller may use one buffer for all rows.
func (m *Model) AddRow(lower, upper float64, terms ...Term) int32 {
	for _, t := range terms {
		m.Column = append(m.Column, t.Column)
		m.Value = append(m.Value, t.Value)
	}
	m.RowLower = append(m.RowLower, lower)
	m.RowUpper = append(m.RowUpper, upper)
	m.End = append(m.End, int32(len(m.Column)))
	return int32(len(m.End) - 1)
}

// Columns returns how many columns there are.
func (m *Model) Columns() int { return len(m.Cost) }

// Rows returns how many rows there are.
func (m *Model) Rows() int { return len(m.End) }

// Row returns the terms of a row: columns, and what each is multiplied by.
func (m *Model) Row(row int) ([]int32, []float64) {
	from, to := m.start(row), m.End[row]
	return m.Column[from:to], m.Value[from:to]
}

func (m *Model) start(row int) int32 {
	if row == 0 {
		return 0
	}
	return m.End[row-1]
}
