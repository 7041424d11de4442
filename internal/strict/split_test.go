package strict

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzSplit takes valid JSON apart, and wants the elements and members that encoding/json
// finds, in their order.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{`[]`, `[1, "a]\"", {"b": [2]} ,null]`, `{}`, ` { "a" : 1 , "\u0062":[{}], "c":"}" }`, `7`, `"[1]"`, "[\n[]\t,{}\r]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil {
			want = nil
		}
		for i, got := range Elements(text) {
			if i >= len(want) || !bytes.Equal(got, want[i]) {
				t.Fatalf("%s: element %d is %s, want %s", text, i, got, want)
			}
			if i == len(want)-1 {
				want = nil
			}
		}
		if len(want) > 0 {
			t.Fatalf("%s: elements %s were not found", text, want)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil {
			object = nil
		}
		last := map[string][]byte{}
		for name, value := range Members(text) {
			var key string
			if err := json.Unmarshal(name, &key); err != nil {
				t.Fatal(err)
			}
			last[key] = value
		}
		if len(last) != len(object) {
			t.Fatalf("%s: members %q, want %q", text, last, object)
		}
		for key, value := range object {
			if !bytes.Equal(last[key], value) {
				t.Fatalf("%s: %q is %s, want %s", text, key, last[key], value)
			}
		}
	})
}
