package class

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
)

// TestDecode reads a table in which every field is given, in more ways than one.
func TestDecode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode("all.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	want := &Table{
		Priced:  "cpu",
		Credits: []Credit{{Attained: cluster.Whole}, {Back: cluster.Whole / 8}},
		Criteria: []promethee.Criterion{
			{Weight: 2}, {}, {Weight: 1, Function: promethee.Linear, Preference: 2}, {},
		},
		Classes: []Class{
			{
				From: 9, Price: Price{UnitHour: 2_500_000, Urgency: cluster.Whole / 2, Tier: cluster.Whole / 2, Copy: cluster.Whole * 3 / 2},
				Class: cluster.Class{
					Name: "gold", Availability: cluster.Whole, Margin: 90 * cluster.Second, Restart: 2_371_070,
					Urgency: cluster.Premium, Tier: cluster.Premium, Size: cluster.Premium, Redundancy: cluster.Premium, Replicas: 3,
				},
			},
			{
				From: NoPriority, Price: Price{UnitHour: 333_333, Tier: cluster.Whole / 4, Copy: cluster.Whole},
				Class: cluster.Class{
					Name: "by-name", Importance: -7, Availability: 333_333, Budget: cluster.Whole / 20, LeastRun: cluster.Hour, Margin: 500, Tier: cluster.Advanced,
				},
			},
			{
				From: math.MinInt32, Price: Price{UnitHour: One, Copy: cluster.Whole},
				Class: cluster.Class{Name: "rest", Importance: 2, Urgency: cluster.BestEffort},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// row is a table of one class with these lines beside its name.
func row(lines string) string {
	return "classes:\n  - name: gold\n    " + strings.ReplaceAll(lines, "\n", "\n    ") + "\n"
}

func TestDecodeRefuses(t *testing.T) {
	const two = "classes:\n- {name: a, priority: 9}\n"
	for _, c := range []struct{ text, want string }{
		{"", "t.yaml: the file says nothing; 'fairlead classes google' prints one to start from"},
		{"# nothing\n", "t.yaml: the file says nothing"},
		{"---\n", "t.yaml: the file says nothing"},
		{"classes: [", "t.yaml: neither YAML nor JSON: "},
		{"gold", `t.yaml:1:1: expected fields, such as "classes: ..."`},
		{"classes: []", `t.yaml:1:10: classes: there is none, want at least one`},
		{"restart: 2s", "t.yaml:1:1: has no classes; 'fairlead classes google' prints a table to start from"},
		{"classes: {gold: 1}", `t.yaml:1:10: classes: expected a list of classes`},
		{"classes:\n- gold", `t.yaml:2:3: classes[0]: expected fields, such as "name: ..."`},
		{"classes:\n-", `t.yaml:2:2: classes[0]: has no value`},
		{row("") + "---\n" + row(""), "t.yaml: there is more than one YAML document"},
		{"clases: []", "t.yaml:1:1: clases: unknown field; did you mean classes?\nt.yaml:1:1: has no classes"},

		{row("availability: 1.2"), "t.yaml:3:19: classes[0].availability: 1.2, want more than 0 and at most 1"},
		{row("availability: 0"), "t.yaml:3:19: classes[0].availability: 0, want more than 0 and at most 1"},
		{row("availability: 0%"), "t.yaml:3:19: classes[0].availability: 0%, want more than 0 and at most 1"},
		{row("availability: -0.1"), "t.yaml:3:19: classes[0].availability: -0.1, want more than 0 and at most 1"},
		{row("availability: 90"), "t.yaml:3:19: classes[0].availability: 90, want more than 0 and at most 1"},
		{row("availability: 0.3333333"), "t.yaml:3:19: classes[0].availability: 0.3333333 is finer than a millionth"},
		{row("availability: 1/3"), `t.yaml:3:19: classes[0].availability: "1/3" is no share, want a number such as 0.9 or 90%`},
		{row("availability: 9e-1"), `t.yaml:3:19: classes[0].availability: "9e-1" is no share`},
		{row("availability: [0.9]"), "t.yaml:3:19: classes[0].availability: expected one value, found a list or fields"},
		{row("availability:"), "t.yaml:3:18: classes[0].availability: has no value; give one or remove the line"},
		{row("availability: 1\nmargin: \"30\""), `t.yaml:4:13: classes[0].margin: "30" has no unit, want a time such as 30s`},
		{row("availability: 1\nmargin: 30"), `t.yaml:4:13: classes[0].margin: "30" has no unit, want a time such as 30s`},
		{row("availability: 1\nmargin: -30s"), `t.yaml:4:13: classes[0].margin: "-30s" is no time, want one such as 30s, 10m or 1h30m`},
		{row("availability: 1\nmargin: 30 s"), `t.yaml:4:13: classes[0].margin: "30 s" has a space in it; write 30s`},
		{row("availability: 1\nmargin: 1h 30 m"), `t.yaml:4:13: classes[0].margin: "1h 30 m" has a space in it; write 1h30m`},
		{row("availability: 1\nmargin: 30 sec"), `t.yaml:4:13: classes[0].margin: "30 sec" has an unknown unit sec; there are d, h, m, s, ms, us`},
		{row("availability: 1\nmargin: 3 0"), `t.yaml:4:13: classes[0].margin: "3 0" has no unit, want a time such as 30s`},
		{row("availability: 1\nmargin: 30sec"), `t.yaml:4:13: classes[0].margin: "30sec" has an unknown unit sec; there are d, h, m, s, ms, us`},
		{row("availability: 1\nmargin: 1001000d"), `t.yaml:4:13: classes[0].margin: "1001000d" is more than 365000d`},
		{row("availability: 1\nmargin: 0.1us"), `t.yaml:4:13: classes[0].margin: "0.1us" is finer than a microsecond`},
		{row("tier: 1") + "restart: 30s", "t.yaml:4:10: restart: is of no use without availability; give one, or remove the line"},
		{row("margin: 30s"), "t.yaml:3:13: classes[0].margin: is of no use without availability"},
		{row("availability: 0.9\noverhead_budget: 1.5"), "t.yaml:4:22: classes[0].overhead_budget: 1.5, want 0 to 1"},
		{row("margn: 1s"), "t.yaml:3:5: classes[0].margn: unknown field; did you mean margin?"},
		{row("colour: red"), "t.yaml:3:5: classes[0].colour: unknown field; there are name, priority, importance"},
		{row("tier: 4"), "t.yaml:3:11: classes[0].tier: 4, want a level from 1 to 3"},
		{row("tier: 0"), "t.yaml:3:11: classes[0].tier: 0, want a level from 1 to 3"},
		{row("tier: hihg"), `t.yaml:3:11: classes[0].tier: "hihg" is no level; did you mean high?`},
		{row("redundancy: Premium"), `t.yaml:3:17: classes[0].redundancy: "Premium" is no level; did you mean premium?`},
		{row("urgency: high"), `t.yaml:3:14: classes[0].urgency: "high" is no level; there are best-effort, advanced, premium`},
		{row("replicas: -1"), `t.yaml:3:15: classes[0].replicas: "-1", want a whole number from 1 to 1000`},
		{row("replicas: 2.5"), `t.yaml:3:15: classes[0].replicas: "2.5", want a whole number from 1 to 1000`},
		{row("replicas: 99999999999999999999"), `t.yaml:3:15: classes[0].replicas: "99999999999999999999", want a whole number`},
		{row("priority: high"), `t.yaml:3:15: classes[0].priority: "high", want a whole number from -2147483648`},
		{row("name: gold"), "t.yaml:3:5: classes[0].name: given twice, first on line 2; keep one"},
		{row("price: {unit_hour: -1}"), "t.yaml:3:24: classes[0].price.unit_hour: -1, want 0 to 1000000"},
		{row("price: {tier: 10001%}"), "t.yaml:3:19: classes[0].price.tier: 10001%, want 0 to 100"},
		{row("price: {teir: 1}"), "t.yaml:3:13: classes[0].price.teir: unknown field; did you mean tier?"},
		{row("price: 3"), `t.yaml:3:12: classes[0].price: expected fields`},

		{"classes:\n- {priority: 9}", "t.yaml:2:3: classes[0]: has no name"},
		{"classes:\n- {name: all}", `t.yaml:2:10: classes[0].name: "all" is what reports call all classes together`},
		{"classes:\n- {name: best effort}", `t.yaml:2:10: classes[0].name: "best effort", want letters, digits, - and _ alone`},
		{"classes:\n- {name: -a}", `t.yaml:2:10: classes[0].name: "-a", want a letter or digit at both ends`},
		{"classes:\n- {name: ''}", `t.yaml:2:10: classes[0].name: is empty`},
		{two + "- {name: a}", `t.yaml:3:10: classes[1].name: "a" is the name of classes[0] too`},
		{two + "- {name: b, priority: 9}", "t.yaml:3:23: classes[1].priority: 9, as classes[0], which gets all from there on"},
		{two + "- {name: b, priority: 12}", "t.yaml:3:23: classes[1].priority: 12, but classes[0] before it gets all from 9 on"},
		{"classes:\n- &x {name: a}\n- *x", "t.yaml:3:3: classes[1]: is written as an alias, *x; write it out"},
		{"classes:\n- &x {name: a}\n- {<<: *x}", "t.yaml:3:3: classes[1]: has no name\nt.yaml:3:4: classes[1]: merging by << is not read; write the fields out"},
		{"classes:\n- {[a]: b}", "t.yaml:2:3: classes[0]: has no name\nt.yaml:2:4: classes[0]: expected the name of a field"},

		{row("") + "weights: {urgency: 0, tier: 0}", "t.yaml:4:10: weights: sum to 0, want at least one above 0"},
		{row("") + "weights: {}", "t.yaml:4:10: weights: sum to 0"},
		{row("") + "weights: {urgency: -1}", `t.yaml:4:20: weights.urgency: "-1", want a number from 0 to 1000000`},
		{row("") + "weights: {urgency: nan}", `t.yaml:4:20: weights.urgency: "nan", want a number`},
		{row("") + "weights: {colour: 1}", "t.yaml:4:11: weights.colour: unknown field; there are urgency, tier, size, redundancy"},
		{row("") + "weights: {tier: {weight: 1, function: lniear}}", `t.yaml:4:39: weights.tier.function: "lniear" is no preference function; did you mean linear?`},
		{row("") + "weights: {tier: {weight: 1, function: linear, indifference: 2, preference: 1}}", "t.yaml:4:17: weights.tier: the function linear has an indifference of 2 and a preference of 1, want that larger"},
		{row("") + "weights: {urgency: {function: linear, preference: 2}, tier: 1}", "t.yaml:4:20: weights.urgency: wants a weight"},
		{row("") + "weights: {urgency: {}, tier: 1}", "t.yaml:4:20: weights.urgency: wants a weight"},
		{row("") + "weights: {urgency: [2], tier: 1}", `t.yaml:4:20: weights.urgency: expected fields, such as "weight: ..."`},
		{row("") + "weights: sacf", `t.yaml:4:10: weights: "sacf", want equal, safc, or a weight for each of urgency, tier, size, redundancy`},
		{row("") + "credits:\n- {attained: 1, back: 0}", "t.yaml:5:3: credits[0]: attained is 1, want 0 in the last row"},
		{row("") + "credits:\n- {attained: 0.5, back: 0}\n- {attained: 0.9, back: 1}", "t.yaml:6:3: credits[1]: attained is 0.9 after 0.5, want less"},
		{row("") + "credits:\n- {attained: 100%, back: 10%}\n- {attained: 0, back: 1}", "t.yaml:5:3: credits[0]: back is 0.1 where all was attained, want 0"},
		{row("") + "credits:\n- {attained: 1}", "t.yaml:5:3: credits[0]: wants both attained and back"},
		{row("") + "credits: 5", "t.yaml:4:10: credits: expected a list of credits"},
	} {
		_, err := Decode("t.yaml", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\ngives %v\nwant  %s", c.text, err, c.want)
		}
	}
}

// TestDecodeReportsAll: a mistake does not hide the next one.
func TestDecodeReportsAll(t *testing.T) {
	_, err := Decode("t.yaml", []byte("restart: 3\nclasses:\n- {name: a, availability: 2, tier: x, colour: red}\n- 7\n"))
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != 5 {
		t.Errorf("%d mistakes are reported, want 5: %q", len(got), got)
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, Google().Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want *Table
		err  string
	}{
		{"google", Google(), ""},
		{"sla", SLA(), ""},
		{file, Google(), ""},
		{"gogle", nil, `unknown table of classes "gogle"; did you mean google?`},
		{"x", nil, `unknown table of classes "x"; there are google, sla, spot, none`},
		{"none.yaml", nil, "cannot read the table of classes: open none.yaml"},
	} {
		got, err := Load(c.name)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("load %s: error %v, want %s", c.name, err, c.err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("load %s: want -, got +:\n%s", c.name, diff)
		}
	}
}

// TestPresets: each preset is a right table, and a text that reads as the same.
func TestPresets(t *testing.T) {
	for _, p := range Presets() {
		table := p.Table()
		if err := table.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		sameAgain(t, table)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sameAgain demands that the table reads back as itself.
func sameAgain(t fataler, table *Table) {
	t.Helper()
	text := table.Encode()
	again, err := Decode("again", text)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, text)
	}
	if diff := cmp.Diff(table, again); diff != "" {
		t.Fatalf("reads back otherwise, before -, after +:\n%s\n%s", diff, text)
	}
}

// Who changes the availability in what was printed changes what follows from it, too.
func TestPresetsToStartFrom(t *testing.T) {
	text := strings.Replace(string(Google().Encode()), "availability: 0.9\n", "availability: 0.99\n", 1)
	table, err := Decode("google.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	silver := &table.Classes[1]
	if want := cluster.Share(990_000); silver.Availability != want {
		t.Fatalf("availability is %v, want %v:\n%s", silver.Availability, want, text)
	}
	if want := cluster.Share(10_000); silver.Budget != want {
		t.Errorf("the budget is %v, want %v", silver.Budget, want)
	}
	if want := Money(990_000); silver.Price.UnitHour != want {
		t.Errorf("a unit costs %v an hour, want %v", silver.Price.UnitHour, want)
	}
}

// What a table says makes its title, and not how it is written.
func TestTitle(t *testing.T) {
	sla, err := Decode("copy.yaml", SLA().Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table      *Table
		name, want string
	}{
		{Google(), "google", "google"},
		{sla, "copy.yaml", "sla"},
	} {
		if got := c.table.Title(c.name); got != c.want {
			t.Errorf("%s is called %s, want %s", c.name, got, c.want)
		}
	}
	read := func(text string) string {
		table, err := Decode("study.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return table.Title("study.yaml")
	}
	title := read("classes: [{name: a, availability: 0.9}]")
	if !regexp.MustCompile("^study.yaml#[0-9a-f]{8}$").MatchString(title) {
		t.Errorf("the title is %s, want study.yaml# and eight digits", title)
	}
	if same := read("# The same.\nclasses:\n  - name: a\n    availability: 90%\n"); same != title {
		t.Errorf("the same table is called %s and %s", title, same)
	}
	if other := read("classes: [{name: a, availability: 0.8}]"); other == title {
		t.Errorf("two tables are called %s", title)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		if err := table.Validate(); err != nil {
			t.Fatalf("drew a wrong table: %v", err)
		}
		sameAgain(t, table)
	})
}

// drawTable draws a right table.
func drawTable(t *rapid.T) *Table {
	share := rapid.Int64Range(0, int64(cluster.Whole))
	times := rapid.OneOf(rapid.Int64Range(0, int64(mostTime)), rapid.Map(rapid.Int64Range(0, 1000), func(n int64) int64 { return n * int64(cluster.Minute) }))
	level := rapid.Map(rapid.IntRange(0, cluster.Levels), func(n int) cluster.Level { return cluster.Level(n) })
	used := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9]([a-zA-Z0-9_-]{0,8}[a-zA-Z0-9])?`).Filter(func(s string) bool { return s != "all" }), 1, 6, rapid.ID).Draw(t, "names")
	from := rapid.SliceOfNDistinct(rapid.Int32Range(math.MinInt32+1, math.MaxInt32-1), len(used), len(used), rapid.ID).Draw(t, "from")
	slices.Sort(from)
	slices.Reverse(from)
	table := &Table{Credits: rapid.SampledFrom([][]Credit{nil, Credits()}).Draw(t, "credits"), Priced: rapid.SampledFrom([]string{"", "cpu", "a: b", "12", "true"}).Draw(t, "priced")}
	for i, name := range used {
		c := Class{From: from[i], Class: cluster.Class{
			Name: name, Importance: rapid.Int32().Draw(t, "importance"), Availability: cluster.Share(share.Draw(t, "availability")),
			Urgency: level.Draw(t, "urgency"), Tier: level.Draw(t, "tier"), Size: level.Draw(t, "size"), Redundancy: level.Draw(t, "redundancy"),
			Replicas: rapid.Int32Range(0, MostReplicas).Draw(t, "replicas"), KeepsWork: rapid.Bool().Draw(t, "work is kept"),
		}}
		switch {
		case !rapid.Bool().Draw(t, "unnamed"):
		case i == len(used)-1:
			c.From = math.MinInt32
		default:
			c.From = NoPriority
		}
		if c.Promises() {
			c.Margin, c.Restart = cluster.Time(times.Draw(t, "margin")), cluster.Time(times.Draw(t, "restart"))
			c.Budget = rapid.SampledFrom([]cluster.Share{cluster.Whole - c.Availability, cluster.Share(share.Draw(t, "budget"))}).Draw(t, "which budget")
		}
		if c.Price = PriceOf(&c.Class); rapid.Bool().Draw(t, "priced by itself") {
			c.Price = Price{
				UnitHour: Money(rapid.Int64Range(0, int64(mostPrice)).Draw(t, "unit hour")), Urgency: cluster.Share(share.Draw(t, "for urgency")),
				Tier: cluster.Share(rapid.Int64Range(0, int64(mostShare)).Draw(t, "for tier")), Copy: cluster.Share(share.Draw(t, "for copies")),
			}
		}
		table.Classes = append(table.Classes, c)
	}
	if rapid.Bool().Draw(t, "weighed") {
		table.Criteria = make([]promethee.Criterion, len(Criteria()))
		for i := range table.Criteria {
			table.Criteria[i] = rapid.SampledFrom([]promethee.Criterion{
				{Weight: 1},
				{Weight: rapid.Float64Range(0, mostWeight).Draw(t, "weight")},
				{Function: promethee.Gaussian, Preference: 2},
				{Weight: 0.1, Function: promethee.Level, Indifference: 1, Preference: 2},
			}).Draw(t, "criterion")
		}
		table.Criteria[2].Weight = 3
	}
	return table
}

// Mistakes are reported in the order of the text, although classes are read last.
func TestMistakesInOrder(t *testing.T) {
	_, err := Decode("t.yaml", []byte("classes:\n  - {name: gold, availability: 2}\n  - {name: silver, tier: tall}\nrestart: 3\nbogus: 1\n"))
	want := []string{"t.yaml:2:32: classes[0].availability: ", "t.yaml:3:26: classes[1].tier: ", "t.yaml:4:10: restart: ", "t.yaml:5:1: bogus: "}
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d mistakes, want %d:\n%v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("mistake %d is %q, want %q first", i, line, want[i])
		}
	}
}

// FuzzDecode: whatever is read is a right table, and reads back as itself; whatever is
// not has an error that says where.
func FuzzDecode(f *testing.F) {
	for _, p := range Presets() {
		f.Add(p.Table().Encode())
	}
	all, err := os.ReadFile(filepath.Join("testdata", "all.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(all)
	f.Add([]byte(row("availability: 1.2\nmargin: \"30\"\ntier: 7")))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Decode("t.yaml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "t.yaml:") {
				t.Fatalf("an error that does not say where: %v", err)
			}
			return
		}
		if err := table.Validate(); err != nil {
			t.Fatalf("was read, and is wrong: %v", err)
		}
		sameAgain(t, table)
	})
}

// TestLoadWithoutEnd: a file without end is refused, instead of being read until nothing is left.
func TestLoadWithoutEnd(t *testing.T) {
	if _, err := Load("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: there is more than 64 MiB to read") {
		t.Error(err)
	}
}
