package strict

import (
	"reflect"
	"testing"
)

type inner struct {
	Depth int `json:"depth"`
}

type base struct {
	Policy string `json:"policy"`
}

type outer struct {
	base
	Width  int               `json:"width,omitempty"`
	One    *inner            `json:"one"`
	Many   []inner           `json:"many"`
	Named  map[string]inner  `json:"named"`
	Lists  map[string][]int  `json:"lists"`
	Pairs  [][2]float64      `json:"pairs"`
	Deeper map[string][]base `json:"deeper"`
	Hidden int               `json:"-"`
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"policy":"kube","width":1,"one":{"depth":2},"many":[{"depth":3}],"named":{"a":{"depth":4}},"lists":{"b":[1,2]},"pairs":[[1,2]]}`, ""},
		{`{"Policy":"kube","one":null}`, ""},
		{`{"widht":1}`, "widht: unknown field; did you mean width?"},
		{`{"polcy":"kube"}`, "polcy: unknown field; did you mean policy?"},
		{`{"Hidden":1}`, "Hidden: unknown field; there are deeper, lists, many, named, one, pairs, policy, width"},
		{`{"one":{"dept":1}}`, "one.dept: unknown field; did you mean depth?"},
		{`{"one":{"x":1}}`, "one.x: unknown field; there are depth"},
		{`{"many":[{},{"dephts":1}]}`, "many[1].dephts: unknown field; did you mean depth?"},
		{`{"named":{"a":{},"b":{"detph":1}}}`, "named.b.detph: unknown field; did you mean depth?"},
		{`{"deeper":{"a":[{},{"polocy":""}]}}`, "deeper.a[1].polocy: unknown field; did you mean policy?"},
		{`{"width":"a"}`, "json: cannot unmarshal string into Go struct field outer.width of type int"},
		{`{} {}`, "there is more behind the end of the value"},
		{`{"width":`, "unexpected EOF"},
	} {
		var o outer
		err := Decode([]byte(c.text), &o)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
	}
}

func TestDecodeFillsIn(t *testing.T) {
	var o outer
	if err := Decode([]byte(`{"policy":"kube","many":[{"depth":3}],"lists":{"b":[1,2]}}`), &o); err != nil {
		t.Fatal(err)
	}
	want := outer{base: base{"kube"}, Many: []inner{{3}}, Lists: map[string][]int{"b": {1, 2}}}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v, want %+v", o, want)
	}
}
