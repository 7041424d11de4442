package cli

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/policies"
)

// outputFlags are the flags that name a file to write, of all commands: "simulate --tasks".
func outputFlags() []string {
	var all []string
	var visit func(c *cobra.Command, path string)
	visit = func(c *cobra.Command, path string) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if value, usage := pflag.UnquoteUsage(f); value == "FILE" && (strings.Contains(usage, "write") || strings.HasPrefix(usage, "draw")) {
				all = append(all, path+"--"+f.Name)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub, path+sub.Name()+" ")
		}
	}
	visit(newRoot(policies.All()), "")
	slices.Sort(all)
	return all
}

// TestEveryOutputIsChecked: no flag of any command replaces any file that the command reads,
// by whatever name. A new flag that names a file to write fails here until it has its rows.
func TestEveryOutputIsChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("FAIRLEAD_DATA", "")
	const text = "read me\n"
	for _, err := range []error{
		os.WriteFile("in", []byte(text), 0o600), os.Symlink("in", "soft"), os.Link("in", "hard"),
		os.Mkdir("dir", 0o700), os.Symlink(filepath.Join("..", "in"), filepath.Join("dir", "linked")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	simulate := []string{
		"simulate --workload in", "simulate --cluster in", "simulate --workload qos:in", "simulate --beside in",
		"simulate --classes in", "simulate --classes soft", "simulate --overheads in", "simulate --cluster openb:dir", "simulate --workload in --policy kube,random --seeds 1-3",
	}
	commands := map[string][]string{
		"simulate --placements":              simulate,
		"simulate --tasks":                   simulate,
		"simulate --invoices":                simulate,
		"simulate --timeline":                simulate,
		"simulate --report":                  simulate,
		"report --output":                    {"report in", "report other in"},
		"solve --flow":                       {"solve in", "solve other --changes in"},
		"experiment --report":                {"experiment firmament-fig17 --traces dir"},
		"trace convert --output":             {"trace convert in", "trace convert synthetic:ec2 in", "trace convert kubernetes:dir"},
		"sweep --table":                      nil, // a sweep has to be read before it is known what it reads: sweep.txtar
		"sweep merge --table":                nil,
		"trace generate google --output":     nil, // which reads nothing
		"trace generate ec2 --output":        nil,
		"trace generate lra --output":        nil,
		"trace generate kubernetes --output": nil,
	}
	if want := slices.Sorted(maps.Keys(commands)); !slices.Equal(outputFlags(), want) {
		t.Fatalf("the flags that name a file to write are %q, the test has %q", outputFlags(), want)
	}
	for flag, lines := range commands {
		flag = flag[strings.Index(flag, "--"):]
		for _, line := range lines {
			for _, path := range []string{"in", "./in", "soft", "hard", filepath.Join("dir", "..", "in")} {
				root := newRoot(policies.All())
				root.SetArgs(append(strings.Fields(line), flag, path))
				root.SetOut(io.Discard)
				err := root.Execute()
				if err == nil || !strings.Contains(err.Error(), flag+": "+path+" is to be read") {
					t.Errorf("%s %s %s: %v", line, flag, path, err)
				}
			}
		}
	}
	if got, err := os.ReadFile("in"); string(got) != text {
		t.Errorf("the input is %q, %v", got, err)
	}
	if entries, _ := os.ReadDir("."); len(entries) != 4 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestStandardInputIsRead: a file that is the standard input is read as any other.
func TestStandardInputIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	before := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = before }()
	err = checkOutputs([]named{{path: "-"}}, []named{{"output", path}})
	if err == nil || !strings.HasPrefix(err.Error(), "--output: "+path+" is to be read") {
		t.Error(err)
	}
}

// TestReplacedWhole: what is there stays until the output is whole, and stays if it is
// given up.
func TestReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	has := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("has %q, %v; want %q", got, err, want)
		}
	}
	write := func(text string) *output {
		o, err := createOutput(path, nil)
		if err == nil {
			_, err = o.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if err := write("first").Commit(); err != nil {
		t.Fatal(err)
	}
	second := write("second")
	has("first")
	if err := second.Discard(); err != nil {
		t.Error(err)
	}
	has("first")
	if err := write("third").Commit(); err != nil {
		t.Error(err)
	}
	has("third")
}
