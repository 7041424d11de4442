package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The programs are built from Go modules: Kubernetes from the module that this
// package belongs to, so that the bed runs the version whose libraries the
// front end links, etcd and kwok from two small modules of their own, because
// their dependencies do not agree with Kubernetes'. What was built is kept in a
// folder named after the hash of all versions that the go.mod files say and of
// Go's: other versions are another folder, never a stale binary. A folder
// appears by a rename and is therefore complete.

// cacheEnv names the variable that moves the cache.
const cacheEnv = "FAIRLEAD_TESTBED_CACHE"

// Built returns the folder of the programs and whether they are there, those of the Kubernetes that beds run among them.
func Built() (dir string, ok bool) {
	s, err := findSource(context.Background())
	if err != nil {
		return "", false
	}
	return s.target, isDir(s.target) && isDir(filepath.Dir(program(s.target, apiServer)))
}

// Build compiles the programs unless they are there, and returns their folder.
// It takes eight to ten minutes on two cores when Go's build cache is empty.
// Progress goes to log.
func Build(ctx context.Context, log io.Writer) (dir string, err error) {
	s, err := findSource(ctx)
	if err != nil {
		return "", err
	}
	if isDir(s.target) {
		return s.target, nil
	}
	root := filepath.Dir(s.target)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("test bed: create the cache; set %s to a writable folder: %w", cacheEnv, err)
	}
	unlock, err := lock(ctx, filepath.Join(root, "lock"), log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(s.target) { // Another process built while this one waited.
		return s.target, nil
	}
	temp, err := os.MkdirTemp(root, "building-")
	if err != nil {
		return "", fmt.Errorf("test bed: create a folder to build in: %w", err)
	}
	defer os.RemoveAll(temp) //nolint:errcheck // It is gone when the build succeeded, and litter otherwise.
	if err := s.build(ctx, temp, log); err != nil {
		return "", err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", fmt.Errorf("test bed: open the built folder to other users: %w", err)
	}
	if err := os.Rename(temp, s.target); err != nil {
		return "", fmt.Errorf("test bed: put the built programs in place: %w", err)
	}
	return s.target, nil
}

// source is where the programs are built from and where they go.
type source struct {
	module string // the folder of kube's go.mod
	target string // the folder of the built programs
}

// findSource asks the go command, because only it knows where the module is.
func findSource(ctx context.Context) (source, error) {
	module, err := goOutput(ctx, ".", "list", "-m", "-f", "{{.Dir}}", "fairlead.dev/fairlead/kube")
	if err != nil {
		return source{}, fmt.Errorf("test bed: find its source; run this inside the folder kube of Fairlead: %w", err)
	}
	version, err := goOutput(ctx, module, "version")
	if err != nil {
		return source{}, fmt.Errorf("test bed: ask for the Go version: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, version)
	for _, folder := range []string{".", "testbed/etcd", "testbed/kwok"} {
		mod, err := os.ReadFile(filepath.Join(module, folder, "go.mod"))
		if err != nil {
			return source{}, fmt.Errorf("test bed: read the versions to build: %w", err)
		}
		fmt.Fprintln(hash, versions(string(mod)))
	}
	root := os.Getenv(cacheEnv)
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return source{}, fmt.Errorf("test bed: find the user's cache; set %s to a folder: %w", cacheEnv, err)
		}
		root = filepath.Join(cache, "fairlead-testbed")
	}
	// The go command that gets this path runs in another folder.
	if root, err = filepath.Abs(root); err != nil {
		return source{}, fmt.Errorf("test bed: find the cache: %w", err)
	}
	key := hex.EncodeToString(hash.Sum(nil))[:12]
	return source{module: module, target: filepath.Join(root, key)}, nil
}

