package policies_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// TestChoose: what is chosen is what the policy is made of, and comes back by the same names;
// what it has no use for, or is defined otherwise, is refused with what to do.
func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		policy        string
		chosen, taken policies.Settings
		refused       string
	}{
		{"kube", nil, policies.Settings{"tie_break": "fixed"}, ""},
		{"kube", policies.Settings{"tie_break": "lowest"}, policies.Settings{"tie_break": "lowest"}, ""},
		{"quincy", policies.Settings{"migrations": "7", "solver": "automatic"}, policies.Settings{"migrations": "7"}, ""},
		{"medea", nil, policies.Settings{}, ""},
		{"quincy", policies.Settings{"migrations": "-7", "solver": "sover"}, policies.Settings{}, `migrations: -7, want a number from 0, solver: unknown solver "sover"; there are automatic, `},
		{"kube", policies.Settings{"tie_brake": "lowest", "migrations": "1"}, policies.Settings{"tie_break": "fixed"}, "migrations: the policy kube has no use for it; leave it out, tie_brake: the policy kube has no use for it; did you mean tie_break?"},
		{"random", policies.Settings{"tie_break": "lowest"}, policies.Settings{"tie_break": "random"}, "tie_break: the policy random is defined by random; leave it out"},
		{"random", policies.Settings{"tie_break": "random"}, policies.Settings{"tie_break": "random"}, ""},
	} {
		p := found(t, tc.policy)
		var o policies.Options
		var list []string
		for _, r := range p.Choose(tc.chosen, &o) {
			list = append(list, fmt.Sprintf("%s: %v", r.Option, r.Err))
		}
		if got := strings.Join(list, ", "); !strings.HasPrefix(got, tc.refused) || (got == "") != (tc.refused == "") {
			t.Errorf("%s with %v is refused: %s\nwant %s", tc.policy, tc.chosen, got, tc.refused)
		}
		if got := p.Chosen(o); !maps.Equal(got, tc.taken) {
			t.Errorf("%s with %v takes %v, want %v", tc.policy, tc.chosen, got, tc.taken)
		}
	}
}

// TestOthersPolicy is a policy from elsewhere, with an option of its own, beside those here.
func TestOthersPolicy(t *testing.T) {
	var made policies.Settings
	own := policies.Info{
		Name: "own", What: "what it likes", From: "a test", Family: "own",
		Options: []policies.Option{{Name: "mood", Values: []string{"good", "bad"}, Default: "good"}, {Name: "depth", Help: "how deep"}},
		Make: func(o policies.Options) (sched.Policy, error) {
			made = o.Own
			return policies.New("kube", o)
		},
	}
	all := append(policies.All(), own)
	var o policies.Options
	if refused := own.Choose(policies.Settings{"depth": "3"}, &o); refused != nil {
		t.Fatal(refused)
	}
	if _, err := all.New("own", o); err != nil {
		t.Fatal(err)
	}
	if want := (policies.Settings{"mood": "good", "depth": "3"}); !maps.Equal(made, want) || !maps.Equal(own.Chosen(o), want) {
		t.Errorf("made of %v, said to be %v; want %v", made, own.Chosen(o), want)
	}
	if got := len(all.Options()) - len(policies.All().Options()); got != 2 {
		t.Errorf("the list has %d options more, want 2", got)
	}
	if refused := own.Choose(policies.Settings{"mood": "goood"}, &o); len(refused) != 1 || !strings.Contains(refused[0].Err.Error(), "did you mean good?") {
		t.Errorf("refused %v", refused)
	}
}

// TestSettingsAsJSON: numbers are numbers there, and read either way.
func TestSettingsAsJSON(t *testing.T) {
	text, err := json.Marshal(policies.Settings{"solver": "race", "migrations": "12"})
	if want := `{"migrations":12,"solver":"race"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	var s policies.Settings
	if err := json.Unmarshal([]byte(`{"a":12,"b":"12"}`), &s); err != nil || s["a"] != "12" || s["b"] != "12" {
		t.Errorf("%v, %v", s, err)
	}
	if err := json.Unmarshal([]byte(`{"a":[12]}`), &s); err == nil || !strings.Contains(err.Error(), "a: want a text or a number") {
		t.Error(err)
	}
}

// TestSeveral chooses several values of an option that takes them.
func TestSeveral(t *testing.T) {
	p := found(t, "fairlead")
	for text, want := range map[string]string{"claims": "", "claims+worth": "", "claims+wroth": "did you mean worth?", "claims+": "unknown", "claims,worth": "unknown"} {
		var o policies.Options
		refused := p.Choose(policies.Settings{"without": text}, &o)
		switch {
		case want == "" && (len(refused) > 0 || p.Chosen(o)["without"] != text):
			t.Errorf("%s: %v, chosen %v", text, refused, p.Chosen(o))
		case want != "" && (len(refused) != 1 || !strings.Contains(refused[0].Err.Error(), want)):
			t.Errorf("%s: %v, want it refused: %s", text, refused, want)
		}
	}
}
