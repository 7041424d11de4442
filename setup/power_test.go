package setup

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/sched/keeper"
)

// TestParsePower: a table, and perhaps when nodes are switched off.
func TestParsePower(t *testing.T) {
	m := cluster.Minute
	for _, c := range []struct {
		text  string
		rules keeper.Rules
		wrong string
	}{
		{"openb", keeper.Rules{}, ""},
		{"openb,off-after=10m", keeper.Rules{OffAfter: 10 * m, Wake: 2 * m}, ""},
		{"openb,off-after=10m,wake=0s,keep=3", keeper.Rules{OffAfter: 10 * m, Keep: 3}, ""},
		{"openb,off-after=1d,wake=90s", keeper.Rules{OffAfter: cluster.Day, Wake: 90 * cluster.Second}, ""},
		{"openc", keeper.Rules{}, `unknown table of power "openc"; did you mean openb?; a file is named FILE.yaml`},
		{"openb,keep=1", keeper.Rules{}, "openb,keep=1: no node is switched off without off-after, such as off-after=10m"},
		{"openb,off-after=0s", keeper.Rules{}, "openb,off-after=0s: off-after=0s, want a time from 1s to 365d, such as 10m"},
		{"openb,off-after=400d", keeper.Rules{}, "openb,off-after=400d: off-after=400d, want a time from 1s to 365d, such as 10m"},
		{"openb,off-after=2y", keeper.Rules{}, `openb,off-after=2y: "2y": unknown unit "y"; there are us, ms, s, m, h, d`},
		{"openb,off-after=1m,wake=400d", keeper.Rules{}, "openb,off-after=1m,wake=400d: wake=400d, want a time from 0s to 365d, such as 10m"},
		{"openb,off-after=1m,keep=-1", keeper.Rules{}, "openb,off-after=1m,keep=-1: keep=-1, want a number from 0 to 2147483647"},
		{"openb,of-after=1m", keeper.Rules{}, `openb,of-after=1m: unknown option "of-after"; did you mean off-after?`},
		{"openb,", keeper.Rules{}, `unknown table of power "openb,"; did you mean openb?; a file is named FILE.yaml`},
		{",off-after=1m", keeper.Rules{}, `unknown table of power ""; there are openb; a file is named FILE.yaml`},
		{"no,where.yaml,off-after=1m", keeper.Rules{}, "open no,where.yaml: no such file or directory"},
		{"nowhere.yaml", keeper.Rules{}, "open nowhere.yaml: no such file or directory"},
	} {
		var p Power
		var table power.Table
		var rules keeper.Rules
		err := p.Parse(c.text)
		if err == nil {
			table, rules, err = p.sim()
		}
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s: %v, want %s", c.text, err, c.wrong)
			}
			continue
		}
		if err != nil || rules != c.rules || !reflect.DeepEqual(table, power.Openb()) {
			t.Errorf("%s: %+v, %v, want %+v", c.text, rules, err, c.rules)
		}
	}
}

const machines = `hardware:
  - label: gpu-model=T4
    cores: 24
    socket: {idle: 20, full: 165}
    gpu: {idle: 10, full: 70}
    off: 9
    wake: 90s
  - cores: 32
    socket: {curve: [40, 90, 120]}
`

// TestPowerTableOfAFile: what is written is the table, and the file is among what a run reads.
func TestPowerTableOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "machines.yaml")
	if err := os.WriteFile(path, []byte(machines), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Power{Table: path, OffAfter: new(Time(5 * cluster.Minute))}
	table, rules, err := p.sim()
	want := power.Table{
		{Label: cluster.Label{Key: "gpu-model", Value: "T4"}, Cores: 24, Socket: power.Draw{Idle: 20, Full: 165}, GPU: power.Draw{Idle: 10, Full: 70}, Off: 9, Wake: 90 * cluster.Second},
		{Cores: 32, Curve: []int64{40, 90, 120}},
	}
	if err != nil || rules.OffAfter != 5*cluster.Minute || !reflect.DeepEqual(table, want) {
		t.Errorf("%+v, %v", table, err)
	}
	if got := p.file(); got != path {
		t.Errorf("it reads %q", got)
	}
	if got := (&Power{Table: "openb"}).file(); got != "" {
		t.Errorf("openb is read from %q", got)
	}
}

