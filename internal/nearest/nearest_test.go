package nearest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, tc := range []struct{ word, known, want string }{
		{"kubee", "kube priority", "kube"},
		{"prioriyt", "kube priority", "priority"},
		{"Nodes", "tasks nodes", "nodes"},
		{"demmand", "demand", "demand"},
		{"per-node", "per_node", "per_node"},
		{"perNode", "per_node", "per_node"},
		// One mistake is allowed in three letters, and counts of the longer word.
		{"qsp", "qps", "qps"},
		{"gp", "gpu", "gpu"},
		{"cn", "hn", ""},
		{"abcxy", "abc", ""},
		{"abcdxy", "abcd", "abcd"},
		{"yxabc", "zzabc", ""},
		// The nearest counts, and of equals the first.
		{"cats", "bats cat hats", "bats"},
		{"cats", "coat cat", "cat"},
		{"", "a b", ""},
		{"word", "", ""},
		{"größe", "grösse größer", "größer"},
	} {
		got, ok := Of(tc.word, strings.Fields(tc.known))
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("of %q, the nearest to %q is %q, %v; want %q", tc.known, tc.word, got, ok, tc.want)
		}
	}
}

// TestDistance compares with the definition, which tries every mistake in turn.
func TestDistance(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	word := func() []rune {
		w := make([]rune, chance.IntN(6))
		for i := range w {
			w[i] = 'a' + rune(chance.IntN(3))
		}
		return w
	}
	for range 5000 {
		a, b := word(), word()
		want := slow(a, b)
		if got := distance(a, b); got != want {
			t.Fatalf("from %q to %q it is %d, want %d", string(a), string(b), got, want)
		}
	}
}

func slow(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	n, m := len(a)-1, len(b)-1
	d := slow(a[:n], b[:m])
	if a[n] != b[m] {
		d++
	}
	d = min(d, slow(a[:n], b)+1, slow(a, b[:m])+1)
	if n > 0 && m > 0 && a[n] == b[m-1] && a[n-1] == b[m] {
		d = min(d, slow(a[:n-1], b[:m-1])+1)
	}
	return d
}
