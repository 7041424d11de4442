package deploy_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kyaml "sigs.k8s.io/yaml"
)

// compiles stands in for go where the script calls it: the program says for what it was built, and how.
const compiles = `#!/bin/sh
while [ $# -gt 1 ]; do
	[ "$1" = -o ] && to=$2
	args="$args $1"
	shift
done
echo "$GOOS $GOARCH cgo=$CGO_ENABLED $1" >"$to"
`

// krewPlugin is as much of krew's manifest as there is in ours.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			Sha256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// The script makes an archive for each platform, the same each time, and a manifest by which krew finds them, with their sums, the program in each, and the rest that it takes.
func TestKrew(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script needs GNU's tar")
	}
	first, second := packKrew(t), packKrew(t)
	text, err := os.ReadFile(filepath.Join(first, "fairlead.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k krewPlugin
	if err := kyaml.UnmarshalStrict(text, &k); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if k.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || k.Kind != "Plugin" || k.Metadata.Name != "fairlead" || k.Spec.Version != "v1.2.3" {
		t.Errorf("it is %s %s %s of version %s", k.APIVersion, k.Kind, k.Metadata.Name, k.Spec.Version)
	}
	// What krew's own check of its index demands.
	if s := k.Spec.ShortDescription; s == "" || len(s) > 50 || strings.HasSuffix(s, ".") || k.Spec.Description == "" || !strings.HasPrefix(k.Spec.Homepage, "https://") {
		t.Errorf("it does not say what it is: %q, %q, %q", s, k.Spec.Description, k.Spec.Homepage)
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(k.Spec.Version) {
		t.Errorf("the version %s is none of semver", k.Spec.Version)
	}
	found := map[string]bool{}
	for _, p := range k.Spec.Platforms {
		of := p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"]
		found[of] = true
		name := path.Base(p.URI)
		if p.URI != "https://example.com/releases/v1.2.3/kubectl-fairlead-"+of+".tar.gz" {
			t.Errorf("%s: it would be taken from %s", of, p.URI)
		}
		archive, again := read(t, filepath.Join(first, name)), read(t, filepath.Join(second, name))
		if sum := sha256.Sum256(archive); p.Sha256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the sum is %x, and the manifest has %s", of, sum, p.Sha256)
		}
		if string(archive) != string(again) {
			t.Errorf("%s: the archive is another one the second time", of)
		}
		files := unpack(t, archive)
		program := "kubectl-fairlead"
		if strings.HasPrefix(of, "windows") {
			program += ".exe"
		}
		if want := fmt.Sprintf("%s %s cgo=0 ./cmd/kubectl-fairlead\n", p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]); files[p.Bin] != want || p.Bin != program {
			t.Errorf("%s: %s is the program %q, want %q", of, p.Bin, files[p.Bin], want)
		}
		if diff := cmp.Diff([]string{"LICENSE", "NOTICE", program, "kubectl_complete-fairlead"}, slices.Sorted(maps.Keys(files))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
	if diff := cmp.Diff([]string{"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64", "windows-amd64", "windows-arm64"}, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("the platforms (-want +got):\n%s", diff)
	}
}

// packKrew runs the script with a compiler that compiles nothing, and returns the folder that it made.
func packKrew(t *testing.T) string {
	t.Helper()
	bin, output := t.TempDir(), filepath.Join(t.TempDir(), "krew")
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(compiles), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "plugin/krew", "v1.2.3", "https://example.com/releases")
	c.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "KREW_OUTPUT="+output)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return output
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unpack is the files of an archive, by their names.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(strings.NewReader(string(archive)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zip); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}
