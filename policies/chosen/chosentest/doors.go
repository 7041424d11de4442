// Package chosentest holds the doors by which policies come in, specs and profiles of Kubernetes, against
// each other: what is written at one means the same at the other, and is wrong in the same words.
package chosentest

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

// Door reads a policy, which must be one of those, off a text of YAML in braces. What is wrong with it is
// said field by field: "options.solver: unknown solver ...", and of the text, from its name in the
// document on: "heartbeat: ... is not a time".
type Door func(t *testing.T, text string) (p chosen.Policy, wrong []string)

// Check holds a door against what all doors do.
func Check(t *testing.T, door Door) {
	t.Helper()
	for _, test := range []struct {
		text string
		lane string   // that is made of it
		says []string // that is wrong instead
	}{
		{"kube", "kube map[tie_break:fixed] 0s 0s", nil},
		{"{name: kube, options: {tie_break: random}}", "kube map[tie_break:random] 0s 0s", nil},
		{"{name: random}", "random map[tie_break:random] 0s 0s", nil},
		{
			"{name: quincy, options: {solver: cost-scaling, migrations: 8}, heartbeat: 1s, watchdog: 1m30s}",
			"quincy map[migrations:8 solver:cost-scaling] 1s 90s", nil,
		},
		{"{name: quincy, options: {solver: automatic, migrations: 0}}", "quincy map[] 0s 0s", nil},
		{"{name: qos}", "qos map[tie_break:fixed] 0s 30s", nil},
		{"{name: qos, watchdog: 0s}", "qos map[tie_break:fixed] 0s 0s", nil},
		{"serial", "serial map[] 10s 0s", nil},
		{"kub", "", []string{`name: unknown policy "kub"; did you mean kube?`}},
		{"{name: kub, options: {tie_break: fixed}}", "", []string{`name: unknown policy "kub"; did you mean kube?`}},
		{"{name: kube, options: {tie_brake: lowest}}", "", []string{"options.tie_brake: the policy kube has no use for it; did you mean tie_break?"}},
		{
			"{name: kube, options: {tie_break: highest, solver: race}}", "",
			[]string{
				"options.solver: the policy kube has no use for it; leave it out",
				`options.tie_break: unknown tie-break "highest"; there are fixed, lowest, random`,
			},
		},
		{"{name: cpu-mem, options: {solver: relaxatoin}}", "", []string{`options.solver: unknown solver "relaxatoin"; did you mean relaxation?`}},
		{"{name: first-fit, options: {tie_break: random}}", "", []string{"options.tie_break: the policy first-fit is defined by lowest; leave it out"}},
		{"{name: quincy, options: {migrations: -1}}", "", []string{"options.migrations: -1, want a number from 0"}},
		{"{name: kube, hartbeat: 1s}", "", []string{"hartbeat: unknown field; did you mean heartbeat?"}},
		{"{name: kube, heartbeat: 15}", "", []string{`heartbeat: "15" is not a time; write 90s, 10m, 2h, 29d or 1h30m`}},
		{"{name: kube, options: {tie_break: [fixed]}}", "", []string{"options.tie_break: expected one value, found a list or fields"}},
		{"[kube]", "", []string{`expected fields, such as "name: ..."`}},
	} {
		p, wrong := door(t, test.text)
		if got, want := strings.Join(wrong, "\n"), strings.Join(test.says, "\n"); got != want {
			t.Errorf("%s: it says\n%s\nwant\n%s", test.text, got, want)
			continue
		}
		if test.lane == "" {
			continue
		}
		l, err := p.Lane(policies.All(), 1, nil)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got := fmt.Sprint(l.Policy, " ", l.Options, " ", chosen.Time(l.Heartbeat), " ", chosen.Time(l.Watchdog)); got != test.lane {
			t.Errorf("%s: the lane is %s, want %s", test.text, got, test.lane)
		}
	}
}
