package config_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files in testdata")
	m.Run()
}

// header begins every configuration.
const header = "apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\n"

// TestRefused reads testdata/refused.txt, which explains itself.
func TestRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "\ncase: ")[1:]
	if len(cases) < 15 {
		t.Fatalf("read %d cases, expected more", len(cases))
	}
	for _, c := range cases {
		title, rest, _ := strings.Cut(c, "\n")
		document, complaints, found := strings.Cut(rest, "says:\n")
		if !found {
			t.Errorf("case %q has no line says:", title)
			continue
		}
		t.Run(title, func(t *testing.T) {
			if !strings.Contains(document, "apiVersion") {
				document = header + document
			}
			_, err := config.Parse("f.yaml", []byte(document))
			if err == nil {
				t.Fatal("was not refused")
			}
			if diff := cmp.Diff(strings.TrimSpace(complaints), err.Error()); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

// What a file leaves out keeps its default, also beside what it gives.
func TestDefaultsBesideGiven(t *testing.T) {
	got, err := config.Parse("f.yaml", []byte(header+`
leaderElection: {leaderElect: false}
clientConnection: {qps: -1}
enableProfiling: false
profiles:
- policy: random
- {schedulerName: batch, policy: {name: bfd, options: {tie_break: random}}, seed: 18446744073709551615}
- {schedulerName: flow, policy: {name: quincy, options: {solver: race, migrations: 3}, heartbeat: 2s}, evictions: {enabled: true, atOnce: 2}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.LeaderElection.LeaderElect = false
	want.ClientConnection.QPS = -1
	want.EnableProfiling = false
	few := config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 2, PerMinute: 60_000}, Moves: config.Pace{AtOnce: 16, PerMinute: 60}, Budgets: config.Hard}
	want.Profiles = []config.Profile{
		{SchedulerName: "fairlead", Policy: chosen.Policy{Name: "random", Options: policies.Settings{"tie_break": "random"}}, Seed: chosen.DefaultSeed, Evictions: want.Profiles[0].Evictions},
		{SchedulerName: "batch", Policy: chosen.Policy{Name: "bfd", Options: policies.Settings{"tie_break": "random"}}, Seed: 1<<64 - 1, Evictions: want.Profiles[0].Evictions},
		{SchedulerName: "flow", Policy: chosen.Policy{Name: "quincy", Options: policies.Settings{"solver": "race", "migrations": "3"}, Heartbeat: new(chosen.Time(2 * cluster.Second))}, Seed: chosen.DefaultSeed, Evictions: few},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if errs := got.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.yaml")); !os.IsNotExist(unwrapped(err)) {
		t.Errorf("got %v, expected that the file does not exist", err)
	}
}

func unwrapped(err error) error {
	if w, ok := err.(interface{ Unwrap() error }); ok {
		return w.Unwrap()
	}
	return err
}

// TestWriteDefault compares what --write-config-to writes with the golden
// file, and reads it back.
func TestWriteDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := config.Default().Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/default.yaml"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; look at the difference and run with -update if it is meant:\n%s", golden, cmp.Diff(string(want), string(got)))
	}
	back, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), back); diff != "" {
		t.Errorf("reading back (-written +read):\n%s", diff)
	}
}

// FuzzLoad: no file makes the reader panic, and what it accepts survives being
// written and read again.
func FuzzLoad(f *testing.F) {
	f.Add("bindWorkers: 3\n")
	f.Add("devices: [nvidia.com/gpu, example.com/nic]\n")
	f.Add("profiles:\n- {schedulerName: a, seed: 7}\n- &x {schedulerName: b}\n")
	f.Add("profiles:\n- {policy: {name: quincy, options: {migrations: 7}, heartbeat: 1s}}\n- {policy: bfd, tieBreak: random}\n")
	f.Add("profiles: [{policy: random}]\nleaderElection: {leaseDuration: 1h}\n")
	f.Add("record: &r {path: x}\nclientConnection: *r\n")
	f.Add("<<: {bindWorkers: 3}\n")
	f.Add("? [a, b]\n: 3\n")
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("f.yaml", []byte(header+text))
		if err != nil {
			return
		}
		c.Validate()
		c.Cautions()
		if err := c.Write(path); err != nil {
			t.Fatal(err)
		}
		back, err := config.Load(path)
		if err != nil {
			t.Fatalf("cannot read back what was written: %v", err)
		}
		c.Old = nil // what is written is not
		if diff := cmp.Diff(c, back); diff != "" {
			t.Errorf("reading back (-written +read):\n%s", diff)
		}
	})
}
