package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Lists without objects stand on one line; all else is where json.Indent puts it.
func TestLayOut(t *testing.T) {
	for _, c := range []struct{ compact, want string }{
		{`{}`, `{}`},
		{`[]`, `[]`},
		{`[1,2.5,-3]`, `[1,2.5,-3]`},
		{`{"a":1,"b":{}}`, "{\n    \"a\": 1,\n    \"b\": {}\n  }"},
		{`{"a":[[1,2],[3,4]],"b":["x]","y"]}`, "{\n    \"a\": [[1,2],[3,4]],\n    \"b\": [\"x]\",\"y\"]\n  }"},
		{`[{"a":[]},{"b":"{,:\"\\"}]`, "[\n    {\n      \"a\": []\n    },\n    {\n      \"b\": \"{,:\\\"\\\\\"\n    }\n  ]"},
	} {
		var text bytes.Buffer
		layOut(&text, []byte(c.compact), 1)
		if text.String() != c.want {
			t.Errorf("%s is laid out as\n%s\nwant\n%s", c.compact, text.String(), c.want)
		}
	}
}

// Without lists it is json.Indent, whatever the values; with them, it holds the
// same values.
func TestLayOutAgainstIndent(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var draw func(depth int, lists bool) any
	draw = func(depth int, lists bool) any {
		kinds := 5
		if depth == 0 {
			kinds = 3
		}
		switch random.IntN(kinds) {
		case 0:
			return random.IntN(1000)
		case 1:
			return strings.Repeat(`a"\{[,:]} <ä`, random.IntN(3))
		case 2:
			return random.IntN(2) == 0
		case 3:
			if lists {
				list := []any{}
				for range random.IntN(4) {
					list = append(list, draw(depth-1, lists))
				}
				return list
			}
		}
		tree := map[string]any{}
		for range random.IntN(4) {
			tree[fmt.Sprint(random.IntN(100), `"`)] = draw(depth-1, lists)
		}
		return tree
	}
	for i := range 2000 {
		lists := i%2 == 0
		compact, err := json.Marshal(draw(4, lists))
		if err != nil {
			t.Fatal(err)
		}
		var got, want bytes.Buffer
		layOut(&got, compact, 0)
		if err := json.Indent(&want, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		if !lists && got.String() != want.String() {
			t.Fatalf("%s is laid out as\n%s\njson.Indent has\n%s", compact, got.String(), want.String())
		}
		var again bytes.Buffer
		if err := json.Compact(&again, got.Bytes()); err != nil || again.String() != string(compact) {
			t.Fatalf("%s is laid out as\n%s\nwhich is %s, error %v", compact, got.String(), again.String(), err)
		}
	}
}
