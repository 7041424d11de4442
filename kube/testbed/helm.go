package testbed

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Helm installs the chart of kube/deploy, which tests do as users would. It is a module of its own (testbed/helm), of which nothing is linked
// in, and is built on demand.

const helmFolder = "testbed/helm"

const howToBuildHelm = "run `go run ./cmd/fairlead-testbed build --helm` in the folder kube (3 minutes)"

func helmProgram(s source) (string, error) { return s.versioned("helm", helmFolder, "go.mod") }

// BuildHelm compiles what is not there yet: the programs of Build, and Helm.
func BuildHelm(ctx context.Context, log io.Writer) error {
	_, err := onDemand(ctx, log, "Helm", helmProgram, func(s source, to string) error {
		return s.compile(ctx, log, helmFolder, "build", "-ldflags", "-s -w", "-o", to, "helm.sh/helm/v4/cmd/helm")
	})
	return err
}

// Helm is a built Helm, which knows no repositories and has no settings but those of the test.
type Helm struct{ program, home string }

// HelmForTest skips the test where Helm is not built, unless FAIRLEAD_TESTBED=require. It looks at the folders of the chart, as go test would not
// know otherwise that the result depends on them, and would show an old one.
func HelmForTest(tb testing.TB, chart string) Helm {
	tb.Helper()
	SkipUnlessBuilt(tb)
	if err := filepath.WalkDir(chart, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		tb.Fatal(err)
	}
	program, err := builtHelm(tb.Context())
	switch {
	case err == nil:
		return Helm{program, tb.TempDir()}
	case !errors.Is(err, os.ErrNotExist):
		tb.Fatal(err)
	case os.Getenv(requireEnv) == "require":
		tb.Fatalf("Helm is not built, and %s=require; %s", requireEnv, howToBuildHelm)
	}
	tb.Skipf("Helm is not built; %s", howToBuildHelm)
	return Helm{}
}

// builtHelm is the path of Helm, an error if it is not there.
func builtHelm(ctx context.Context) (string, error) {
	s, err := findSource(ctx)
	if err != nil {
		return "", err
	}
	name, err := helmProgram(s)
	if err != nil {
		return "", err
	}
	program := filepath.Join(s.target, name)
	_, err = os.Stat(program)
	return program, err
}

// Command is one of Helm's.
func (h Helm) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, h.program, args...)
	c.Env = append(os.Environ(), "HELM_CONFIG_HOME="+h.home, "HELM_CACHE_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	return c
}
