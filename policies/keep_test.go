package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/policies"
)

// TestKeepRunning: of the policies that evict only fairlead can do without, and what else is chosen about it stays.
func TestKeepRunning(t *testing.T) {
	for _, p := range policies.All() {
		s, ok := p.KeepRunning(policies.Settings{"tie_break": "random"})
		if want := !p.Evicts || p.Name == "fairlead"; ok != want || s["tie_break"] != "random" {
			t.Errorf("%s: %v, %t", p.Name, s, ok)
		}
	}
	p, err := policies.Find("fairlead")
	if err != nil {
		t.Fatal(err)
	}
	for was, want := range map[string]string{"": "evictions", "claims": "claims+evictions", "evictions+claims": "evictions+claims"} {
		given := policies.Settings{"without": was}
		s, _ := p.KeepRunning(given)
		if refused := p.Choose(s, &policies.Options{}); s["without"] != want || given["without"] != was || len(refused) > 0 {
			t.Errorf("of %q becomes %q, and %q is left; %v", was, s["without"], given["without"], refused)
		}
	}
	if s, _ := p.KeepRunning(nil); s["without"] != "evictions" {
		t.Errorf("of nothing becomes %v", s)
	}
}
