package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/policies/chosen/chosentest"
	"fairlead.dev/fairlead/setup"
)

// TestPolicyOfAProfile: what may be written of a policy in a profile may be written in a spec of a simulated
// run, and the other way; package setup has the same test.
func TestPolicyOfAProfile(t *testing.T) {
	const at = "profiles[0].policy"
	chosentest.Check(t, func(t *testing.T, text string) (p chosen.Policy, wrong []string) {
		t.Helper()
		c, err := config.Parse("f.yaml", []byte(header+"profiles: [{evictions: {enabled: true}, policy: "+text+"}]"))
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				_, says, _ := strings.Cut(line, at)
				wrong = append(wrong, strings.TrimPrefix(strings.TrimPrefix(says, "."), ": "))
			}
			return p, wrong
		}
		for _, e := range c.Validate() { // each has the value besides, as all that is wrong with a configuration
			wrong = append(wrong, strings.TrimPrefix(e.Field, at+".")+": "+e.Detail)
		}
		return c.Profiles[0].Policy, wrong
	})
}

// TestSeedOfSimulations: a profile that names no seed takes of equally good nodes those that simulations take, or no plan
// would come true.
func TestSeedOfSimulations(t *testing.T) {
	if got, want := config.Default().Profiles[0].Seed, setup.Default().Seeds; len(want) != 1 || got != want[0] {
		t.Errorf("seed %d, want that of simulations: %d", got, want)
	}
}

// TestOldFields: options that stand in the profile itself, as they once did, are read, and it is said how to
// write them now.
func TestOldFields(t *testing.T) {
	const old = `
profiles:
- {schedulerName: a, policy: bfd, tieBreak: random, seed: 3}
- schedulerName: b
  policy: quincy
  solver: cost-scaling
  migrations: 3
  evictions: {enabled: true}
`
	const now = `
profiles:
- {schedulerName: a, policy: {name: bfd, options: {tie_break: random}}, seed: 3}
- schedulerName: b
  policy: {name: quincy, options: {solver: cost-scaling, migrations: 3}}
  evictions: {enabled: true}
`
	was, err := config.Parse("f.yaml", []byte(header+old))
	if err != nil {
		t.Fatal(err)
	}
	is, err := config.Parse("f.yaml", []byte(header+now))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(is.Profiles, was.Profiles); diff != "" {
		t.Errorf("new -, old +\n%s", diff)
	}
	if errs := was.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	if fields := was.NeedRestart(is); len(fields) > 0 {
		t.Errorf("writing it anew needs a restart, for %v", fields)
	}
	want := []string{
		"profiles[0].tieBreak is where an option of the policy stood once, and is still read; write policy: {name: ..., options: {tie_break: random}}",
		"profiles[1].solver is where an option of the policy stood once, and is still read; write policy: {name: ..., options: {solver: cost-scaling}}",
		"profiles[1].migrations is where an option of the policy stood once, and is still read; write policy: {name: ..., options: {migrations: 3}}",
	}
	if got := was.Cautions(); !slices.Equal(got, want) {
		t.Errorf("said %q", got)
	}
	if got := is.Cautions(); len(got) > 0 {
		t.Errorf("said %q of the new form", got)
	}
}

// TestOldFile: the file that --write-config-to wrote while options stood in profiles, and kube was the default policy, is
// read still as what it says.
func TestOldFile(t *testing.T) {
	old, err := config.Load("testdata/old.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(old.Old) != 1 {
		t.Errorf("said %q", old.Old)
	}
	old.Old = nil
	was := config.Default()
	was.Profiles[0].Policy.Name = "kube"
	was.Profiles[0].Evictions.Enabled, was.Profiles[0].Evictions.Pace = false, config.Pace{AtOnce: 16, PerMinute: 60}
	if diff := cmp.Diff(was, old); diff != "" {
		t.Errorf("default of then -, old +\n%s", diff)
	}
}

// TestDocumented: the example of docs/kubernetes.md is a configuration, and nothing in it is old.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	c, err := config.Parse("docs/kubernetes.md", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if errs := c.Validate(); len(errs) > 0 || len(c.Cautions()) > 0 || len(c.Profiles) < 4 {
		t.Errorf("%d profiles, %v, %q", len(c.Profiles), errs.ToAggregate(), c.Cautions())
	}
}
