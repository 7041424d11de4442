package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A sweep whose inputs take long to read ends as soon as it is told to: this one has a gigabyte without a word.
func TestSweepInterruptedWhileInputsAreRead(t *testing.T) {
	dir := t.TempDir()
	trace, spec := filepath.Join(dir, "trace.csv"), filepath.Join(dir, "study.yaml")
	if err := errors.Join(
		os.WriteFile(trace, nil, 0o600), os.Truncate(trace, 1<<30),
		os.WriteFile(spec, []byte("spec: {source: {workload: 'dlrm:"+trace+"'}}\npolicies: [kube, best-fit]\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	root := Command()
	var out bytes.Buffer
	root.SetArgs([]string{"sweep", spec, "--dir", filepath.Join(dir, "out")})
	root.SetOut(&out)
	root.SetErr(&out)
	// Once inputs are read it would say how many runs are kept.
	if err := root.ExecuteContext(ctx); !errors.Is(err, errInterrupted) || err.Error() != errInterrupted.Error() {
		t.Errorf("it ends with %v, and says %s", err, &out)
	}
}
