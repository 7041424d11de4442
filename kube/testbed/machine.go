package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// Containers ask more of a machine than the rest of the bed does: root, programs
// of the system's packages, and a kernel that lets them have namespaces and
// control groups. Whether it can is tried and not guessed, because inside
// containers and sandboxes any of it may be missing.

// CanRunContainers returns nil where StartKubelet can work, and otherwise an
// error that says all that is missing.
func CanRunContainers(ctx context.Context) error {
	if uid := os.Geteuid(); uid != 0 {
		// Whatever else is missing, only root can see.
		return fmt.Errorf("containers need root, and this is user %d", uid)
	}
	var missing []string
	for _, program := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "mount", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	var all []error
	if len(missing) > 0 {
		all = append(all, fmt.Errorf("not in PATH: %s; on Debian, `apt-get install containerd runc`", strings.Join(missing, ", ")))
	}
	// Without it the kubelet ends: it learns there whom the kernel killed for
	// memory.
	if err := canOpen("/dev/kmsg"); err != nil {
		all = append(all, fmt.Errorf("the kubelet needs the kernel's log: %w", err))
	}
	return errors.Join(append(all, canNamespace(ctx), canGroup())...)
}

func canOpen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// canNamespace tries the mounts, the name and the network that the node begins with.
func canNamespace(ctx context.Context) error {
	c := exec.CommandContext(ctx, "sh", "-ec", "mount --make-rprivate /; mount -t proc proc /proc; mount -t tmpfs none /var/log; echo node >/proc/sys/kernel/hostname")
	c.SysProcAttr = ownNamespaces()
	c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET // as a node apart from the machine has
	if err := output(c); err != nil {
		return fmt.Errorf("processes and mounts cannot be kept apart: %w", err)
	}
	return nil
}

// canGroup tries to make a control group wherever the kubelet will.
func canGroup() error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s%d-try-", folderPrefix, os.Getpid())
	missing := map[string]bool{"cpu": true, "cpuset": true, "memory": true, "pids": true}
	for root, controllers := range roots {
		for _, c := range controllers {
			delete(missing, c)
		}
		path, err := os.MkdirTemp(root, name) // as two nodes may begin at once
		if err != nil {
			return fmt.Errorf("control groups cannot be made: %w", err)
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("control groups cannot be removed: %w", err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the kubelet needs controllers of control groups that are not mounted: %v", slices.Sorted(maps.Keys(missing)))
	}
	return nil
}

// ownNamespaces are those of a node: its processes, mounts and name.
func ownNamespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS}
}
