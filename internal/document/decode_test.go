package document_test

import (
	"reflect"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/document"
)

type decoded struct {
	Text    string             `json:"text"`
	Whole   int                `json:"whole"`
	Share   float64            `json:"share,omitempty"`
	Truth   bool               `json:"truth"`
	Maybe   *int               `json:"maybe"`
	List    []decoded          `json:"list"`
	Factors map[string]float64 `json:"factors"`
	Hidden  string             `json:"-"`
}

// TestDecode fills in what is given, over what was there.
func TestDecode(t *testing.T) {
	in, top, err := document.Open("f", []byte("text: a b\nshare: 0.5\nmaybe: 0\nlist:\n- {whole: 7, truth: true}\n- text: '7'\nfactors: {cpu: 1.6, memory: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := decoded{Text: "was", Whole: 3, List: []decoded{{}, {}, {}}}
	in.Decode(top, &got)
	want := decoded{Text: "a b", Whole: 3, Share: 0.5, Maybe: new(int), List: []decoded{{Whole: 7, Truth: true}, {Text: "7"}}, Factors: map[string]float64{"cpu": 1.6, "memory": 2}}
	if err := in.Err(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// TestDecodeMistakes: each is said with its place.
func TestDecodeMistakes(t *testing.T) {
	in, top, err := document.Open("f", []byte("texd: a\nwhole: 1.5\nshare: much\ntruth: maybe\nlist: {}\nfactors: [1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	in.Decode(top, &decoded{})
	want := []string{
		"f:1:1: texd: unknown field; did you mean text?", `f:2:8: whole: "1.5", want a whole number`, `f:3:8: share: "much", want a number`,
		`f:4:8: truth: "maybe", want true or false`, "f:5:7: list: expected a list of values", "f:6:10: factors: expected fields",
	}
	got := strings.Split(in.Err().Error(), "\n")
	for i, w := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], w) {
			t.Errorf("got %q, want %q", got, w)
			break
		}
	}
}

// TestYAML keeps the order, and quotes what would be read as something else.
func TestYAML(t *testing.T) {
	text, err := document.YAML([]byte(`{"b":"1","a":{"z":"x&y","y":[1,"true"]}}`))
	if want := "b: \"1\"\na:\n  z: x&y\n  y:\n    - 1\n    - \"true\"\n"; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

// TestLine: a value is on one line whatever it looked like, and reads back as what it was.
func TestLine(t *testing.T) {
	_, top, err := document.Open("f", []byte("a: {x: 1, # why\n  y: [b, 'true']}\nc: d e\nf: '1'\ng: {}\nh:\n- i\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a": `{x: 1, y: [b, "true"]}`, "c": "d e", "f": "1", "g": "{}", "h": "[i]"} {
		if got, err := top.At(path).Line(); got != want || err != nil {
			t.Errorf("%s is %s, %v; want %s", path, got, err, want)
		}
	}
	if !top.At("c").Single() || top.At("h").Single() {
		t.Error("what is a single value is not told from a list")
	}
}

// TestWith: the document has another field, and the one that it was made of has not.
func TestWith(t *testing.T) {
	_, top, err := document.Open("f", []byte("a: x # here\nb: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := document.Open("g", []byte("c: [1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for want, of := range map[string]document.Value{"a:\n  c: [1]\nb: 2\n": top.With("a", other), "a: x # here\nb: 2\n": top.With("d", other)} {
		if got, err := of.YAML(); string(got) != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
