package fairlead_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// bannedWords are words at which a reader must stop, and what to say instead: a word a thing, and
// the field's where it has one. A word that ends in a hyphen stands for all that begin with it. Only
// those are here that are wrong wherever they stand; that a class is a service class and nothing
// else, and urgency no priority, nobody can see by the name alone.
const bannedWords = `
homeless: UnknownNode
lining: Queued
resting: BackingOff
insist-: Replan
patient: IgnoreOutcomes, or what is waited for
stir-: markDirty
hopes: mayPreempt, reservationFeasible
haunt-: orphan
exorc-: orphan
ghost-: orphan
oust-: preempt
hunt-: search
seat-: candidate, place
lodge-: add
tell: emit, report
say: report
heard: reported, effective at
obey-: honour, carry out
heed-: honour
`

// wordsAllowed names each banned word that may stand in a folder, and why. The list only shrinks.
const wordsAllowed = `
mcmf seat: a leaf at a core node, explained at the type and at the head of seats.go
mcmf seated: the leaves that have a seat
mcmf seats: as seat
`

// TestWords looks at all names in the Go code of this module and of those below it, tests as well.
func TestWords(t *testing.T) {
	complaints, files, err := complainOfWords(os.DirFS("."), wordsAllowed)
	if err != nil {
		t.Fatal(err)
	}
	if files < 1500 {
		t.Errorf("%d files were read, want all modules", files)
	}
	for _, c := range complaints {
		t.Error(c)
	}
}

// TestWordsCanFail plants one name at a time, and wants a complaint about it, or none.
func TestWordsCanFail(t *testing.T) {
	for _, tc := range []struct{ file, source, want string }{
		{"a/b.go", "func (T) tellAll() {}", "a/b.go:2:10: tellAll: not tell, but emit, report"},
		{"a/b.go", "const a_ghost = 1", "not ghost, but orphan"},
		{"a/b.go", "func f(howToSay int) {}", "not say, but report"},
		{"a/b.go", "var x = struct{ Seated bool }{}", "not seated, but candidate, place"},
		{"a/b_test.go", "func f() { for hunter := range 3 { _ = hunter } }", "not hunter, but search"},
		{"kube/a/b.go", "type obeysBudgets int", "not obeys, but honour, carry out"},
		{"a/b_test.go", "func TestNobodyHeeds() {}", "not heeds, but honour"},
		{"a/b_test.go", "func TestAccountsSayWhatIsOwed() {}", ""},
		{"a/b_test.go", "func TestX() { say := 1; _ = say }", "not say, but report"},
		{"a/b.go", "func f(said, essay, inpatient int) {} // and patient ghosts tell", ""},
		{"mcmf/b.go", "type seat int", ""},
		{"mcmf/testdata/b.go", "type ghost int", ""},
	} {
		world := fstest.MapFS{
			"kube/go.mod": {}, "a/a.go": goFile("type T int"), "mcmf/a.go": goFile("type seat int"),
			"mcmf/c.go": goFile("var seats, seated int"), tc.file: goFile(tc.source),
		}
		got, _, err := complainOfWords(world, wordsAllowed)
		switch {
		case err != nil:
			t.Error(err)
		case tc.want == "" && len(got) > 0:
			t.Errorf("%s: complaints %q, want none", tc.source, got)
		case tc.want != "" && (len(got) == 0 || !strings.Contains(got[0], tc.want)):
			t.Errorf("%s: complaints %q, want %q", tc.source, got, tc.want)
		}
	}
	got, _, err := complainOfWords(fstest.MapFS{"a/a.go": goFile("type T int")}, "a ghost: because")
	if want := "a may have ghost, and has none: take it off the list"; err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("complaints %q, %v; want %q", got, err, want)
	}
}

// complainOfWords names each banned word in the names of all Go files, but those in folders that may
// have it, and each of these that has none.
func complainOfWords(repository fs.FS, allowed string) (complaints []string, files int, err error) {
	banned, unused := table(bannedWords), table(allowed)
	may := table(allowed)
	err = fs.WalkDir(repository, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go":
			return nil
		}
		files++
		source, err := fs.ReadFile(repository, file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			name, is := n.(*ast.Ident)
			if !is {
				return true
			}
			for _, word := range wordsOf(name.Name) {
				instead, found := insteadOf(banned, word)
				here := path.Dir(file) + " " + word
				if delete(unused, here); !found || may[here] != "" || isSentence(name.Name) && (word == "say" || word == "tell") {
					continue
				}
				complaints = append(complaints, fmt.Sprintf("%s: %s: not %s, but %s", set.Position(name.Pos()), name.Name, word, instead))
			}
			return true
		})
		return nil
	})
	for line := range strings.SplitSeq(strings.TrimSpace(allowed), "\n") {
		if where, _, _ := strings.Cut(line, ": "); unused[where] != "" {
			folder, word, _ := strings.Cut(where, " ")
			complaints = append(complaints, fmt.Sprintf("%s may have %s, and has none: take it off the list", folder, word))
		}
	}
	return complaints, files, err
}

// table takes lines apart at their colons.
func table(lines string) map[string]string {
	of := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		of[key] = value
	}
	return of
}

// insteadOf is what to write in the place of a word, if it is banned.
func insteadOf(banned map[string]string, word string) (string, bool) {
	if instead, is := banned[word]; is {
		return instead, true
	}
	for i := range len(word) + 1 {
		if instead, is := banned[word[:i]+"-"]; is {
			return instead, true
		}
	}
	return "", false
}

// isSentence reports whether a name is that of a test, which is a sentence: in it somebody may say something.
func isSentence(name string) bool { return strings.HasPrefix(name, "Test") }

// wordsOf takes a name apart where a capital letter or anything but a letter stands.
func wordsOf(name string) (words []string) {
	at := 0
	for i, r := range name {
		if unicode.IsUpper(r) || !unicode.IsLetter(r) {
			words, at = append(words, strings.ToLower(strings.Trim(name[at:i], "_"))), i
		}
	}
	return append(words, strings.ToLower(strings.Trim(name[at:], "_")))
}
