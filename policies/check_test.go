package policies_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// named is a policy from elsewhere with such options.
func named(name string, options ...policies.Option) policies.Info {
	return policies.Info{
		Name: name, Options: options,
		Make: func(o policies.Options) (sched.Policy, error) { return policies.New("kube", o) },
	}
}

// TestNamesStandForOne: a policy from elsewhere may not hide one of ours, nor an option, and its
// names can be typed.
func TestNamesStandForOne(t *testing.T) {
	solver := policies.Solver()
	otherHelp, otherValues, otherDefault := solver, solver, solver
	otherHelp.Help = "something else"
	otherValues.Values = append([]string{"mine"}, solver.Values...)
	otherDefault.Default = solver.Values[1]
	isThere := "policy mine: an option called solver is there already, and means something else; give yours another name"
	word := func(name string) policies.Option { return policies.Option{Name: name, Help: "how deep"} }
	for _, tc := range []struct {
		own  policies.List
		want string
	}{
		{policies.List{named("mine", solver, word("depth")), named("mine-2", word("depth"))}, ""},
		{policies.List{named("kube")}, "there are two policies called kube; give yours another name"},
		{policies.List{named("")}, `there is a policy called ""; want a name of lower-case letters`},
		{policies.List{named("a,b")}, `there is a policy called "a,b"; want a name of lower-case letters`},
		{policies.List{{Name: "mine"}}, "policy mine: it has no Make"},
		{policies.List{named("mine", otherHelp)}, isThere},
		{policies.List{named("mine", otherValues)}, isThere},
		{policies.List{named("mine", otherDefault)}, isThere},
		{policies.List{named("mine", word("my_depth"), word("my-depth"))}, "policy mine: an option called my-depth is there already"},
		{policies.List{named("mine", word("a"), policies.Option{Name: "a", Help: "how deep", Values: []string{"x"}})}, "policy mine: an option called a is there already"},
		{policies.List{named("mine", policies.Option{Name: "a", Default: "y", Values: []string{"x"}})}, ""}, // the default may be what no value says
		{policies.List{named("mine", word(""))}, `policy mine: an option is called ""; want a name of lower-case letters`},
		{policies.List{named("mine", word("Depth"))}, `policy mine: an option is called "Depth"; want`},
		{policies.List{named("mine", word("a=b"))}, `policy mine: an option is called "a=b"; want`},
		{policies.List{named("mine", word("policy"))}, "policy mine: an option is called policy, as a field of profiles and specs is"},
		{policies.List{named("mine", word("evictions"))}, "policy mine: an option is called evictions, as a field"},
		{policies.List{named("mine", word("scheduler_name"))}, "policy mine: an option is called scheduler_name, as a field"},
	} {
		got := ""
		if err := append(policies.All(), tc.own...).Check(); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s %v: %q, want %q", tc.own[0].Name, tc.own[0].Options, got, tc.want)
		}
	}
}
