package testbed

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The kubelet is built on demand, into the folder of the other programs: most
// machines cannot use it, and it is a minute of compiling that nothing else
// needs.

const howToBuildKubelet = "run `go run ./cmd/fairlead-testbed build --kubelet` in the folder kube"

// KubeletBuilt says whether the kubelet is there.
func KubeletBuilt() bool {
	dir, ok := Built()
	if !ok {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, kubeletName))
	return err == nil
}

// BuildKubelet compiles what is not there yet: the programs of Build and the
// kubelet.
func BuildKubelet(ctx context.Context, log io.Writer) error {
	dir, err := Build(ctx, log)
	if err != nil {
		return err
	}
	s, err := findSource(ctx)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(dir), "lock"), log)
	if err != nil {
		return err
	}
	defer unlock()
	target := filepath.Join(dir, kubeletName)
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	flags, err := s.linkerFlags(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(log, "building the kubelet")
	// Under another name first: whoever finds the program finds all of it.
	temp := target + ".building"
	c := goCommand(ctx, s.module, "build", "-ldflags", flags, "-o", temp, "k8s.io/kubernetes/cmd/kubelet")
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		return fmt.Errorf("test bed: build the kubelet in %s; the go command's words are above: %w", c.Dir, err)
	}
	if err := os.Rename(temp, target); err != nil {
		return fmt.Errorf("test bed: put the kubelet in place: %w", err)
	}
	return nil
}
