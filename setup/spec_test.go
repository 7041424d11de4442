package setup_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/setup"
)

// TestDocumented reads the example of docs/spec.md, in which each field of a spec is given but for
// what excludes another, and wants it to survive being written and read again.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	spec, err := setup.Read("docs/spec.md", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	missing(t, "spec", reflect.ValueOf(spec), []string{"spec.World.Overheads.File", "spec.World.Faults.Preset", "spec.LongRunning.Options", "spec.LongRunning.Heartbeat", "spec.LongRunning.Watchdog"})
	for name, write := range map[string]func(*setup.Spec) ([]byte, error){"YAML": (*setup.Spec).YAML, "JSON": (*setup.Spec).JSON} {
		text, err := write(&spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := setup.Read(name, text)
		if err != nil || !reflect.DeepEqual(again, spec) {
			t.Errorf("%s reads back as %+v, %v\nwant %+v", name, again, err, spec)
		}
	}
	if _, err := spec.Plan(policies.All()); err != nil {
		t.Error(err)
	}
}

// missing complains of each field that says nothing.
func missing(t *testing.T, path string, v reflect.Value, fine []string) {
	t.Helper()
	switch {
	case slices.Contains(fine, path):
	case v.IsZero():
		t.Errorf("the example does not say %s", path)
	case v.Kind() == reflect.Pointer:
		if v.Type() != reflect.TypeFor[*setup.Time]() {
			missing(t, path, v.Elem(), fine)
		}
	case v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[setup.Seeds]():
		missing(t, path+"[0]", v.Index(0), fine)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			missing(t, path+"."+v.Type().Field(i).Name, v.Field(i), fine)
		}
	}
}

// TestPlanIsItsSpec: the spec of a plan says all that was left out, and plans the same.
func TestPlanIsItsSpec(t *testing.T) {
	for _, text := range []string{
		"version: 1", "source: {workload: 'synthetic:ec2?tasks=3'}", "policies: [{name: quincy, options: {solver: automatic}}, {name: random}]",
		"source: {cluster: 'synthetic:google?churn=1', workload: 'google2011:x'}",
	} {
		spec, err := setup.Read("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := spec.Plan(policies.All())
		if err != nil {
			t.Fatal(err)
		}
		again, err := plan.Spec.Plan(policies.All())
		if err != nil {
			t.Fatal(err)
		}
		first, _ := plan.Spec.JSON()
		second, _ := again.Spec.JSON()
		if !bytes.Equal(first, second) {
			t.Errorf("%s becomes\n%s\nand that\n%s", text, first, second)
		}
		if plan.Spec.Source.Cluster == "" || len(plan.Runs()) != len(spec.Policies) {
			t.Errorf("%s: %d runs of %s", text, len(plan.Runs()), first)
		}
	}
}

// TestPlanLeavesTheSpec: checking a spec does not change it.
func TestPlanLeavesTheSpec(t *testing.T) {
	spec := setup.Default()
	before, _ := spec.JSON()
	if _, err := spec.Plan(policies.All()); err != nil {
		t.Fatal(err)
	}
	if after, _ := spec.JSON(); !bytes.Equal(before, after) {
		t.Errorf("was %s\nis %s", before, after)
	}
}

// TestTimes are written in the largest unit that leaves them whole.
func TestTimes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"90s", "90s"}, {"1h30m", "90m"}, {"24h", "1d"}, {"2.5s", "2500ms"}, {"0s", "0s"}, {"7us", "7us"}, {"120s", "2m"},
	} {
		var is setup.Time
		if err := is.UnmarshalText([]byte(tc.text)); err != nil || is.String() != tc.want {
			t.Errorf("%s is %s, %v; want %s", tc.text, is, err, tc.want)
		}
		if again, err := setup.ParseTime(tc.want); err != nil || again != cluster.Time(is) {
			t.Errorf("%s reads as %v, %v", tc.want, again, err)
		}
	}
}

// TestMistakesOfFiles are said as what they are.
func TestMistakesOfFiles(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"version: 1.0", `f:1:10: version: "1.0", want a whole number`},
		{"version: one\nsource: {clutser: x}", `f:1:10: version: "one", want a whole number`},
		{"version: 2\nsauce: {clutser: x}", "f: a spec of version 2; this program reads version 1"},
		{"version: 0", "f: a spec of version 0"},
		{`{"version": 5, "runs": []}`, "f: results that carry no spec"},
		{`{"version": 5, "spec": {"sauce": 1}, "runs": []}`, "f:1:25: spec.sauce: unknown field; did you mean source?"},
	} {
		if _, err := setup.Read("f", []byte(tc.text)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s:\n%v\nwant\n%s", tc.text, err, tc.want)
		}
	}
}

// TestSpecOfResults: a file of results is read as the spec that it carries.
func TestSpecOfResults(t *testing.T) {
	spec, err := setup.Read("f", []byte(`{"version": 5, "spec": {"version": 1, "seeds": "7-9"}, "runs": [{}]}`))
	if err != nil || len(spec.Seeds) != 3 {
		t.Errorf("%v, %v", spec.Seeds, err)
	}
}

