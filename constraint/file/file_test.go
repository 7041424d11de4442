package file

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
)

// listed is what was read, a line each: where it stands, its name if it has one of its
// own, its text and its owner.
func listed(f *File) string {
	var b strings.Builder
	for i := range f.Constraints {
		b.WriteString(string(rune('0'+f.Lines[i])) + " " + constraint.Title(&f.Constraints[i]) + "\n")
	}
	return b.String()
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a line each", "# of the operator\n\n{a, {b, 0, 2}, node}: hard\r\n  {*, {b, 1, inf}, rack} # each\n", `3 {a, {b, 0, 2}, node}: hard
4 {*, {b, 1, inf}, rack}
`},
		{"text behind a mark of its encoding", "\ufeff{a, {b, 0, 2}, node}", "1 {a, {b, 0, 2}, node}\n"},
		{"text that begins as JSON would", `{"a b", {b, 0, 2}, node}`, "1 {\"a b\", {b, 0, 2}, node}\n"},
		{"list of texts", "- '{a, {b, 0, 2}, node}: hard'\n- |\n  {a, {b, 0, 2}, node}\n  | {a, {c, 0, 2}, node}\n", `1 {a, {b, 0, 2}, node}: hard
2 {a, {b, 0, 2}, node} | {a, {c, 0, 2}, node}
`},
		{"maps", `
constraints:
- name: few neighbours
  any: [[{subject: [web, a], target: db, max: 2, group: node, self: counted}, {subject: "*", target: [db], min: 1, group: rack}],
        [{subject: web, target: [db, app:shop], min: 3, max: inf, group: node}]]
  weight: 2.5
- {any: [[{subject: web, target: web, max: 0, group: node}]], hard: true, owner: shop}
- {name: texted, text: "{a, {b, 0, 2}, node}: hard", owner: shop}
- {any: [[{subject: web, target: web, max: 0, group: node}]], hard: false}
`, `3 "few neighbours" {a & web, {db, 0, 2}, node, counted} & {*, {db, 1, inf}, rack} | {web, {app:shop & db, 3, inf}, node}: 2.5
7 {web, {web, 0, 0}, node}: hard of shop
8 texted {a, {b, 0, 2}, node}: hard of shop
9 {web, {web, 0, 0}, node}
`},
		{"the whole file counts itself", `
constraints:
- "{spark, {spark, 3, 10}, rack}"
- "{*, {spark, 0, 3}, node}"
- any: [[{subject: a, target: a, max: 2, group: node}, {subject: a, target: b, max: 2, group: node, self: others}, {subject: "*", target: b, max: 2, group: node}]]
self: counted
`, `3 {spark, {spark, 3, 10}, rack}: counted
4 {*, {spark, 0, 3}, node}
5 {a, {a, 0, 2}, node, counted} & {a, {b, 0, 2}, node} & {*, {b, 0, 2}, node}
`},
		{"JSON", `{"constraints": ["{a, {b, 0, 2}, node}", {"any": [[{"subject": ["a"], "target": ["b"], "min": 1, "group": "node"}]], "hard": true}]}`, `1 {a, {b, 0, 2}, node}
1 {a, {b, 1, inf}, node}: hard
`},
	} {
		f, err := Decode("t.yaml", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := listed(f); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		for i := range f.Constraints {
			if err := cluster.CheckConstraint(&f.Constraints[i]); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestMapIsText: a constraint as a map is the same value as its text.
func TestMapIsText(t *testing.T) {
	const both = `
- "{b & a, {c, 1, inf}, rack} | {*, {a, 0, 7}, node} & {a, {a, 2, 3}, node, counted}: 0.25"
- any: [[{subject: [b, a], target: [c], min: 1, group: rack}],
        [{subject: "*", target: a, max: 7, group: node}, {subject: a, target: a, min: 2, max: 3, group: node, self: counted}]]
  weight: 0.25
`
	f, err := Decode("t.yaml", []byte(both))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Constraints[0], f.Constraints[1]); diff != "" {
		t.Errorf("text -, map +:\n%s", diff)
	}
}

// Each constraint is known to begin where its text or its map does.
func TestPlaces(t *testing.T) {
	for text, want := range map[string][2][]int{
		"{a, {b, 0, 2}, node}\n\n \t{a, {b, 0, 1}, node}":                           {{1, 3}, {1, 3}},
		"- '{a, {b, 0, 2}, node}'\n-   {name: x, text: '{a, {b, 0, 1}, node}'}":     {{1, 2}, {3, 5}},
		"{\"constraints\": [\"{a, {b, 0, 2}, node}\",\n \"{a, {b, 0, 1}, node}\"]}": {{1, 2}, {18, 2}},
	} {
		f, err := Decode("t", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := [2][]int{f.Lines, f.Columns}; !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
			t.Errorf("%s: lines and columns %v, want %v", text, got, want)
		}
	}
}

// TestDocument reads what docs/constraints.md shows: each constraint of its tables, and the
// file.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/constraints.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("`(\\{[^`]+\\}[^`]*)`").FindAllStringSubmatch(string(text), -1)
	read := 0
	for _, match := range shown {
		if text := strings.ReplaceAll(match[1], `\|`, "|"); !strings.Contains(text, "subject") {
			if _, err := constraint.Parse(text); err != nil {
				t.Error(err)
			}
			read++
		}
	}
	_, file, _ := strings.Cut(string(text), "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	f, err := Decode("docs/constraints.md", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if read < 12 || len(f.Constraints) != 3 {
		t.Errorf("read %d constraints in the text and %d in the file", read, len(f.Constraints))
	}
}

func TestDecodeRefuses(t *testing.T) {
	bound := func(fields string) string { return "- any: [[{" + fields + "}]]" }
	for _, c := range []struct{ text, want string }{
		{"", "t.yaml: there is no constraint; write one on each line, such as {storm"},
		{"# nothing", "t.yaml: there is no constraint"},
		{"storm", "t.yaml:1:1: expected fields, such as \"constraints: ...\""},
		{"[]", "t.yaml:1:1: expected a list of constraints"},
		{"{}", "t.yaml:1:1: has no constraints, which are a list"},
		{"constraints: 3", "t.yaml:1:14: constraints: expected a list of constraints"},
		{"constrains: []", "t.yaml:1:1: constrains: unknown field; did you mean constraints?\nt.yaml:1:1: has no constraints"},
		{"self: conuted\nconstraints: ['{a, {b, 0, 2}, node}']", `t.yaml:1:7: self: "conuted", want counted, or others, which is what holds if nothing is said; did you mean counted?`},
		{"- '{a, {b, 0, 2}, node}'\n---\n- '{a, {b, 0, 2}, node}'", "t.yaml: there is more than one YAML document"},
		{"- {*, {b, 0, 2}, node}", "; constraints as text begin with { on each line, and in YAML a text that begins so stands in quotes"},

		// All mistakes of a text file, each with its place.
		{"{a, {b, 0 2}, node}\n# so\n\t{a, {b, 0, 2} node}", "t.yaml:1:11: expected \",\" and the most, a number or inf, found 2\n    {a, {b, 0 2}, node}\n              ^\n"},
		{"{a, {b, 0 2}, node}\n# so\n\t{a, {b, 0, 2} node}", "\nt.yaml:3:16: expected \",\" and the group of nodes, found node\n    \t{a, {b, 0, 2} node}\n    \t              ^\n"},

		{"- '{a, {b, 0 2}, node}'\n- '{a, {b, 0, 2}, node'", "t.yaml:1:3: [0]: column 11: expected"},
		{"- '{a, {b, 0 2}, node}'\n- '{a, {b, 0, 2}, node'", "\nt.yaml:2:3: [1]: column 20: expected \"}\", found the end"},
		{"- {a, {b, 0, 2}, node}", `t.yaml:1:3: [0]: in YAML a text that begins with { stands in quotes: "{storm`},
		{"- {a, {b, 0, 2}, node}: hard", `t.yaml:1:3: [0]: in YAML a text that begins with { stands in quotes: "{storm`},
		{"-", "t.yaml:1:2: [0]: has no value"},
		{"- &x '{a, {b, 0, 2}, node}'\n- *x", "t.yaml:2:3: [1]: is written as an alias, *x; write it out"},
		{"- {hard: true}", "t.yaml:1:3: [0]: wants either a text, as in text:"},
		{"- {text: '{a, {b, 0, 2}, node}', any: [[{subject: a, target: b, group: node}]]}", "t.yaml:1:3: [0]: wants either a text"},
		{"- {text: '{a, {b, 0, 2}, node}', hard: true}", "t.yaml:1:3: [0]: hard and weights stand in the text"},
		{"- {any: [[{subject: a, target: b, group: node}]], hard: true, weight: 2}", "t.yaml:1:3: [0]: is hard, and has a weight"},
		{"- {any: [[{subject: a, target: b, group: node}]], hard: yes}", `t.yaml:1:57: [0].hard: "yes", want true or false`},
		{"- {any: [[{subject: a, target: b, group: node}]], weight: 0}", `t.yaml:1:59: [0].weight: weight 0, want 0.001 to 1000000`},
		{"- {any: [[{subject: a, target: b, group: node}]], weight: heavy}", `t.yaml:1:59: [0].weight: "heavy" is not a weight`},
		{"- any: []", "t.yaml:1:8: [0].any: expected a list of alternatives"},
		{"- any: [[]]", "t.yaml:1:9: [0].any[0]: expected a list of bounds, each such as"},
		{"- any: [{subject: a, target: b, group: node}]", "t.yaml:1:9: [0].any[0]: expected a list of bounds"},
		{bound("target: b, group: node"), "t.yaml:1:10: [0].any[0][0]: has no subject"},
		{bound("subject: a, group: node"), "t.yaml:1:10: [0].any[0][0]: has no target"},
		{bound("subject: a, target: b"), "t.yaml:1:10: [0].any[0][0]: has no group"},
		{bound("subject: a, target: [], group: node"), "[0].any[0][0].target: expected a list of tags"},
		{bound("subject: a, target: [b, b], group: node"), "[0].any[0][0].target[1]: tag b stands here twice"},
		{bound("subject: a, target: [b, ''], group: node"), "[0].any[0][0].target[1]: is empty"},
		{bound("subject: a, target: {b: c}, group: node"), "[0].any[0][0].target: expected a list of tags"},
		{bound("subject: a, target: b, group: [node]"), "[0].any[0][0].group: expected one value, found a list or fields"},
		{bound("subject: a, target: b, group: node, min: inf"), `[0].any[0][0].min: "inf", want a whole number from 0 to 1073741824`},
		{bound("subject: a, target: b, group: node, max: -1"), `[0].any[0][0].max: "-1", want a whole number`},
		{bound("subject: a, target: b, group: node, max: 9999999999"), `[0].any[0][0].max: "9999999999", want a whole number`},
		{bound("subject: a, target: b, group: node, min: 3, max: 2"), "[0].any[0][0]: max 2 is less than min 3"},
		{bound("subject: '*', target: b, group: node, self: counted"), "[0].any[0][0]: a bound of * binds whole sets"},
		{bound("subjet: a, target: b, group: node"), "[0].any[0][0].subjet: unknown field; did you mean subject?"},
		{bound("subject: a, subject: c, target: b, group: node"), "[0].any[0][0].subject: given twice"},
		{"- {name: x, text: '{a, {b, 0, 2}, node}'}\n- {name: x, text: '{a, {b, 0, 1}, node}'}", `t.yaml:2:10: [1].name: "x" is the name of the constraint on line 1 too`},
	} {
		_, err := Decode("t.yaml", []byte(c.text))
		if err == nil {
			t.Errorf("%s\nis read", c.text)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngives\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

// TestRead reads a list within another document, where an application owns it.
func TestRead(t *testing.T) {
	decode := func(text string) (*File, error) {
		reader, list, err := document.Open("t.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		list.Path = "applications[0].constraints"
		return Read(reader, list, Defaults{Owner: "shop", SelfCounted: true}), reader.Err()
	}
	f, err := decode("- '{a, {a, 0, 2}, node}'\n- {name: x, text: '{a, {b, 0, 2}, node}: hard', owner: shop}")
	if err != nil {
		t.Fatal(err)
	}
	const want = "1 {a, {a, 0, 2}, node}: counted of shop\n2 x {a, {b, 0, 2}, node}: hard counted of shop\n"
	if got := listed(f); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	_, err = decode("- {text: '{a, {b, 0, 2}, node}', owner: bank}")
	const refusal = `t.yaml:1:41: applications[0].constraints[0].owner: "bank", but it stands with application shop, which is its owner`
	if err == nil || err.Error() != refusal {
		t.Errorf("%v, want %s", err, refusal)
	}
}

// FuzzDecode: no file makes the reader panic, and what it reads is constraints.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"{a, {b, 0, 2}, node}\n# so\n{a, {b, 0, 1}, node}: hard",
		"self: counted\nconstraints: ['{a, {b, 0, 2}, node}', {any: [[{subject: a, target: b, max: 2, group: node}]], weight: 2}]",
		"- {a, {b, 0, 2}, node}", `{"constraints": 3}`, "{", "\"", "- any: [[{subject: '*', self: counted}]]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := Decode("t", text)
		if err != nil {
			return
		}
		if n := len(read.Constraints); n != len(read.Lines) || n != len(read.Columns) || n == 0 {
			t.Fatalf("%q: %d constraints on %d lines, in %d columns", text, n, len(read.Lines), len(read.Columns))
		}
		for i := range read.Constraints {
			if err := cluster.CheckConstraint(&read.Constraints[i]); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