// versions is what a go.mod says, however it is arranged: `go mod tidy` moves
// lines and comments when an import of ours comes or goes, and that should not
// cost a build. Lines of go.sum would add nothing, as each follows from a version.
func versions(mod string) []string {
	var lines []string
	for line := range strings.Lines(mod) {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// build compiles everything into dir.
func (s source) build(ctx context.Context, dir string, log io.Writer) error {
	// Flags of the linker only: whatever changes how packages are compiled,
	// such as -trimpath, would compile Kubernetes a second time beside the
	// packages that `go test` has in the build cache.
	flags, err := s.linkerFlags(ctx)
	if err != nil {
		return err
	}
	kubernetes := []string{
		"build", "-ldflags", flags, "-o", dir + string(filepath.Separator),
		"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager",
		"k8s.io/kubernetes/cmd/kube-scheduler", "k8s.io/kubernetes/cmd/kubectl",
	}
	etcd := []string{"build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "etcd"), "go.etcd.io/etcd/server/v3"}
	kwok := []string{"build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "kwok"), "sigs.k8s.io/kwok/cmd/kwok"}
	for _, step := range []struct {
		name, folder string
		args         []string
	}{
		{"etcd", "testbed/etcd", etcd},
		{"kwok", "testbed/kwok", kwok},
		{"kube-apiserver, kube-controller-manager, kube-scheduler and kubectl", ".", kubernetes},
	} {
		fmt.Fprintf(log, "building %s\n", step.name)
		began := time.Now()
		c := goCommand(ctx, filepath.Join(s.module, step.folder), step.args...)
		c.Stdout, c.Stderr = log, log
		if err := c.Run(); err != nil {
			return fmt.Errorf("test bed: build %s in %s; the go command's words are above: %w", step.name, c.Dir, err)
		}
		fmt.Fprintf(log, "built in %s\n", time.Since(began).Round(time.Second))
	}
	return s.copyStages(ctx, filepath.Join(dir, stagesFile))
}

// OwnKubernetes is the version of Kubernetes that go.mod requires.
func OwnKubernetes(ctx context.Context) (string, error) {
	s, err := findSource(ctx)
	if err != nil {
		return "", err
	}
	return s.kubernetes(ctx)
}

func (s source) kubernetes(ctx context.Context) (string, error) {
	version, err := goOutput(ctx, s.module, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return "", fmt.Errorf("test bed: ask for the version of Kubernetes: %w", err)
	}
	return version, nil
}

// linkerFlags makes the programs tell the version of Kubernetes that go.mod
// says.
func (s source) linkerFlags(ctx context.Context) (string, error) {
	version, err := s.kubernetes(ctx)
	if err != nil {
		return "", err
	}
	return linkerFlags(version)
}

// linkerFlags makes programs of Kubernetes tell its version; clients and feature
// gates read it.
func linkerFlags(version string) (string, error) {
	number := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(number) != 3 {
		return "", fmt.Errorf("test bed: the version of k8s.io/kubernetes is %q, want v1.MINOR.PATCH", version)
	}
	const variable = " -X k8s.io/component-base/version."
	return "-s -w" + variable + "gitVersion=" + version + variable + "gitMajor=" + number[0] + variable + "gitMinor=" + number[1], nil
}

// stagesFile is the configuration of kwok, which does nothing without one.
const stagesFile = "kwok-stages.yaml"

// copyStages gathers what kwok ships: nodes become ready and renew their
// leases, pods run at once, complete when they belong to a job, and go when they
// are deleted.
func (s source) copyStages(ctx context.Context, target string) error {
	module, err := goOutput(ctx, filepath.Join(s.module, "testbed/kwok"), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return fmt.Errorf("test bed: find the stages of kwok: %w", err)
	}
	var all []byte
	for _, name := range []string{
		"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		"pod/fast/pod-ready.yaml", "pod/fast/pod-complete.yaml", "pod/fast/pod-delete.yaml",
	} {
		stage, err := os.ReadFile(filepath.Join(module, "kustomize/stage", name))
		if err != nil {
			return fmt.Errorf("test bed: read a stage of kwok; has a new version moved it?: %w", err)
		}
		all = append(all, "---\n"...)
		all = append(all, stage...)
	}
	if err := os.WriteFile(target, all, 0o644); err != nil {
		return fmt.Errorf("test bed: write the stages of kwok: %w", err)
	}
	return nil
}

// KubernetesSource is the folder of the source of the Kubernetes that go.mod requires, in the module cache.
func KubernetesSource(ctx context.Context) (dir string, err error) {
	s, err := findSource(ctx)
	if err != nil {
		return "", err
	}
	dir, err = goOutput(ctx, s.module, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	if err != nil {
		return "", fmt.Errorf("test bed: find the source of Kubernetes: %w", err)
	}
	if dir == "" {
		return "", fmt.Errorf("test bed: find the source of Kubernetes: it is not in the module cache; run `go mod download k8s.io/kubernetes` in %s", s.module)
	}
	return dir, nil
}

// goCommand prepares the go command in a folder. Workspaces are off: the small
// modules would not be part of one.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off")
	return c
}

// goOutput runs the go command and returns what it printed.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := goCommand(ctx, dir, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// lock waits until no other process builds. The kernel gives the lock back when
// its owner dies.
func lock(ctx context.Context, path string, log io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("test bed: open the lock: %w", err)
	}
	for said := false; ; said = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil //nolint:errcheck // Nothing was written.
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close() //nolint:errcheck // Nothing was written.
			return nil, fmt.Errorf("test bed: lock %s: %w", path, err)
		}
		if !said {
			fmt.Fprintf(log, "waiting for another process that builds (it holds %s)\n", path)
		}
		select {
		case <-ctx.Done():
			f.Close() //nolint:errcheck // Nothing was written.
			return nil, fmt.Errorf("test bed: wait for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
