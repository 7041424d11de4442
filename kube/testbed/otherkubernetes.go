package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Beds run the Kubernetes whose libraries the front end links, unless a variable names another one, whose control plane is built on demand. It is
// built from a module that is written for it and thrown away: upstream's go.mod, in which the modules of its own repository are taken from the module
// proxy in place of folders, and upstream's go.sum. etcd, kwok and kubectl are the same for all.

// KubernetesEnv names the variable that says which Kubernetes beds run, such as v1.36.3.
const KubernetesEnv = "FAIRLEAD_TESTBED_KUBERNETES"

// ofKubernetes are the programs that another Kubernetes has of its own.
func ofKubernetes() []string {
	return []string{apiServer, "kube-controller-manager", "kube-scheduler"}
}

// Kubernetes is the version that beds run, empty for the one that go.mod requires.
func Kubernetes() string { return os.Getenv(KubernetesEnv) }

// Before tells whether beds run a Kubernetes before 1.MINOR, which does not know the flags that came with that.
func Before(minor int) bool {
	number := strings.SplitN(Kubernetes(), ".", 3)
	if len(number) != 3 {
		return false
	}
	has, err := strconv.Atoi(number[1])
	return err == nil && has < minor
}

func howToBuildKubernetes() string {
	if version := Kubernetes(); version != "" {
		return fmt.Sprintf("run `go run ./cmd/fairlead-testbed build --kubernetes %s` in the folder kube (10 to 20 minutes the first time)", version)
	}
	return howToBuild
}

// kubernetesFolder is where the programs of a version are, in the folder of all others.
func kubernetesFolder(version string) string { return "kubernetes-" + version }

// program is the path of a built program, in the folder of all or in that of the Kubernetes that beds run.
func program(dir, name string) string {
	if version := Kubernetes(); version != "" && slices.Contains(ofKubernetes(), name) {
		return filepath.Join(dir, kubernetesFolder(version), name)
	}
	return filepath.Join(dir, name)
}

// BuildKubernetes compiles what is not there yet: the programs of Build, and the control plane of that version, of which v1.36 is the newest
// patch. It returns the exact version.
func BuildKubernetes(ctx context.Context, log io.Writer, version string) (exact string, err error) {
	from, err := findKubernetes(ctx, version)
	if err != nil {
		return "", err
	}
	name := func(source) (string, error) { return kubernetesFolder(from.Version), nil }
	_, err = onDemand(ctx, log, "Kubernetes "+from.Version, name, func(_ source, to string) error { return from.build(ctx, log, to) })
	return from.Version, err
}

// release is a version of Kubernetes in the module cache, as the go command tells of it.
type release struct{ Version, Dir string }

func findKubernetes(ctx context.Context, version string) (release, error) {
	var found struct {
		release
		Error string // with which the go command fails
	}
	// In a folder of no module, whose requirements would have a say.
	out, err := goOutput(ctx, os.TempDir(), "mod", "download", "-json", "k8s.io/kubernetes@"+version)
	unread := json.Unmarshal([]byte(out), &found)
	switch {
	case found.Error != "":
		return release{}, fmt.Errorf("test bed: find Kubernetes %s: %s; want a version such as v1.36.3, or v1.36 for the newest patch", version, found.Error)
	case err != nil:
		return release{}, fmt.Errorf("test bed: find Kubernetes %s: %w", version, err)
	case unread != nil:
		return release{}, fmt.Errorf("test bed: find Kubernetes %s: read what the go command says: %w", version, unread)
	}
	return found.release, nil
}

// build compiles the programs into a folder.
func (r release) build(ctx context.Context, log io.Writer, to string) error {
	if err := os.RemoveAll(to); err != nil { // what an earlier build left that did not end
		return fmt.Errorf("test bed: clear the folder to build Kubernetes in: %w", err)
	}
	dir, err := os.MkdirTemp("", "fairlead-kubernetes-")
	if err != nil {
		return fmt.Errorf("test bed: create a module for Kubernetes: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // Litter in a temporary folder.
	if err := r.writeModule(dir); err != nil {
		return err
	}
	flags, err := linkerFlags(r.Version)
	if err != nil {
		return err
	}
	// Upstream's go.sum lacks the modules that upstream takes from folders.
	args := []string{"build", "-mod=mod", "-ldflags", flags, "-o", to + string(filepath.Separator)}
	for _, name := range ofKubernetes() {
		args = append(args, "k8s.io/kubernetes/cmd/"+name)
	}
	return compile(ctx, log, dir, args...)
}

// writeModule writes a module that has Kubernetes build as upstream builds it.
func (r release) writeModule(dir string) error {
	mod, err := os.ReadFile(filepath.Join(r.Dir, "go.mod"))
	if err != nil {
		return fmt.Errorf("test bed: read what Kubernetes requires: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(r.Dir, "go.sum"))
	if err != nil {
		return fmt.Errorf("test bed: read the sums of what Kubernetes requires: %w", err)
	}
	text, err := moduleOf(string(mod), r.Version)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("test bed: write a module for Kubernetes: %w", err)
		}
	}
	return nil
}

// moduleOf is the go.mod of a module that requires what upstream's does, and Kubernetes itself.
func moduleOf(upstream, version string) (string, error) {
	patch, isFirst := strings.CutPrefix(version, "v1.")
	folder := regexp.MustCompile(`(?m)=> \./staging/src/(\S+)$`)
	name := regexp.MustCompile(`(?m)^module k8s\.io/kubernetes$`)
	if !isFirst || !folder.MatchString(upstream) || !name.MatchString(upstream) {
		return "", fmt.Errorf("test bed: write a module for Kubernetes %s: its go.mod is not as those of 1.35 to 1.37", version)
	}
	upstream = folder.ReplaceAllString(upstream, "=> $1 v0."+patch)
	upstream = name.ReplaceAllString(upstream, "module fairlead.dev/fairlead/kube/testbed/kubernetes")
	return upstream + "\nrequire k8s.io/kubernetes " + version + "\n", nil
}
