package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/sim"
)

// TestPrices: prices are read in their order, and what is none is named.
func TestPrices(t *testing.T) {
	got, err := parsePrices("provider=aws:0.192, a.b/kind=m5:x:1,other:0.000001")
	want := []sim.Price{{Key: "provider", Value: "aws", Hour: 192_000}, {Key: "a.b/kind", Value: "m5:x", Hour: 1_000_000}, {Hour: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := parsePrices(""); got != nil || err != nil {
		t.Errorf("nothing is %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"aws":                                  `"aws", want LABEL=VALUE:PRICE`,
		"aws:1":                                `"aws:1", want LABEL=VALUE:PRICE`,
		"=aws:1":                               "want LABEL=VALUE:PRICE",
		"p=aws:0.0000001":                      "want the price of an hour behind the last colon, 0 or from 0.000001 to 100000",
		"p=aws:-1":                             "want the price of an hour",
		"p=aws:NaN":                            "want the price of an hour",
		"p=aws:100001":                         "want the price of an hour",
		"p=aws:":                               "want the price of an hour",
		"p=a:1,p=a:2":                          "p=a has two prices",
		"other:1,p=a:2":                        "p=a after other",
		strings.Repeat("p=a:1,", 64) + "p=b:1": "p=a has two prices",
	} {
		if _, err := parsePrices(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s", text, err, want)
		}
	}
}
