package sweep_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sweep"
)

var update = flag.Bool("update", false, "write golden files anew")

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; is now\n%s", path, got)
	}
}

// read reads a sweep that names no file but base.yaml.
func read(text string) (*sweep.Sweep, error) {
	return sweep.Read("f", []byte(text), func(path string) ([]byte, error) {
		if path != "base.yaml" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte("source: {cluster: 'synthetic:google?nodes=5'}\npolicies: [kube]\nseeds: 7\nlimits: {until: 5m}\n"), nil
	})
}

// study has everything that a sweep can say.
const study = `
version: 1
vary: # before the spec, which is fine
  world.overcommit.example.com/gpu: [1, 2]
  world.faults: [{}, {preset: hostile}]
  policy.options.tie_break: [random, lowest]
spec:
  source: {cluster: 'synthetic:google?nodes=5'}
  world: {overcommit: {cpu: 1.5}, faults: {twice: 5}}
  limits: {until: 5m}
policies: [kube, {name: quincy, options: {migrations: 4}}, {name: quincy}]
seeds: [1-2, 5]
except:
- {policy: quincy, policy.options.tie_break: lowest}
- {policy: quincy migrations=4, seed: 5}
- {world.faults: {preset: hostile}, world.overcommit.example.com/gpu: 2}
lists: false
`

// TestSpecs: the runs and their order are what the sweep says, and nothing else.
func TestSpecs(t *testing.T) {
	s, err := read(study)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Specs()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range runs {
		spec := &runs[i].Spec
		said, err := json.Marshal([]any{spec.Policies, spec.Seeds, spec.Source.Cluster, spec.World.Overcommit, spec.World.Faults, spec.Limits.Until})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%d %s\n  %s\n", i, &runs[i], said)
	}
	golden(t, "specs.golden", text.String())
}

// TestDocumented plans the example of docs/sweep.md.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/sweep.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	s, err := sweep.Read("docs/sweep.md", []byte(example), func(string) ([]byte, error) { return []byte("policies: [random]\n"), nil })
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Plan(policies.All(), "test")
	if err != nil {
		t.Fatal(err)
	}
	// Three policies, 2 × 2 × 2 × 2 values and 11 seeds, without kube of one heartbeat, and without one seed of one source.
	if want := 2*16*11 + 8*11 - 2*8 - 4; len(list.Runs) != want || s.Lists {
		t.Errorf("there are %d runs, want %d", len(list.Runs), want)
	}
}

// TestText: a sweep with the spec of a file within it has the same runs, with nothing to open.
func TestText(t *testing.T) {
	for _, text := range []string{study, "spec: base.yaml\nvary: {source.speedup: [1, 2]}\n", "seeds: 1-3\n"} {
		s, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := sweep.Read("again", s.Text(), func(string) ([]byte, error) { return nil, errors.New("opened") })
		if err != nil {
			t.Fatalf("%v of\n%s", err, s.Text())
		}
		var want, got []string
		for into, of := range map[*[]string]*sweep.Sweep{&want: s, &got: again} {
			runs, err := of.Specs()
			if err != nil {
				t.Fatal(err)
			}
			for i := range runs {
				spec, _ := runs[i].Spec.JSON()
				*into = append(*into, runs[i].String()+string(spec))
			}
		}
		if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s\nhas the runs %q\nwant %q", s.Text(), got, want)
		}
	}
}

