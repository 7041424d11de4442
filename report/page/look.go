package page

import (
	"slices"
	"strings"
)

// How lines and bands are told apart: a colour for each policy, a tone for each
// service class, the same in every chart. page.css says which.

// policyColour is the class of the colour of experiment i, and the dash that
// tells it from the others of that colour.
func policyColour(i int) (string, int) {
	const colours, dashes = 6, 4
	return "p" + string(rune('0'+i%colours)), i / colours % dashes
}

// styled gives line i, of an experiment, its name and look.
func styled(l line, i int, name string) line {
	l.Name = name
	l.Colour, l.Dash = policyColour(i)
	return l
}

// classColour is the class of the colour of band i.
func classColour(i int) string { return "c" + string(rune('0'+i%6)) }

// byImportance sorts the names of service classes: gold, silver, bronze, the
// others by name.
func byImportance(names []string) []string {
	rank := func(name string) int {
		if i := slices.Index([]string{"gold", "silver", "bronze"}, name); i >= 0 {
			return i
		}
		return 3
	}
	slices.SortStableFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}
