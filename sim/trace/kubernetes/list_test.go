package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/manifest"
)

// oneByOne reads a list as slowly as it goes: one decoder reads item after item. It is what reader.items is held against.
func (r *reader) oneByOne(d *json.Decoder) error {
	for i := 0; d.More(); i++ {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return r.broken(err, 0)
		}
		one, err := r.one(text, fmt.Sprintf("items[%d]", i), "Pod")
		if err != nil {
			return err
		}
		r.seen++
		if err := r.add(r.file, one.place, one.object, one.wrong); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return r.broken(err, 0)
	}
	return nil
}

// readList is what is read of a list, and what of the text is left behind it.
func readList(in io.Reader, slowly bool) (seen []string, rest string, err error) {
	r := reader{file: "a.json", portion: document.Portion{In: in, Most: mostObject}}
	r.add = func(_, place string, o *manifest.Object, err error) error {
		text, _ := json.Marshal(o)
		seen = append(seen, fmt.Sprint(place, " ", string(text), " ", err))
		if err != nil && strings.Contains(err.Error(), "metadata.uid") {
			return err
		}
		return nil
	}
	s := newStream(&r.portion)
	if _, err := s.Token(); err != nil {
		return nil, "", err
	}
	var behind io.Reader
	if slowly {
		err = r.oneByOne(s.Decoder)
		behind = s.rest()
	} else {
		behind, _, err = r.items(s, "Pod")
	}
	if err == nil {
		text, _ := io.ReadAll(behind)
		rest = string(text)
	}
	return seen, rest, err
}

var byteNumber = regexp.MustCompile(`byte (\d+): `)

// mistaken are lists with all sorts of mistakes in them, and some without.
func mistaken() []string {
	const good = `[ {"kind": "Pod", "metadata": {"name": "a}\"{\\", "labels": {"x": "é\u00e9"}}, "spec": {"containers": [{}, {}]}},
	{"metadata": {"annotations": {"y": "\\\\"}}},{}, {"kind":"Service","status":{"phase":[1.5e3, -0, true, null]}} , {"status": {"phase": "Running"}}]  {"behind": 1}`
	texts := []string{
		good, "[]", "[ ]}", "[,]", "[}", "[{}}", "[{},]", "[{} {}]", "[{}:{}]", `[1, "two]", [3, {"four": [5]}], null, {}, true]`, "[12", "[12]", `["a"`, "[nul", "[nul]",
		"[{}12]", "[12abc, {}]", `[{"kind": 3}, {}]`, `[{"metadata": {"name": 3}}]`, `[{"metadata": {"uid": 3}}, {"a": }]`, `[{}, {"a": }, {"metadata": {"uid": 3}}]`,
		`[{"a": [}]}, {}]`, "[{\"a\": \"x\ny\"}]", `[{"a": "\q"}]`, `[{"a": 01}]`, `["\`, `[{"\`, `[{"a": "\\"}, {"\\\"": "}"}]`,
	}
	for i := range len(good) {
		texts = append(texts, good[:i+1], good[:i]+good[i+1:])
		for k, c := range []string{"{", "}", "]", `"`, `\`, ",", "1", "\n"} {
			if texts = append(texts, good[:i]+c+good[i:]); i%8 == k {
				texts = append(texts, good[:i]+c+good[i+1:])
			}
		}
	}
	return texts
}

// TestTight takes blanks out of texts: they mean what they meant, or still nothing.
func TestTight(t *testing.T) {
	for _, text := range append(mistaken(), " \t[ 1 2 ]", "[1 ,\n 2 ]\r\n", `["a" "b"]`, "[tr ue]", "[- 1]", `["a b", " "]`, "[\v1]", "1 ", " 1") {
		tight := appendTight(nil, []byte(text))
		var want bytes.Buffer
		err := json.Compact(&want, []byte(text))
		if (err == nil) != json.Valid(tight) {
			t.Fatalf("%q is %v, %q is not", text, err, tight)
		}
		if err == nil && want.String() != string(tight) {
			t.Fatalf("%q became %q, want %q", text, tight, &want)
		}
	}
}

// TestListOfMistakes reads lists at once and item by item, in one piece and in many: the same comes of it,
// the first mistake among it. It is where it is said to be, which is more than a decoder of many values says.
func TestListOfMistakes(t *testing.T) {
	for _, text := range mistaken() {
		if text[0] != '[' {
			continue
		}
		want, wantRest, wantErr := readList(strings.NewReader(text), true)
		for name, in := range map[string]io.Reader{
			"whole":        strings.NewReader(text),
			"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"its end":      iotest.DataErrReader(iotest.HalfReader(strings.NewReader(text))),
		} {
			got, rest, err := readList(in, false)
			if fmt.Sprint(got) != fmt.Sprint(want) || rest != wantRest {
				t.Fatalf("%s, %s:\n got %q, behind it %q\nwant %q, behind it %q", text, name, got, rest, want, wantRest)
			}
			number := byteNumber.FindStringSubmatch(fmt.Sprint(err))
			if a, b := byteNumber.ReplaceAllString(fmt.Sprint(err), ""), byteNumber.ReplaceAllString(fmt.Sprint(wantErr), ""); a != b {
				t.Fatalf("%s, %s:\n got %s\nwant %s", text, name, a, b)
			}
			if len(number) > 0 {
				wholly := json.Unmarshal([]byte(text), new(any))
				syntax, is := errors.AsType[*json.SyntaxError](wholly)
				at, _ := strconv.ParseInt(number[1], 10, 64)
				if !is || at != syntax.Offset && at != syntax.Offset-1 { // a comma that is missing stands before what is there
					t.Fatalf("%s, %s: %v, want byte %d", text, name, err, syntax.Offset)
				}
			}
		}
	}
}

// TestListOfManyBlocks reads more items than there is room for in the blocks that are on their way, some of them long.
func TestListOfManyBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range 3000 {
		separator := ","
		if i == 0 {
			separator = "["
		}
		length := random.IntN(3000)
		if i%500 == 7 {
			length = 3*mostBlock + random.IntN(mostBlock)
		}
		fmt.Fprintf(&b, "%s\n{\"metadata\": {\"name\": \"p%d\", \"annotations\": {\"%s\": \"}\"}}}", separator, i, strings.Repeat("long", length/4))
	}
	whole := b.String() + "]\n{}"
	for _, text := range []string{whole, b.String(), strings.Replace(whole, `"p2000"`, `"p2000`, 1), strings.Replace(whole, `"name": "p2000"`, `"uid": 2000`, 1)} {
		want, wantRest, wantErr := readList(strings.NewReader(text), true)
		got, rest, err := readList(strings.NewReader(text), false)
		if fmt.Sprint(got) != fmt.Sprint(want) || rest != wantRest || byteNumber.ReplaceAllString(fmt.Sprint(err), "") != byteNumber.ReplaceAllString(fmt.Sprint(wantErr), "") {
			t.Errorf("%d objects, %v, %d bytes behind them; want %d, %v, %d", len(got), err, len(rest), len(want), wantErr, len(wantRest))
		}
	}
	broken := errors.New("the disk is gone")
	if got, _, err := readList(io.MultiReader(strings.NewReader(b.String()), iotest.ErrReader(broken)), false); !errors.Is(err, broken) || len(got) != 3000 {
		t.Errorf("%d objects and %v of a disk that fails", len(got), err)
	}
}
