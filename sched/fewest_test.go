package sched

import "testing"

func TestFewestSays(t *testing.T) {
	for _, of := range []struct {
		Fewest
		want string
	}{
		{Fewest{1, 1}, "1 leaves, fewer do not suffice"},
		{Fewest{3, 2}, "3 leave, at least 2 have to"},
	} {
		if got := of.String(); got != of.want {
			t.Errorf("%q, want %q", got, of.want)
		}
	}
}
