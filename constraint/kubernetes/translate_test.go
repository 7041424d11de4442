package kubernetes_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/constraint/kubernetes/kubernetestest"
)

// End states that violate no hard constraint are those to which Kubernetes' filters lead in
// some order: the one direction always, the other where the translation has no note.
func TestEndStates(t *testing.T) {
	for name, features := range map[string]kubernetestest.Features{
		"anti-affinity":            {Away: true, Running: true},
		"affinity":                 {Together: true, Running: true},
		"spread":                   {Spread: true, Running: true},
		"all but spread":           {Away: true, Together: true, Soft: true, Running: true},
		"anti-affinity and spread": {Away: true, Spread: true, Running: true},
		"affinity and spread":      {Together: true, Spread: true, Running: true},
		"everything":               {Away: true, Together: true, Spread: true, Soft: true, Running: true},
	} {
		t.Run(name, func(t *testing.T) {
			exact, noted, reached := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				w := kubernetestest.Draw(t, features)
				d := w.Compare(w.Model)
				if d.Unreachable != nil && !slices.ContainsFunc(w.Rules.Notes, func(n kubernetes.Note) bool { return n.Unreachable }) {
					t.Errorf("violates nothing, and no order leads there:\n%s", w.Draw(d.Unreachable))
				}
				if d.Forbidden != nil && len(w.Rules.Notes) == 0 {
					t.Errorf("can be reached, and is forbidden:\n%s", w.Draw(d.Forbidden))
				}
				reached += d.States
				if d.Forbidden == nil {
					exact++
				} else {
					noted++
				}
			})
			t.Logf("%d worlds exact, %d stricter, %d end states", exact, noted, reached)
		})
	}
}
