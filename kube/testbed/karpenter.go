package testbed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Karpenter brings nodes for pods that are Unschedulable, and takes nodes back that are of no use. With its provider for kwok the
// nodes are objects alone, which the bed's kwok keeps alive. It is a module of its own (testbed/karpenter), as its dependencies do not
// agree with Kubernetes', and is built on demand.

// karpenterName is the process that StartKarpenter starts, and karpenterFolder where its module is.
const (
	karpenterName   = "karpenter"
	karpenterFolder = "testbed/karpenter"
)

const howToBuildKarpenter = "run `go run ./cmd/fairlead-testbed build --karpenter` in the folder kube (3 minutes)"

func karpenterProgram(s source) (string, error) {
	return s.versioned(karpenterName, karpenterFolder, "go.mod")
}

// crdsOf is the file of the types that a built Karpenter knows.
func crdsOf(program string) string { return strings.TrimSuffix(program, ".building") + "-crds.yaml" }

// BuildKarpenter compiles what is not there yet: the programs of Build, and Karpenter.
func BuildKarpenter(ctx context.Context, log io.Writer) error {
	_, err := onDemand(ctx, log, "Karpenter", karpenterProgram, func(s source, to string) error {
		if err := s.copyCRDs(ctx, crdsOf(to)); err != nil {
			return err
		}
		return s.compile(ctx, log, karpenterFolder, "build", "-ldflags", "-s -w", "-o", to, "sigs.k8s.io/karpenter/kwok")
	})
	return err
}

// copyCRDs gathers the types that Karpenter brings: NodePool, NodeClaim and NodeOverlay, CapacityBuffer, and those of its provider.
func (s source) copyCRDs(ctx context.Context, target string) error {
	module, err := goOutput(ctx, filepath.Join(s.module, karpenterFolder), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter")
	if err != nil {
		return fmt.Errorf("test bed: find the types of Karpenter: %w", err)
	}
	var files []string
	for _, folder := range []string{"pkg/apis/crds", "kwok/apis/crds"} {
		found, _ := filepath.Glob(filepath.Join(module, folder, "*.yaml")) // The pattern is good.
		if len(found) == 0 {
			return fmt.Errorf("test bed: there are no types of Karpenter in %s; has a new version moved them?", filepath.Join(module, folder))
		}
		files = append(files, found...)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("test bed: read a type of Karpenter: %w", err)
		}
		all = append(append(all, "\n---\n"...), bytes.TrimPrefix(text, []byte("---\n"))...)
	}
	if err := os.WriteFile(target, all, 0o644); err != nil {
		return fmt.Errorf("test bed: write the types of Karpenter: %w", err)
	}
	return nil
}

// karpenterBuilt returns the path of Karpenter, and whether it is there.
func karpenterBuilt(ctx context.Context) (program string, ok bool) {
	dir, ok := Built()
	if !ok {
		return "", false
	}
	s, err := findSource(ctx)
	if err != nil {
		return "", false
	}
	name, err := karpenterProgram(s)
	if err != nil {
		return "", false
	}
	program = filepath.Join(dir, name)
	_, err = os.Stat(program)
	return program, err == nil
}

// SkipUnlessKarpenter skips the test unless FAIRLEAD_KARPENTER=require: tests with an autoscaler are for `make karpenter`, as each takes
// minutes in which nodes come and go.
func SkipUnlessKarpenter(tb testing.TB) {
	tb.Helper()
	if os.Getenv("FAIRLEAD_KARPENTER") != "require" {
		tb.Skip("run `make karpenter` for tests with Karpenter")
	}
	SkipUnlessBuilt(tb)
	if _, ok := karpenterBuilt(tb.Context()); !ok {
		tb.Fatalf("Karpenter is not built, and FAIRLEAD_KARPENTER=require; %s", howToBuildKarpenter)
	}
}

// StartKarpenter starts Karpenter with these feature gates, as its flag has them, and waits until it is ready. Its types are there then. It needs the
// controller manager and kwok. Unlike all else here it listens on every address, as it has no flag for that.
func StartKarpenter(ctx context.Context, b *Bed, gates string) error {
	program, ok := karpenterBuilt(ctx)
	if !ok {
		return fmt.Errorf("test bed: start Karpenter: it is not built; %s", howToBuildKarpenter)
	}
	if err := Kubectl(ctx, b, "", "create", "-f", crdsOf(program)); err != nil {
		return err
	}
	if err := Kubectl(ctx, b, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=1m"); err != nil {
		return err
	}
	args := []string{
		"--disable-leader-election=true", "--metrics-port=0", fmt.Sprintf("--health-probe-port=%d", b.ports.karpenter),
	}
	if gates != "" {
		args = append(args, "--feature-gates="+gates)
	}
	c := exec.Command(program, args...) //nolint:noctx // It outlives the call that starts it.
	c.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig(Karpenter))
	p, err := b.launch(b.forker, karpenterName, c)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/readyz", b.ports.karpenter)
	return b.await(ctx, p, func(ctx context.Context) error { return get(ctx, url, "ok") })
}

// Kubectl runs kubectl as the administrator, with that input.
func Kubectl(ctx context.Context, b *Bed, input string, args ...string) error {
	c := exec.CommandContext(ctx, b.Program("kubectl"), slices.Insert(args, 0, "--kubeconfig="+b.Kubeconfig(Admin))...)
	c.Stdin = strings.NewReader(input)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("test bed: kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
