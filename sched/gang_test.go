package sched_test

import (
	"testing"

	"fairlead.dev/fairlead/sched"
)

// What is said of a gang names where it has to be before it names who has yet to come.
func TestGangInWords(t *testing.T) {
	for _, test := range []struct {
		gang sched.Gang
		want string
	}{
		{sched.Gang{Least: 2, Waits: 2, Fit: 1}, "a gang of 2: 1 of its 2 waiting tasks would fit now"},
		{sched.Gang{Least: 8, Has: 1, Waits: 5, Fit: 3, Domains: 1}, "a gang of 8, of which 1 have a place or are done: 3 of its 5 waiting tasks would fit now in the one domain that there is for them, and 2 more have yet to come"},
		{sched.Gang{Least: 8, Waits: 5, Fit: 3, Domains: 4}, "a gang of 8: 3 of its 5 waiting tasks would fit now in the best of 4 domains, of which one is to hold them all, and 3 more have yet to come"},
	} {
		if got := test.gang.String(); got != test.want {
			t.Errorf("%+v is %q, want %q", test.gang, got, test.want)
		}
	}
}
