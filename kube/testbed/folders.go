package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A bed that dies by SIGKILL cannot remove its temporary folders, and those on
// tmpfs hold memory until the machine restarts. Their names therefore say whose
// they are, and the next bed removes those of processes that are no more.

const (
	folderPrefix = "fairlead-testbed-"
	tmpfs        = "/dev/shm"
)

func (b *Bed) makeFolders() (err error) {
	sweep(os.TempDir())
	sweep(tmpfs)
	sweepCgroups()
	if b.options.Dir == "" {
		b.dir, err = makeTemp(os.TempDir())
	} else {
		b.dir, err = makeEmpty(b.options.Dir)
	}
	if err != nil {
		return err
	}
	if b.options.Tmpfs {
		b.data, err = makeTemp(tmpfs)
		return err
	}
	b.data = b.path("etcd")
	return nil
}

// removeFolders leaves a folder that was given, but not the data in it.
func (b *Bed) removeFolders() error {
	err := os.RemoveAll(b.data)
	if b.options.Dir == "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	if err != nil {
		return fmt.Errorf("test bed: remove its data: %w", err)
	}
	return nil
}

func makeTemp(root string) (string, error) {
	dir, err := os.MkdirTemp(root, fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("test bed: create a temporary folder: %w", err)
	}
	return dir, nil
}

// makeEmpty returns the absolute path, because a kubeconfig takes relative ones
// to begin at itself.
func makeEmpty(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("test bed: find its folder: %w", err)
	}
	if err := os.MkdirAll(absolute, 0o755); err != nil {
		return "", fmt.Errorf("test bed: create its folder: %w", err)
	}
	entries, err := os.ReadDir(absolute)
	if err != nil {
		return "", fmt.Errorf("test bed: look into its folder: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("test bed: its folder %s is not empty; give another or remove it", absolute)
	}
	return absolute, nil
}

// sweep removes the temporary folders of dead processes. What it cannot remove
// belongs to another user, who will.
func sweep(root string) {
	for _, folder := range orphans(root) {
		_ = os.RemoveAll(folder)
	}
}

// sweepCgroups does the same for the control groups of real nodes.
func sweepCgroups() {
	roots, _ := hierarchies() // Where there are none, nothing is left in them.
	for root := range roots {
		for _, group := range orphans(root) {
			_ = removeCgroup(group)
		}
	}
}

// orphans lists the folders whose owner is no more.
func orphans(root string) []string {
	folders, _ := filepath.Glob(filepath.Join(root, folderPrefix+"*")) // The pattern is good.
	return slices.DeleteFunc(folders, func(folder string) bool {
		name := strings.TrimPrefix(filepath.Base(folder), folderPrefix)
		owner, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(owner)
		return err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}