// TestMistakes: what is wrong is said with its place, and what to do.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "f: the file says nothing"},
		{"[]", `f:1:1: expected fields, such as "version: ..."`},
		{"version: 2", "f:1:10: version: a sweep of version 2; this program reads version 1"},
		{"sedes: 1", "f:1:1: sedes: unknown field; did you mean seeds?"},
		{"seeds: []", `f:1:8: seeds: "", want numbers from 0`},
		{"seeds: [1, 1]", "f:1:8: seeds: 1 is named twice"},
		{"seeds: one", `f:1:8: seeds: "one", want numbers from 0`},
		{"policies: []", "f:1:11: policies: there is none; name one, such as kube, or remove the line"},
		{"spec: {source: {clutser: x}}", "f:1:17: spec.source.clutser: unknown field; did you mean cluster?"},
		{"spec: {version: 3}", "f:1:7: spec: a spec of version 3; this program reads version 1"},
		{"spec: other.yaml", "f:1:7: spec: open other.yaml: file does not exist; want a file as fairlead simulate --print-spec prints it"},
		{"vary: {source.speedup: []}", "f:1:24: vary.source.speedup: there is no value; give one or remove the line"},
		{"vary: {source.speedup: 2}", "f:1:24: vary.source.speedup: expected a list of values"},
		{"vary: {source.speedup: [1, fast]}", `f:1:28: vary.source.speedup[1]: "fast", want a number`},
		{"vary: {source.speedup: [1, 2, 1]}", "f:1:31: vary.source.speedup[2]: 1 stands there twice; keep one"},
		{"vary: {source.sepedup: [1]}", `f:1:8: vary.source.sepedup: unknown field of specs "sepedup"; did you mean speedup?`},
		{"vary: {source.speedup.more: [1]}", "f:1:8: vary.source.speedup.more: the path ends before more, which is no field of anything"},
		{"vary: {policies: [kube]}", "f:1:8: vary.policies: policies are an axis of their own, beside vary"},
		{"vary: {seeds: [1]}", "f:1:8: vary.seeds: seeds are an axis of their own, beside vary"},
		{"vary: {policy.name: [kube]}", "f:1:8: vary.policy.name: which policy there is say the policies, beside vary"},
		{"vary: {world.faults: [{twise: 5}]}", "f:1:24: vary.world.faults[0].twise: unknown field; did you mean twice?"},
		{"policies: [kube]\nexcept: [{policy: kub}]", `f:2:19: except[0].policy: unknown value "kub"; did you mean kube?`},
		{"policies: [kube]\nexcept: [{sede: 1}]", `f:2:11: except[0].sede: unknown axis "sede"; did you mean seed?`},
		{"policies: [kube]\nexcept: [{}]", "f:2:10: except[0]: says nothing, which would leave out every run"},
		{"policies: [kube]\nexcept: [{policy: kube}]", "f: every run is excepted"},
		{"policies: [kube, random]\nseeds: 1-2\nexcept: [{policy: kube}, {policy: kube, seed: 1}]", ""},
		{"policies: [kube, {name: kube, options: {tie_break: random}}]\nexcept: [{policy: kube tie_break=random, seed: 2}]", `f:2:48: except[0].seed: unknown value "2"`},
		{"seeds: 0-9999\nvary: {source.speedup: [1, 2, 3]}", "f: there are more than 100000 runs"},
	} {
		s, err := read(tc.text)
		if err == nil {
			_, err = s.Specs()
		}
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%q:\n%v\nwant\n%s", tc.text, err, tc.want)
		}
	}
}

// TestPlanMistakes: what only a run shows is said once, of the first that has it.
func TestPlanMistakes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"policies: [kub]\nseeds: 1-3", `f: policy kub, seed 1: policies[0].name: unknown policy "kub"; did you mean kube?`},
		{"policies: [{name: kube, options: {migrations: 3}}]", "f: policy kube, seed 1: policies[0].options.migrations: the policy kube has no use for it; leave it out"},
		{"spec: {source: {workload: missing.jsonl}}", "f: policy fairlead, seed 1: source.cluster: missing.jsonl: no such file or directory"},
		{"spec: {source: {workload: '-'}}\npolicies: [kube]", "f: policy kube, seed 1: the standard input can be read once, and there are several runs; want a file"},
		{"spec: {source: {workload: /dev/null}}\npolicies: [kube]", "f: policy kube, seed 1: /dev/null: is read once, and there are several runs; want a file or a folder"},
		{"policies: [kube, {name: kube, options: {tie_break: fixed}}]", "f: policy kube tie_break=fixed, seed 1: is the same run as policy kube, seed 1; a value stands there twice"},
		{"policies: [kube]\nvary: {source.speedup: [1, 1.0]}", "f: policy kube, source.speedup 1.0, seed 1: is the same run as policy kube, source.speedup 1, seed 1"},
	} {
		s, err := read(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Plan(policies.All(), "test")
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n%v, %v\nwant\n%s", tc.text, list, err, tc.want)
		}
	}
}

