package testbed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// All control groups of a node are below one that is named after the bed's
// folder, in every hierarchy: with version 1 there is one for each controller,
// with version 2 there is one, and "hybrid" systems have both kinds. Unlike
// processes and mounts they do not go with a namespace and are removed by name.

const controllersFile = "cgroup.controllers" // which only version 2 has

// hierarchies lists where control groups are mounted, each with its controllers.
// Version 1 names them among the options of the mount, version 2 in a file.
func hierarchies() (map[string][]string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("find the control groups: %w", err)
	}
	controllers := map[string][]string{}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		switch root := f[1]; f[2] {
		case "cgroup":
			controllers[root] = strings.Split(f[3], ",")
		case "cgroup2":
			// Without the file there are none.
			text, _ := os.ReadFile(filepath.Join(root, controllersFile))
			controllers[root] = strings.Fields(string(text))
		}
	}
	if len(controllers) == 0 {
		return nil, errors.New("no control groups are mounted; most systems have them in /sys/fs/cgroup")
	}
	return controllers, nil
}

// makeCgroups makes the group in every hierarchy.
func makeCgroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return fmt.Errorf("test bed: %w", err)
	}
	for root, controllers := range roots {
		path := filepath.Join(root, name)
		// One hierarchy may be mounted at two places.
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("test bed: make a control group: %w", err)
		}
		if err := allow(root, path, controllers); err != nil {
			return fmt.Errorf("test bed: prepare the control group %s: %w", path, err)
		}
	}
	return nil
}

// allow hands down what a new group does not inherit: in version 1 the
// processors and memory that its processes may use, in version 2 the
// controllers themselves.
func allow(root, path string, controllers []string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // Another controller's, or version 2.
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(path, file), value, 0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(root, controllersFile)); err != nil {
		return nil //nolint:nilerr // Version 1.
	}
	for _, name := range controllers {
		// Refused where processes live in the root, as in a container; those
		// that the kubelet cannot do without it asks for again and says so.
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+name), 0o644)
	}
	return nil
}

// removeCgroups removes the groups of that name and all below them. No process
// may be left in them.
func removeCgroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return fmt.Errorf("test bed: %w", err)
	}
	var all []error
	for root := range roots {
		all = append(all, removeCgroup(filepath.Join(root, name)))
	}
	return errors.Join(all...)
}

// removeCgroup removes folders alone: the files in them are the kernel's.
func removeCgroup(path string) error {
	var folders []string
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("test bed: find the control groups to remove: %w", err)
	}
	slices.Reverse(folders) // The deeper ones first.
	for _, folder := range folders {
		if err := removeEmpty(folder); err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty gives the kernel a moment to notice that the last process of a
// group has gone.
func removeEmpty(folder string) error {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := os.Remove(folder)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			processes, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs")) // Only to tell.
			return fmt.Errorf("test bed: remove a control group; the processes in it are %q: %w", bytes.Fields(processes), err)
		}
	}
}
