package perf

import (
	"bytes"
	"strings"
	"testing"
	"text/template"
)

// TestFunctions: what upstream's functions of templates yield, with numbers as YAML and as text has them.
func TestFunctions(t *testing.T) {
	env := map[string]any{"Index": 7, "n": 5., "t": "2.5", "list": []any{map[string]any{"a": "<b>"}}}
	for _, c := range []struct{ text, want string }{
		{`{{AddInt .Index .n .t}}`, "14"},
		{`{{AddFloat .Index .n .t}}`, "14.5"},
		{`{{SubtractInt .Index .t}}`, "4"},
		{`{{SubtractFloat .Index .t}}`, "4.5"},
		{`{{MultiplyInt .n .t}}`, "12"},
		{`{{MultiplyFloat .n .t}}`, "12.5"},
		{`{{DivideInt .Index 2}}`, "3"},
		{`{{DivideFloat .Index 2}}`, "3.5"},
		{`{{Mod .Index .n}}`, "2"},
		{`{{Int .t}}`, "2"},
		{`{{range Int .n}}{{.}}{{end}}`, "01234"},
		{`{{JSON .list}}`, `[{"a":"<b>"}]`},
		{`{{Mod .Index 0}}`, "divided by zero"},
		{`{{DivideInt .Index .zero}}`, "is no number"},
		{`{{DivideFloat .Index 0}}`, "divided by zero"},
		{`{{Int "many"}}`, "invalid syntax"},
	} {
		made, err := template.New("t").Funcs(functions()).Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = made.Execute(&out, env)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.text, err, c.want)
			}
			continue
		}
		if out.String() != c.want {
			t.Errorf("%s is %s, want %s", c.text, out.String(), c.want)
		}
	}
}
