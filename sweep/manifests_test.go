package sweep_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/sweep"
)

// TestManifests: what engines are given.
func TestManifests(t *testing.T) {
	s, err := read("spec: base.yaml # of a file\nseeds: 1-8\nvary: {source.speedup: [1, 2]}\n")
	if err != nil {
		t.Fatal(err)
	}
	claim := sweep.Manifest{Name: "study", Shards: 4, AtOnce: 2, CPU: "2", Memory: "4Gi", Image: "registry.example/fairlead:1", Claim: "results"}
	bucket := sweep.Manifest{Name: "study", Shards: 16, Memory: "512Mi", Image: "fairlead", Dir: "s3://results/study", Secret: "bucket", Command: "/bin/fairlead"}
	host := sweep.Manifest{Name: "study", Shards: 3, CPU: "1", Image: "fairlead", Host: "/srv/sweeps", Dir: "/work/there"}
	for name, m := range map[string]*sweep.Manifest{"claim": &claim, "bucket": &bucket, "host": &host} {
		var text bytes.Buffer
		if err := m.Job(&text, s); err != nil {
			t.Fatal(err)
		}
		golden(t, "job."+name+".yaml", text.String())
		// Both documents are YAML, and the sweep in the first is the one that was given.
		first, second, _ := strings.Cut(text.String(), "---\n")
		_, config, err := document.Open("config", []byte(first))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := document.Open("job", []byte(second)); err != nil {
			t.Error(err)
		}
		held, err := sweep.Read("held", []byte(config.At("data").Node.Content[1].Value), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := s.Specs()
		if got, err := held.Specs(); len(got) != len(want) || err != nil {
			t.Errorf("%s: the ConfigMap holds %d runs, %v; want %d", name, len(got), err, len(want))
		}
	}
	for name, m := range map[string]*sweep.Manifest{
		"small": {Name: "study", Shards: 4, Dir: "/shared/it's"},
		"large": {Name: "study", Shards: 100, AtOnce: 10, CPU: "4", Memory: "8Gi", Dir: "study", Command: "bin/fairlead", Time: "12:00:00"},
	} {
		var text bytes.Buffer
		if err := m.Slurm(&text, "my studies/study.yaml"); err != nil {
			t.Fatal(err)
		}
		golden(t, "slurm."+name+".sh", text.String())
	}
}

// TestManifestMistakes: what no engine could do is refused.
func TestManifestMistakes(t *testing.T) {
	s, err := read("seeds: 1-8\n")
	if err != nil {
		t.Fatal(err)
	}
	fine := sweep.Manifest{Name: "study", Shards: 4, Image: "fairlead", Claim: "results"}
	for want, change := range map[string]func(*sweep.Manifest){
		`the name "My Study", want small letters`:               func(m *sweep.Manifest) { m.Name = "My Study" },
		"0 shards, want 1 to 10000":                             func(m *sweep.Manifest) { m.Shards = 0 },
		"-1 shards at once":                                     func(m *sweep.Manifest) { m.AtOnce = -1 },
		`CPU "500m", want a whole number`:                       func(m *sweep.Manifest) { m.CPU = "500m" },
		`memory "much"`:                                         func(m *sweep.Manifest) { m.Memory = "much" },
		"want an image that runs fairlead":                      func(m *sweep.Manifest) { m.Image = "" },
		"want a claim, a folder of the node or a bucket":        func(m *sweep.Manifest) { m.Claim = "" },
		"a claim and a folder of the node; want one of them":    func(m *sweep.Manifest) { m.Host = "/srv" },
		`the claim "a b" is no name of an object`:               func(m *sweep.Manifest) { m.Claim = "a b" },
		`the secret "-" is no name of an object`:                func(m *sweep.Manifest) { m.Secret = "-" },
		"study, want a path within /work":                       func(m *sweep.Manifest) { m.Dir = "study" },
		"/workshop/study, want a path within /work":             func(m *sweep.Manifest) { m.Dir = "/workshop/study" },
		"/work/../etc, want a path within /work":                func(m *sweep.Manifest) { m.Dir = "/work/../etc" },
		"the folder of the node srv, want a path from the root": func(m *sweep.Manifest) { m.Claim, m.Host = "", "srv" },
	} {
		m := fine
		change(&m)
		var text bytes.Buffer
		if err := m.Job(&text, s); err == nil || !strings.HasPrefix(err.Error(), want) || text.Len() > 0 {
			t.Errorf("%+v: %v, want %s", m, err, want)
		}
	}
	for want, m := range map[string]*sweep.Manifest{
		"want a folder that all machines share":   {Name: "study", Shards: 4},
		`"a\nb" has what no line of a script can`: {Name: "study", Shards: 4, Dir: "a\nb"},
	} {
		var text bytes.Buffer
		if err := m.Slurm(&text, "study.yaml"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", m, err, want)
		}
	}
}
