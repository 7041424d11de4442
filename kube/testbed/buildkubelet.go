package testbed

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// The kubelet is built on demand: most machines cannot use it, and it is a minute of compiling that nothing else
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
	name := func(source) (string, error) { return kubeletName, nil }
	_, err := onDemand(ctx, log, "the kubelet", name, func(s source, to string) error {
		flags, err := s.linkerFlags(ctx)
		if err != nil {
			return err
		}
		return s.compile(ctx, log, ".", "build", "-ldflags", flags, "-o", to, "k8s.io/kubernetes/cmd/kubelet")
	})
	return err
}