// TestFaults: a preset may be none, and what is wrong with a field is said by its name.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"{preset: none}":                "",
		"{preset: hostile}":             "",
		"{preset: none, twice: 5}":      `world.faults: preset "none", want hostile or none and nothing besides it, or no preset`,
		"{bind_refused: 901}":           "world.faults: bind_refused: 901, want a number from 0 to 900",
		"{twice: 901, evict_late: 901}": "world.faults: evict_late: 901, want a number from 0 to 900\ntwice: 901",
	} {
		spec, err := setup.Read("f", []byte("world: {faults: "+text+"}"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := spec.Plan(policies.All()); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestOverheadsFile: a file of one line without end is named, with the line.
func TestOverheadsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samples")
	if err := os.WriteFile(path, []byte("2\n3\n"+strings.Repeat("7", 1<<17)), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := setup.Default()
	spec.World.Overheads.File = path
	_, err := spec.Plan(policies.All())
	if want := "world.overheads: " + path + ":3: a line of more than 65536 bytes"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestTooManySeeds: all together are counted, in spans as well as one by one.
func TestTooManySeeds(t *testing.T) {
	var spans []string
	for i := range 30 {
		spans = append(spans, fmt.Sprintf("%d-%d", i*10_000, i*10_000+9_999))
	}
	for _, tc := range []struct{ text, want string }{
		{spans[0], ""},
		{strings.Join(spans, ","), "up to 10000-19999 there are more than 10000 seeds"},
		{spans[1] + ",5", "up to 5 there are more than 10000 seeds"},
		{"0-18446744073709551615", "up to 0-18446744073709551615 there are more than 10000 seeds"},
		{"1-3,2", "2 is named twice"},
	} {
		got := ""
		if err := new(setup.Seeds).UnmarshalText([]byte(tc.text)); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%.40s: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// TestSeeds are written as spans.
func TestSeeds(t *testing.T) {
	for _, tc := range []struct{ text, want string }{{"1", "1"}, {"1,2,3", "1-3"}, {"5,1-3,9", "5,1-3,9"}, {"3,2,1", "3,2,1"}, {"7-7", "7"}} {
		var s setup.Seeds
		err := s.UnmarshalText([]byte(tc.text))
		got, _ := s.MarshalText()
		if err != nil || string(got) != tc.want {
			t.Errorf("%s is %s, %v; want %s", tc.text, got, err, tc.want)
		}
	}
}

// TestLists are written in the order of the fields, and nothing as none.
func TestLists(t *testing.T) {
	var f setup.Faults
	for _, tc := range []struct{ text, want string }{
		{"none", "none"}, {"", "none"}, {"hostile", "hostile"}, {"twice=5,node-loss=24h", "node-loss=1d,twice=5"}, {"twice=0", "none"},
	} {
		if err := f.Parse(tc.text); err != nil || f.String() != tc.want {
			t.Errorf("faults %s are %s, %v; want %s", tc.text, f.String(), err, tc.want)
		}
	}
	var o setup.Overheads
	for _, tc := range []struct{ text, want string }{{"cold=8s,hot=0s", "hot=0s,cold=8s"}, {"file.txt", "file.txt"}} {
		if err := o.Parse(tc.text); err != nil || o.String() != tc.want {
			t.Errorf("overheads %s are %s, %v; want %s", tc.text, o.String(), err, tc.want)
		}
	}
	var u setup.Usage
	if err := u.Parse("noise=0,every=90s"); err != nil || u.String() != "every=90s,noise=0" {
		t.Errorf("usage is %s, %v", u.String(), err)
	}
}

// TestInputs are the files that a plan reads, each once.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	samples, classes := filepath.Join(dir, "samples"), filepath.Join(dir, "classes.yaml")
	if err := errors.Join(os.WriteFile(samples, []byte("2\n"), 0o600), os.WriteFile(classes, []byte("classes:\n- {name: shop, priority: 9, availability: 99.9%, margin: 1m}\n- {name: reports, priority: 2, availability: 90%, margin: 30s}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	spec := setup.Default()
	spec.Source = setup.Source{Cluster: "google2011:a", Workload: "synthetic:google", Beside: "google2011:a", Speedup: 1}
	spec.World.Overheads.File = samples
	plan, err := spec.Plan(policies.All())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plan.Inputs(), []string{"a", samples}; !slices.Equal(got, want) {
		t.Errorf("it reads %q, want %q", got, want)
	}
	spec.Classes, spec.Source.Beside = classes, "gavel:jobs?table=speeds"
	if plan, err = spec.Plan(policies.All()); err != nil {
		t.Fatal(err)
	}
	if got, want := plan.Inputs(), []string{"a", "jobs", "speeds", samples, classes}; !slices.Equal(got, want) {
		t.Errorf("it reads %q, want %q", got, want)
	}
}
