package manifest

import (
	"encoding/json"
	"testing"
)

// What a constraint of a dump says is a text; what one of the API says, an object, is told from that.
func TestConstraintsOfTheAPIAreToldFromTexts(t *testing.T) {
	for text, want := range map[string]Said{`"{web, {web, 0, 0}, node}"`: "{web, {web, 0, 0}, node}", `{"text": "{web, {web, 0, 0}, node}"}`: OfAPI} {
		var o Object
		if err := json.Unmarshal([]byte(`{"kind": "PlacementConstraint", "spec": {"constraint": `+text+`}}`), &o); err != nil || o.Spec.Constraint != want {
			t.Errorf("%s says %q (%v), want %q", text, o.Spec.Constraint, err, want)
		}
	}
	var o Object
	if err := json.Unmarshal([]byte(`{"spec": {"constraint": 3}}`), &o); err == nil {
		t.Error("a number is no constraint")
	}
}
