package world

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Who may read a pod is told in words of rules that pods of its namespace have, and that there are others.
func TestDiscreet(t *testing.T) {
	in := func(namespace string) *Pod {
		p := &Pod{}
		p.object = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		return p
	}
	mine, theirs := in("mine"), in("theirs")
	w := &World{rules: &rules{byKey: map[string]*rule{
		"apart by zone":    {pods: map[*Pod]bool{mine: true, theirs: true}},
		"apart by row":     {pods: map[*Pod]bool{theirs: true}},
		"apart by row two": {pods: map[*Pod]bool{theirs: true}},
	}}}
	text := "2 violate apart by row two, 1 violate apart by row, 3 violate apart by zone"
	const want = "2 violate a rule of pods of another namespace, 1 violate a rule of pods of another namespace, 3 violate apart by zone"
	if got := Discreet(w, mine, text); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Discreet(w, theirs, text); got != text {
		t.Errorf("who has the rules is told %s", got)
	}
}
