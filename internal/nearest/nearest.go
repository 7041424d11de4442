// Package nearest guesses what a mistyped word was meant to be, for errors that
// ask "did you mean …?".
//
// Words are compared by the optimal string alignment distance (Damerau, 1964;
// restricted): how many letters must be changed, added, taken away or swapped
// with their neighbour, no part twice. A guess that needs more than one mistake
// in three letters would mislead more often than it helps, and is not made.
package nearest

import (
	"fmt"
	"strings"
)

// Of returns the known word that is the fewest mistakes away from word, the
// first of several; upper and lower case are the same. It returns false where
// each known word is further away than a third of the longer one's letters.
func Of(word string, known []string) (string, bool) {
	typed := letters(word)
	best, found, fewest := "", false, 0
	for _, k := range known {
		meant := letters(k)
		d := distance(typed, meant)
		if d <= max(len(typed), len(meant))/3 && (!found || d < fewest) {
			best, found, fewest = k, true, d
		}
	}
	return best, found
}

func letters(word string) []rune { return []rune(strings.ToLower(word)) }

// distance fills in the table d[i][j], the distance of the first i letters of a
// from the first j of b, of which it keeps three rows.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Unknown says that there is no such name, and which one is near it, or else
// which there are.
func Unknown(what, name string, names []string) error {
	if near, ok := Of(name, names); ok {
		return fmt.Errorf("unknown %s %q; did you mean %s?", what, name, near)
	}
	if len(names) > mostListed {
		return fmt.Errorf("unknown %s %q; there are %d, such as %s", what, name, len(names), strings.Join(names[:5], ", "))
	}
	return fmt.Errorf("unknown %s %q; there are %s", what, name, strings.Join(names, ", "))
}

// mostListed is how many names a message lists.
const mostListed = 60
