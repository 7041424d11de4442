package report

import "bytes"

// This file is a table of variants of one policy, side by side.

// Variants are numbers of several variants of a policy.
type Variants struct {
	Names   []string  `json:"names"`
	Numbers []Variant `json:"numbers"`
}

// Variant is a number, of each variant by its place in the names; nil is one that was not measured.
type Variant struct {
	Row    string    `json:"row"`
	What   string    `json:"what"`
	Unit   Unit      `json:"unit"`
	Values []*Number `json:"values"`
}

// Grid is the table of the variants.
func (v *Variants) Grid() Grid {
	if v == nil {
		return Grid{}
	}
	g := Grid{Titles: append([]string{"row", "measure"}, v.Names...), Labels: 2}
	for i := range v.Numbers {
		n := &v.Numbers[i]
		row := []string{n.Row, n.What}
		for _, value := range n.Values {
			row = append(row, n.Unit.optional(value))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// writeVariants prints the table.
func writeVariants(text *bytes.Buffer, v *Variants) {
	if v == nil {
		return
	}
	grid := v.Grid()
	lines := []line{grid.Titles}
	for _, row := range grid.Rows {
		lines = append(lines, row)
	}
	text.WriteByte('\n')
	align(text, lines, 2)
}
