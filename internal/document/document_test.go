package document

import (
	"fmt"
	"strings"
	"testing"
)

// read reads a document of a name, numbers and a flag.
func read(text string) error {
	r, top, err := Open("f", []byte(text))
	if err != nil {
		return err
	}
	r.Fields(top, []Field{
		{"name", func(v Value) { r.Text(v) }},
		{"numbers", func(v Value) { r.List(v, "numbers", func(v Value) { r.Whole(v, 1, 9) }) }},
		{"share", func(v Value) { r.Decimal(v, 2) }},
		{"flag", func(v Value) { r.Bool(v) }},
	})
	return r.Err()
}

func TestRead(t *testing.T) {
	for _, text := range []string{
		"name: a\nnumbers: [1, 9]\nshare: 0.5\nflag: true",
		`{"name": "a", "numbers": [], "share": 2, "flag": false}`,
		"share: 0\n",
	} {
		if err := read(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// At goes down a path as far as there is something.
func TestAt(t *testing.T) {
	_, top, err := Open("f", []byte("a:\n- b: 1\n- {c: [2, 3]}"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "1:1", "a": "2:1", "a[0].b": "2:6", "a[1].c[1]": "3:11", "a[1].d.e": "3:3", "a[2]": "2:1", "x": "1:1", "a[x]": "2:1", "a.b": "2:1",
	} {
		v := top.At(path)
		if got := fmt.Sprintf("%d:%d", v.Node.Line, v.Node.Column); got != want || v.Path != path {
			t.Errorf("%q is at %s, path %q; want %s", path, got, v.Path, want)
		}
	}
	if v := top.At("a[1]").At("c"); v.Node.Column != 7 || v.Path != "a[1].c" {
		t.Errorf("below a value: column %d, path %q", v.Node.Column, v.Path)
	}
}

// Every mistake is reported, in the order of the text.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "f: the file says nothing"},
		{"# nothing\n", "f: the file says nothing"},
		{"a: b\n---\na: b", "f: there is more than one YAML document; keep one and remove the line ---"},
		{"a: b\n---\na: [", "f: there is more than one YAML document; keep one and remove the line ---"},
		{`{"a": 1} trailing`, "f:1: the document has ended, and more text follows; keep one document, such as one object of JSON, and nothing behind it"},
		{"{\"a\": 1}\n\n{\"a\": 2}\n", "f:3: the document has ended, and more text follows"},
		{"\ufeff{a: 1}\nb: 2\n", "f:2: the document has ended, and more text follows"},
		{"'to' be\nor not", "f:1: the document has ended, and more text follows"},
		{"a: [", "f: neither YAML nor JSON: yaml: line 1: did not find expected node content"},
		{"[]", `f:1:1: expected fields, such as "name: ..."`},
		{"nme: a", "f:1:1: nme: unknown field; did you mean name?"},
		{"colour: a", "f:1:1: colour: unknown field; there are name, numbers, share, flag"},
		{"flag: true\nname: a\nflag: false", "f:3:1: flag: given twice, first on line 1; keep one"},
		{"name:", "f:1:6: name: has no value; give one or remove the line"},
		{"name: ''", "f:1:7: name: is empty"},
		{"name: [a]", "f:1:7: name: expected one value, found a list or fields"},
		{"name: &x a\nnumbers: [*x]", "f:2:11: numbers[0]: is written as an alias, *x; write it out"},
		{"<<: {name: a}", "f:1:1: merging by << is not read; write the fields out"},
		{"numbers: 3", "f:1:10: numbers: expected a list of numbers, each behind a dash or in brackets"},
		{"numbers: [3, 10, x]", "f:1:14: numbers[1]: \"10\", want a whole number from 1 to 9\nf:1:18: numbers[2]: \"x\", want a whole number from 1 to 9"},
		{"share: 2.5", "f:1:8: share: 2.5, want 0 to 2"},
		{"share: 1e3", `f:1:8: share: "1e3" is not a number such as 2 or 0.25`},
		{"flag: yes", `f:1:7: flag: "yes", want true or false`},
		{"flag: 1\nname: []", "f:1:7: flag: \"1\", want true or false\nf:2:7: name: expected one value, found a list or fields"},
	} {
		if err := read(tc.text); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q:\n%v\nwant\n%s", tc.text, err, tc.want)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	for text, want := range map[string]string{"2": "2", "0.25": "1/4", "-.5": "-1/2", "007": "7"} {
		if got, ok := ParseDecimal(text); !ok || got.RatString() != want {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "-", ".", "1.2.3", "1/2", "0x1", strings.Repeat("1", 41)} {
		if got, ok := ParseDecimal(text); ok {
			t.Errorf("%s is %v, want nothing", text, got)
		}
	}
}
