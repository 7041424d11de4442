package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sweep"
)

// text writes a text.
func text(s string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, s)
		return err
	}
}

// TestFolder: a file is there whole or as it was, whoever fails meanwhile.
func TestFolder(t *testing.T) {
	ctx := t.Context()
	f := sweep.Folder{Dir: filepath.Join(t.TempDir(), "a[b]*")}
	if _, err := sweep.ReadFile(ctx, f, "runs/x.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if names, err := f.List(ctx, "runs/"); len(names) > 0 || err != nil {
		t.Errorf("a folder that is not there holds %v, %v", names, err)
	}
	if err := f.Write(ctx, "runs/x.json", text("one")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := f.Write(ctx, "runs/x.json", func(to io.Writer) error {
		_, _ = io.WriteString(to, strings.Repeat("two", 1<<16))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("writing said %v", err)
	}
	if got, err := sweep.ReadFile(ctx, f, "runs/x.json"); string(got) != "one" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	// Somebody else begins, and takes away what is being written: it is written once more.
	times := 0
	err = f.Write(ctx, "runs/y.json", func(to io.Writer) error {
		if times++; times == 1 {
			if err := f.Clean(); err != nil {
				t.Error(err)
			}
		}
		return text("three")(to)
	})
	if got, readErr := sweep.ReadFile(ctx, f, "runs/y.json"); string(got) != "three" || err != nil || readErr != nil || times != 2 {
		t.Errorf("read %q, %v, %v, written %d times", got, err, readErr, times)
	}
	// So it is where a server of NFS says so of a file that is not there any more.
	err = f.Write(ctx, "runs/y.json", func(to io.Writer) error {
		if times++; times == 3 {
			return &fs.PathError{Op: "write", Path: "y.json", Err: syscall.ESTALE}
		}
		return text("four")(to)
	})
	if got, readErr := sweep.ReadFile(ctx, f, "runs/y.json"); string(got) != "four" || err != nil || readErr != nil || times != 4 {
		t.Errorf("read %q, %v, %v, written %d times", got, err, readErr, times-2)
	}
	// What was left by those who were killed is no file, and goes.
	left := filepath.Join(f.Dir, "runs", "z.json.123.part")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := f.List(ctx, "runs/")
	if slices.Sort(names); !slices.Equal(names, []string{"runs/x.json", "runs/y.json"}) || err != nil {
		t.Errorf("there are %q, %v", names, err)
	}
	if err := f.Clean(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is there: %v", err)
	}
}

// planned is a list of so many runs of two policies.
func planned(tb testing.TB, runs int) *sweep.List {
	tb.Helper()
	s, err := read(fmt.Sprintf("policies: [kube, random]\nseeds: 1-%d\nlists: false\n", runs/2))
	if err != nil {
		tb.Fatal(err)
	}
	list, err := s.Plan(policies.All(), "test")
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// keep keeps a made-up result of a run, whose clock was such.
func keep(tb testing.TB, list *sweep.List, i int, to sweep.Store, clock float64) {
	tb.Helper()
	run := &list.Runs[i]
	result := report.Run{Setup: report.Setup{Policy: run.Policy, Seed: run.Seed}, Tasks: report.Tasks{Submitted: i}, Heat: &report.Heat{}}
	result.Planner = report.NewPlanner(3, 5, 0, clock)
	if err := list.Keep(tb.Context(), to, run, &result, clock); err != nil {
		tb.Fatal(err)
	}
}

// TestSet: the set is the same of whatever has the runs, and however long they took; what is damaged is not in it.
func TestSet(t *testing.T) {
	ctx := context.Background()
	list := planned(t, 6)
	whole, a, b := sweep.Folder{Dir: t.TempDir()}, sweep.Folder{Dir: t.TempDir()}, sweep.Folder{Dir: t.TempDir()}
	for i := range list.Runs {
		keep(t, list, i, whole, 1)
		if i%2 == 0 {
			keep(t, list, i, a, 2)
		}
		if i%3 != 0 {
			keep(t, list, i, b, 3)
		}
	}
	var said []string
	gather := func(from ...sweep.Store) (string, []int) {
		t.Helper()
		var out bytes.Buffer
		said = nil
		missing, err := sweep.Gather(ctx, list, from, &out, func(err error) { said = append(said, err.Error()) })
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), missing
	}
	want, missing := gather(whole)
	if len(missing) > 0 {
		t.Errorf("%v are missing of all", missing)
	}
	if lines := strings.Split(want, "\n"); len(lines) != 7 || !strings.HasPrefix(lines[3], `{"version":1,"index":3,"key":"`+list.Runs[3].Key+`","policy":"random","seed":1,"spec":{"version":1,`) {
		t.Errorf("the set is\n%s", want)
	}
	if _, missing := gather(a, b); !slices.Equal(missing, []int{3}) {
		t.Errorf("missing are %v, want 3", missing)
	}
	keep(t, list, 3, b, 4)
	if got, missing := gather(a, b); got != want || len(missing) > 0 {
		t.Errorf("of two folders the set is\n%s\nand %v are missing; want\n%s", got, missing, want)
	}

	// A file that was cut short, changed in a digit, or is that of another run, is to be made again.
	for name, change := range map[string]func([]byte) []byte{
		"cut":   func(text []byte) []byte { return text[:len(text)/2] },
		"empty": func([]byte) []byte { return nil },
		"changed": func(text []byte) []byte {
			return bytes.Replace(text, []byte(`"submitted":2`), []byte(`"submitted":3`), 1)
		},
		"another": func(text []byte) []byte {
			return bytes.Replace(text, []byte(list.Runs[2].Key), []byte(list.Runs[1].Key), 1)
		},
		"zeros":   func(text []byte) []byte { return make([]byte, len(text)) },
		"version": func(text []byte) []byte { return bytes.Replace(text, []byte(`"version":1`), []byte(`"version":2`), 1) },
	} {
		path := filepath.Join(whole.Dir, list.Runs[2].File())
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(bytes.Clone(was)), 0o600); err != nil {
			t.Fatal(err)
		}
		var seen []string
		todo, err := list.Todo(ctx, whole, sweep.Whole(), func(err error) { seen = append(seen, err.Error()) })
		if err != nil || !slices.Equal(todo, []int{2}) || len(seen) != 1 || !strings.Contains(seen[0], "is damaged: ") {
			t.Errorf("%s: to do are %v, %v, and said is %q", name, todo, err, seen)
		}
		if _, missing := gather(whole); !slices.Equal(missing, []int{2}) || len(said) != 1 {
			t.Errorf("%s: missing are %v, said is %q", name, missing, said)
		}
		if got, missing := gather(whole, a); got != want || len(missing) > 0 {
			t.Errorf("%s: what another folder has whole is not taken from there, %v", name, missing)
		}
		if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if todo, err := list.Todo(ctx, a, sweep.Shard{Index: 1, Of: 2}, func(error) {}); !slices.Equal(todo, []int{1, 3, 5}) || err != nil {
		t.Errorf("of the second shard %v are to be done, %v", todo, err)
	}
}

// TestList: a list reads as it was written, and one that is wrong is refused.
func TestList(t *testing.T) {
	list := planned(t, 4)
	text, err := list.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := sweep.DecodeList("f", text)
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Encode()
	if err != nil || !bytes.Equal(second, text) || list.Differs(again) != "" {
		t.Errorf("%s\nreads as\n%s, %v, and differs: %s", text, second, err, list.Differs(again))
	}
	other := planned(t, 6)
	if differs := list.Differs(other); differs != "4 runs and 6, of which 4 are the same" {
		t.Errorf("differs: %s", differs)
	}
	again.Program = "another"
	if differs := list.Differs(again); differs != "of test and of another" {
		t.Errorf("differs: %s", differs)
	}
	again.Program = "test"
	slices.Reverse(again.Runs)
	if differs := list.Differs(again); differs != "the same runs in another order" {
		t.Errorf("differs: %s", differs)
	}
	key := list.Runs[0].Key
	for text, want := range map[string]string{
		"":                           "f: no list of runs: ",
		`{"version": 2}`:             "f: a list of version 2; this program reads version 1",
		`{"version": 1, "rnus": []}`: "f: rnus: unknown field; did you mean runs?",
		`{"version": 1, "runs": [{"key": "../../etc/passwd"}]}`:                         `f: runs[0].key: "../../etc/passwd" is no key`,
		fmt.Sprintf(`{"version": 1, "runs": [{"key": %q}, {"key": %q}]}`, key, key):     "f: runs[1].key: ",
		fmt.Sprintf(`{"version": 1, "runs": [{"key": %q}]}`, strings.ToUpper(key[:31])): "f: runs[0].key: ",
	} {
		if _, err := sweep.DecodeList("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// made is a set of made-up results.
func made(tb testing.TB) []byte {
	tb.Helper()
	list := planned(tb, 6)
	folder := sweep.Folder{Dir: tb.TempDir()}
	for i := range list.Runs {
		keep(tb, list, i, folder, 1)
	}
	var set bytes.Buffer
	if _, err := sweep.Gather(tb.Context(), list, []sweep.Store{folder}, &set, func(error) {}); err != nil {
		tb.Fatal(err)
	}
	return set.Bytes()
}

// TestReadSet: a set reads as it was written, and what is wrong is said with its line.
func TestReadSet(t *testing.T) {
	set := made(t)
	var entries []*sweep.Entry
	collect := func(e *sweep.Entry) error {
		entries = append(entries, e)
		return nil
	}
	if err := sweep.ReadSet("f", bytes.NewReader(set), collect); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 6 || entries[5].Policy != "random" || entries[5].Seed != 3 || entries[5].Run.Tasks.Submitted != 5 || entries[5].Run.Seed != 3 {
		t.Errorf("read %d entries, the last %+v", len(entries), entries[len(entries)-1])
	}
	if !sweep.BeginsSet(set[:21]) || sweep.BeginsSet([]byte(`{"version":1,"runs":[`)) || sweep.BeginsSet(nil) {
		t.Error("what begins a set is not told from what does not")
	}
	files := sweep.Files("study", entries)
	if len(files) != 1 || files[0].Name != "study" || len(files[0].Runs) != 6 {
		t.Errorf("these are %d files of results", len(files))
	}
	if c, err := report.Compare(files, ""); err != nil || c.Base != "kube" || len(c.Pairs) != 1 || !c.Pairs[0].Paired {
		t.Errorf("compared: %+v, %v", c, err)
	}
	// Of set-ups that no result tells apart, values do.
	for i, e := range entries {
		e.Run.Setup = report.Setup{Policy: "kube", Seed: uint64(i % 3)}
		e.Policy, e.Values = "kube", map[string]string{"source.lenient": fmt.Sprint(i < 3)}
	}
	if files := sweep.Files("", entries); len(files) != 2 || files[0].Name != "kube, source.lenient true" || len(files[1].Runs) != 3 {
		t.Errorf("these are %d files of results, the first %s", len(files), files[0].Name)
	}
	line, _, _ := strings.Cut(string(set), "\n")
	for text, want := range map[string]string{
		"\n\n" + line + "\n" + line:                               "f:4: index 0 after 0: want a set as fairlead sweep writes it",
		strings.Replace(line, `"version":1`, `"version":9`, 1):    "f:1: of version 9; this program reads version 1",
		line[:len(line)/2]:                                        "f:1: no line of results of a sweep: ",
		strings.Replace(line, `"index"`, `"indxe"`, 1):            "f:1: indxe: unknown field; did you mean index?",
		strings.Replace(line, `"index":0`, `"index":100000`, 1):   "f:1: index 100000 after -1",
		strings.Replace(line, `"submitted"`, `"submitted_at"`, 1): "f:1: run.tasks.submitted_at: unknown field",
		line + "\n" + strings.Repeat("x", 65<<20):                 "f:2: ",
	} {
		err := sweep.ReadSet("f", strings.NewReader(text), func(*sweep.Entry) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

// FuzzReadSet: whatever is read, it ends.
func FuzzReadSet(f *testing.F) {
	f.Add(made(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		var entries []*sweep.Entry
		err := sweep.ReadSet("f", bytes.NewReader(text), func(e *sweep.Entry) error {
			entries = append(entries, e)
			return nil
		})
		runs := 0
		for _, file := range sweep.Files("f", entries) {
			runs += len(file.Runs)
		}
		if runs != len(entries) {
			t.Errorf("%d runs of %d entries, %v", runs, len(entries), err)
		}
	})
}

// FuzzDecodeList: a list that is read is written as it was read.
func FuzzDecodeList(f *testing.F) {
	f.Add([]byte(`{"version": 1, "program": "test", "lists": true, "runs": [{"key":"0123456789abcdef0123456789abcdef","policy":"kube","seed":1,"values":{"a":"b"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := sweep.DecodeList("f", text)
		if err != nil {
			return
		}
		written, err := list.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := sweep.DecodeList("f", written)
		if err != nil || again.Differs(list) != "" {
			t.Fatalf("%v, %s", err, written)
		}
	})
}
