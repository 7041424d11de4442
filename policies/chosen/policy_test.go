package chosen_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/recording"
)

func at(t cluster.Time) *chosen.Time { return (*chosen.Time)(&t) }

// TestRead: a policy is a name or fields, read by the decoder of documents and by that of JSON alike.
func TestRead(t *testing.T) {
	for _, tc := range []struct {
		text string // JSON, so YAML too
		want chosen.Policy
	}{
		{`"kube"`, chosen.Policy{Name: "kube"}},
		{`{"name": "kube"}`, chosen.Policy{Name: "kube"}},
		{
			`{"name": "quincy", "options": {"solver": "race", "migrations": 8}, "heartbeat": "1s", "watchdog": "1m30s"}`,
			chosen.Policy{
				Name: "quincy", Options: policies.Settings{"solver": "race", "migrations": "8"},
				Heartbeat: at(cluster.Second), Watchdog: at(90 * cluster.Second),
			},
		},
	} {
		in, top, err := document.Open("f", []byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		var read, again, decoded chosen.Policy
		in.Decode(top, &read)
		if err := in.Err(); err != nil || !reflect.DeepEqual(read, tc.want) {
			t.Errorf("%s: read %+v, %v", tc.text, read, err)
		}
		if err := json.Unmarshal([]byte(tc.text), &decoded); err != nil || !reflect.DeepEqual(decoded, tc.want) {
			t.Errorf("%s: decoded %+v, %v", tc.text, decoded, err)
		}
		written, err := json.Marshal(&read)
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		if err != nil || !reflect.DeepEqual(again, tc.want) {
			t.Errorf("%s: written as %s and read as %+v, %v", tc.text, written, again, err)
		}
	}
}

// TestUnreadable: neither decoder takes what is no policy.
func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`[kube]`:                       `f:1:1: expected fields, such as "name: ..."`,
		`{nam: kube}`:                  "f:1:2: nam: unknown field; did you mean name?",
		`{name: kube, heartbeat: 15}`:  `f:1:25: heartbeat: "15" is not a time`,
		`{name: kube, options: quick}`: "f:1:23: options: expected fields",
	} {
		in, top, err := document.Open("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var p chosen.Policy
		if in.Decode(top, &p); in.Err() == nil || !strings.HasPrefix(in.Err().Error(), want) {
			t.Errorf("%s: %v, want %s", text, in.Err(), want)
		}
	}
	for _, text := range []string{`["kube"]`, `{"nam": "kube"}`, `{"heartbeat": "15"}`, `{"options": "quick"}`, `7`} {
		var p chosen.Policy
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s was read as %+v", text, p)
		}
	}
}

// TestCheck: each field that is wrong is named with its value, and a policy that is right says all that it
// is made of.
func TestCheck(t *testing.T) {
	p := chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"solver": "relaxatoin", "tie_break": "random"}}
	mistakes := p.Check(policies.All())
	if len(mistakes) != 2 || mistakes[0].Field != "options.solver" || mistakes[0].Value != "relaxatoin" || mistakes[1].Field != "options.tie_break" {
		t.Errorf("said %v", mistakes)
	}
	p = chosen.Policy{Name: "kub"}
	if mistakes := p.Check(policies.All()); len(mistakes) != 1 || mistakes[0].Field != "name" || mistakes[0].Err.Error() != `unknown policy "kub"; did you mean kube?` {
		t.Errorf("said %v", mistakes)
	}
	p = chosen.Policy{Name: "kube"}
	if mistakes := p.Check(policies.All()); len(mistakes) > 0 || p.Options["tie_break"] != "fixed" {
		t.Errorf("said %v of %v", mistakes, p)
	}
}

// TestLane: a lane says all that its policy is made of, what was left out too, and the policy is made of it.
func TestLane(t *testing.T) {
	classes := &class.Table{Criteria: []promethee.Criterion{{Weight: 2}, {Weight: 1}, {Weight: 1}, {Weight: 1}}}
	p := chosen.Policy{Name: "qos", Heartbeat: at(cluster.Second)}
	l, err := p.Lane(policies.All(), 7, &class.Table{Criteria: classes.Criteria[:1]})
	want := recording.Lane{
		Name: "qos", Policy: "qos", Seed: 7, Options: l.Options, Heartbeat: cluster.Second, Watchdog: 30 * cluster.Second, IgnoreOutcomes: true,
		Criteria: []recording.Criterion{{Weight: 2, Function: "usual"}},
	}
	if err != nil || !reflect.DeepEqual(l, want) || l.Options["tie_break"] == "" {
		t.Errorf("lane %+v, %v\nwant %+v", l, err, want)
	}
	if len(p.Options) > 0 {
		t.Errorf("to make a lane has changed the policy to %+v", p)
	}
	p = chosen.Policy{Name: "sla"}
	if l, err = p.Lane(policies.All(), 7, classes); err != nil {
		t.Fatal(err)
	}
	if _, err := chosen.Make(policies.All(), &l, policies.Options{}); err != nil {
		t.Error(err)
	}
	for i := range l.Criteria {
		l.Criteria[i].Weight = 0
	}
	if _, err := chosen.Make(policies.All(), &l, policies.Options{}); err == nil || !strings.Contains(err.Error(), "sum to 0") {
		t.Errorf("weights that sum to 0: %v", err)
	}
	l.Criteria[0].Function = "unusual"
	if _, err := chosen.Make(policies.All(), &l, policies.Options{}); err == nil {
		t.Error("an unknown function is taken")
	}
	p = chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"solver": "sover"}}
	if _, err := p.Lane(policies.All(), 7, nil); err == nil || !strings.HasPrefix(err.Error(), `options.solver: unknown solver "sover"`) {
		t.Errorf("an unknown solver: %v", err)
	}
}