// TestKeys: a key is another one where anything is another that could change the result, and only there.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(text, program string) string {
		t.Helper()
		s, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Plan(policies.All(), program)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for i := range list.Runs {
			keys = append(keys, list.Runs[i].Key)
		}
		return strings.Join(keys, " ")
	}
	write("trace/a", "one")
	write("trace/b/c", "two")
	write("samples", "2\n")
	text := fmt.Sprintf("spec: {source: {cluster: 'google2011:%s'}, world: {overheads: {file: '%s'}}, limits: {until: 1m}}\npolicies: [kube]\n", filepath.Join(dir, "trace"), filepath.Join(dir, "samples"))
	was := keys(text, "p")
	if again := keys(text, "p"); again != was || len(was) != 32 {
		t.Errorf("the same has the keys %s and %s", was, again)
	}
	if of := keys(text+"seeds: 1-2\n", "p"); !strings.HasPrefix(of, was+" ") {
		t.Errorf("with another seed besides the keys are %s, want %s first", of, was)
	}
	if of := keys(strings.Replace(text, "[kube]", "[{name: kube, options: {tie_break: fixed}}]", 1), "p"); of != was {
		t.Error("what is said that was so anyway has another key")
	}
	seen := map[string]string{was: "nothing"}
	for _, tc := range []struct {
		what          string
		text, program string
		change        func()
	}{
		{"the program", text, "q", func() {}},
		{"the seed", text + "seeds: 2\n", "p", func() {}},
		{"the policy", strings.Replace(text, "kube", "random", 1), "p", func() {}},
		{"lists", text + "lists: false\n", "p", func() {}},
		{"a file", text, "p", func() { write("samples", "3\n") }},
		{"a file of a folder", text, "p", func() { write("trace/b/c", "tow") }},
		{"the name of a file of a folder", text, "p", func() {
			if err := os.Rename(filepath.Join(dir, "trace/a"), filepath.Join(dir, "trace/aa")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		tc.change()
		key := keys(tc.text, tc.program)
		if other, is := seen[key]; is {
			t.Errorf("%s has changed, and the key is that after %s", tc.what, other)
		}
		seen[key] = tc.what
	}
	// A link that leads back ends.
	if err := os.Symlink(filepath.Join(dir, "trace"), filepath.Join(dir, "trace", "b", "back")); err != nil {
		t.Fatal(err)
	}
	s, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Plan(policies.All(), "p"); err == nil || !strings.Contains(err.Error(), "does a link lead back?") {
		t.Errorf("a link that leads back: %v", err)
	}
}

// TestShards: each run is one shard's and no other's.
func TestShards(t *testing.T) {
	for n := 1; n < 7; n++ {
		for run := range 20 {
			owners := 0
			for i := range n {
				if (sweep.Shard{Index: i, Of: n}).Has(run) {
					owners++
				}
			}
			if owners != 1 {
				t.Errorf("run %d is one of %d of %d shards", run, owners, n)
			}
		}
	}
	for text, want := range map[string]string{
		"0/1": "", "7/8": "", "8/8": "shard 8 of 8, want an index from 0 to 7", "-1/8": "shard -1 of 8", "0/0": "0 shards, want 1 to 10000",
		"1": `"1", want an index from 0 and a number, such as 0/8 to 7/8`, "a/8": `"a/8"`, "": `""`,
	} {
		s, err := sweep.ParseShard(text)
		if want == "" && (err != nil || s.String() != text) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s is %s, %v; want %s", text, s, err, want)
		}
	}
}

// FuzzRead: a sweep that is read has runs, or an error says why not, and its text is that sweep.
func FuzzRead(f *testing.F) {
	f.Add([]byte(study))
	f.Add([]byte("spec: base.yaml\nvary: {long_running.name: [medea, serial], limits.until: [1m]}\n"))
	f.Add([]byte("policies: [{name: kube, options: {tie_break: random}}]\nseeds: [1, 4-5]\nexcept: [{seed: 4}]"))
	f.Add([]byte("vary: {source: [{cluster: x, speedup: 2}], world.usage.every: [1m], long_running: [kube, {name: medea}]}"))
	f.Add([]byte("vary: {world.overcommit: [{cpu: 2}, {}]}\nexcept: [{world.overcommit: {}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := read(string(text))
		if err != nil {
			return
		}
		if runs := len(s.Policies) * len(s.Seeds); runs > 1000 || len(s.Vary) > 4 {
			return // which takes long and shows no more
		}
		runs, err := s.Specs()
		if err != nil || len(runs) > 5000 {
			return
		}
		again, err := sweep.Read("again", s.Text(), os.ReadFile)
		if err != nil {
			t.Fatalf("%v of the text\n%s", err, s.Text())
		}
		other, err := again.Specs()
		if err != nil || len(other) != len(runs) {
			t.Fatalf("%d runs, and %d of its text, %v", len(runs), len(other), err)
		}
		for i := range runs {
			if runs[i].String() != other[i].String() {
				t.Fatalf("run %d is %s, and of its text %s", i, &runs[i], &other[i])
			}
		}
	})
}