// TestPowerTitle: a file is named with a hash of what its table says, and not of how that is written.
func TestPowerTitle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "machines.yaml")
	title := func(text string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := Default()
		spec.World.Power = Power{Table: path, OffAfter: new(Time(5 * cluster.Minute))}
		plan, err := spec.Plan(policies.All())
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(plan.config.Setup.Power, path)
	}
	is := title(machines)
	if !regexp.MustCompile("^#[0-9a-f]{8},off-after=5m$").MatchString(is) {
		t.Errorf("it is called %s, want # and eight digits, and its options", is)
	}
	if same := title("# The same.\n" + machines); same != is {
		t.Errorf("the same table is called %s and %s", is, same)
	}
	if other := title(strings.Replace(machines, "off: 9", "off: 8", 1)); other == is {
		t.Errorf("two tables are called %s", other)
	}
	if got := (&Power{Table: "openb", OffAfter: new(Time(5 * cluster.Minute))}).title(power.Openb()); got != "openb,off-after=5m" {
		t.Errorf("a table that has a name is called %s", got)
	}
}

// TestPowerTablesThatCannotBe: each mistake is said, with its line.
func TestPowerTablesThatCannotBe(t *testing.T) {
	for _, c := range []struct{ text, wrong string }{
		{"hardware: []", "f:1:1: has no hardware; give a list of rows, such as {cores: 24, socket: {idle: 20, full: 165}}"},
		{"hardware:\n - {cores: 1, sokcet: {}}", "f:2:15: hardware[0].sokcet: unknown field; did you mean socket?"},
		{"hardware:\n - label: T4", `f:2:11: hardware[0].label: "T4", want a label such as gpu-model=T4`},
		{"hardware:\n - socket: {idle: 9, full: 8}\n   cores: 1", "f:2:12: hardware[0].socket: draws 9 W idle, and 8 W at work; want no less"},
		{"hardware:\n - socket: {idle: 1, full: 8}", "f:2:4: hardware[0].cores: 0, want a whole number from 1 to 1000000"},
		{"hardware:\n - gpu: {idle: -1, full: 8}", "f:2:16: hardware[0].gpu.idle: -1, want a whole number from 0 to 1000000"},
		{"hardware:\n - gpu: {curve: [1, 2]}", "f:2:10: hardware[0].gpu.curve: unknown field; there are idle, full"},
		{"hardware:\n - {cores: 1, socket: {curve: [5]}}", "f:2:31: hardware[0].socket.curve: 1 points, want from 2 to 1001: watts at even steps from idle to full"},
		{"hardware:\n - {cores: 1, socket: {curve: [5, 4]}}", "f:2:35: hardware[0].socket.curve[1]: 4 W, less than at less use: 5"},
		{"hardware:\n - {cores: 1, socket: {full: 7, curve: [5, 6]}}", "f:2:23: hardware[0].socket: has a curve, whose ends say what it draws idle and at work; leave out idle and full"},
		{"hardware:\n - {off: 2000000}", "f:2:10: hardware[0].off: 2000000, want a whole number from 0 to 1000000"},
		{"hardware:\n - {wake: 500d}", "f:2:11: hardware[0].wake: 500d, want a time up to 365d"},
		{"hardware:\n - {off: 1}\n - {label: a=b}", "f:3:4: hardware[1]: is no node's, as all that it is for are of hardware[0]; put rows without a label last"},
		{"", "f: the file says nothing"},
	} {
		if _, err := readPowerTable("f", []byte(c.text)); err == nil || err.Error() != c.wrong {
			t.Errorf("%q: %v, want %s", c.text, err, c.wrong)
		}
	}
}

// FuzzPowerTable: whatever is written, it is a table that can be, or a mistake that is named.
func FuzzPowerTable(f *testing.F) {
	f.Add(machines)
	f.Add("hardware: [{gpu: {idle: 1, full: 2}}]")
	f.Add("hardware:\n - {cores: 1, socket: {curve: [5, 4]}}")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := readPowerTable("f", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%v", err)
			}
			return
		}
		for _, h := range table {
			if h.Socket.Idle > h.Socket.Full || h.GPU.Idle > h.GPU.Full || len(h.Curve) == 1 || len(h.Curve) > 0 && h.Cores == 0 || h.Off < 0 {
				t.Errorf("%+v", h)
			}
		}
	})
}
