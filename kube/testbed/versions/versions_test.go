package versions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each test that a row names is one of kube/e2e.
func TestFeatures(t *testing.T) {
	features, err := Features()
	if err != nil || len(features) == 0 {
		t.Fatalf("%d features, %v", len(features), err)
	}
	files, err := filepath.Glob("../../e2e/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of tests, %v", len(files), err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, test := range Tests(features) {
		if !strings.Contains(source.String(), "func "+test+"(t *testing.T)") {
			t.Errorf("there is no %s", test)
		}
	}
}

const stream = `go: downloading nothing
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"    a_test.go:1: says: I do without it\n"}
{"Action":"output","Test":"TestA","Output":"    a_test.go:1: says: I do without it\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"    b_test.go:2: not served: podgroups\n"}
{"Action":"skip","Test":"TestB"}
{"Action":"fail","Test":"TestC/part"}
{"Action":"output","Test":"TestC/part","Output":"        c_test.go:3: still missing\n"}
{"Action":"output","Test":"TestC","Output":"        c_test.go:3: and more\n"}
{"Action":"fail","Test":"TestC"}
{"Action":"pass","Test":"TestC/other"}
{"Action":"output","Test":"TestD","Output":"    d_test.go:4: no containers\n"}
{"Action":"skip","Test":"TestD"}
{"Action":"fail"}
`

// Rows are judged by their tests, and each that is not as it should be is told with its words.
func TestPage(t *testing.T) {
	results, err := Read(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	features := []Feature{{"a", []string{"TestA"}}, {"b", []string{"TestB"}}, {"both", []string{"TestA", "TestB"}}, {"c", []string{"TestA", "TestC"}}, {"d", []string{"TestD"}}, {"e", []string{"TestE"}}}
	page := Page(features, []Version{{"v1.36.3", results}})
	for _, want := range []string{
		"| | 1.36.3 | tests |\n|---|---|---|\n",
		"| a | works | TestA |\n", "| b | not served | TestB |\n", "| both | in part | TestA, TestB |\n", "| c | does not | TestA, TestC |\n", "| d | not tried | TestD |\n", "| e | not tried | TestE |\n",
		"\n## 1.36.3\n\n- a: it says `I do without it`\n- b: not served: podgroups.\n",
		"- c: TestC failed: still missing.\n", "- d: TestD skipped: no containers.\n", "- e: TestE did not run.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Count(page, "- a: ") != 1 {
		t.Errorf("what was said twice is told twice:\n%s", page)
	}

	if failed := results.Failed(); len(failed) != 1 || failed[0] != "TestC" {
		t.Errorf("failed: %q", failed)
	}
	results.Repeat(Results{"TestC": {State: Passed}})
	page = Page(features, []Version{{"v1.36.3", results}})
	if !strings.Contains(page, "| c | works |") || !strings.Contains(page, "- c: TestC failed at first, and passed when it was run again: still missing.\n") {
		t.Errorf("passed when it was tried again:\n%s", page)
	}
}
