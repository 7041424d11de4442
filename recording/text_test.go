package recording

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzText writes names and reads them again; those that are UTF-8 are written as encoding/json
// writes them, and what it reads of any JSON is read alike, but for lone surrogates.
func FuzzText(f *testing.F) {
	for _, name := range []string{"", "plain", "é<&>\"\\\n", "\xff", "a\xc3", "\xed\xb2\x80", "\ufffd", "😀\x80😀", `\udc80`, `"\ud83d\ude00"`, `"\ud83d\udc80\udcff"`, `["\u0061"]`, `"\\udc80"`} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var x encoder
		x.quote(name)
		var again text
		if err := json.Unmarshal(x.line, &again); err != nil || string(again) != name {
			t.Fatalf("%q is written as %s and read as %q, %v", name, x.line, again, err)
		}
		if slow, err := json.Marshal(name); utf8.ValidString(name) && (err != nil || string(slow) != string(x.line)) {
			t.Fatalf("%q is written as %s, encoding/json writes %s", name, x.line, slow)
		}
		var plain string
		if err, wrong := json.Unmarshal([]byte(name), &plain), json.Unmarshal([]byte(name), &again); (err == nil) != (wrong == nil) {
			t.Fatalf("%s: %v, encoding/json says %v", name, wrong, err)
		}
		if json.Unmarshal([]byte(name), &plain) == nil && string(again) != plain && utf8.ValidString(string(again)) {
			t.Fatalf("%s is read as %q, by encoding/json as %q", name, again, plain)
		}
	})
}
