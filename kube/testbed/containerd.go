package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// The containerd of a node has nothing in common with one that the machine may
// run: its own socket, state and images, all in the folder of the bed.

// SleeperImage is the image that every node has, under a name that no registry
// would answer to.
const SleeperImage = "fairlead.test/sleeper:1"

// writeContainerdConfig writes it in version 2 of the format, which containerd
// 1.x and 2.x both read.
func (k *Kubelet) writeContainerdConfig(ctx context.Context) error {
	snapshotter, err := k.snapshotter(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`version = 2
root = %q
state = %q
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  # In a container, root may not lower the score below its own.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = %q
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = %q
    bin_dir = %q
`, k.path("containerd"), k.path("run/containerd"), k.socket(), SleeperImage, snapshotter, k.path("cni"), k.path("cni"))
	if err := os.WriteFile(k.path("containerd.toml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("test bed: write the configuration of containerd: %w", err)
	}
	// A node is ready only with a network, and a network is a file that names a
	// plugin. Pods on the network of the host never call it.
	const network = `{"cniVersion":"0.4.0","name":"none","plugins":[{"type":"none"}]}`
	if err := os.WriteFile(k.path("cni/none.conflist"), []byte(network), 0o600); err != nil {
		return fmt.Errorf("test bed: write the network of containerd: %w", err)
	}
	return nil
}

// snapshotter is how containerd puts layers together: overlayfs, as everywhere,
// or copies where the kernel or the file system of the folder refuses that.
func (k *Kubelet) snapshotter(ctx context.Context) (string, error) {
	for _, folder := range []string{"try/lower", "try/upper", "try/work", "try/whole"} {
		if err := os.MkdirAll(k.path(folder), 0o755); err != nil {
			return "", fmt.Errorf("test bed: make folders to try overlayfs: %w", err)
		}
	}
	c := exec.CommandContext(ctx, "sh", "-ec", `
mount --make-rprivate /
cd "$1"
mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none whole
`, "sh", k.path("try"))
	c.SysProcAttr = ownNamespaces()
	if c.Run() != nil {
		return "native", nil
	}
	return "overlayfs", nil
}

func (k *Kubelet) socket() string { return k.path("containerd.sock") }

// ctr runs containerd's own client in the kubelet's namespace.
func (k *Kubelet) ctr(ctx context.Context, args ...string) error {
	all := append([]string{"--address", k.socket(), "--namespace", "k8s.io"}, args...)
	return output(exec.CommandContext(ctx, "ctr", all...))
}

// load puts an image on the node, unpacked.
func (k *Kubelet) load(ctx context.Context, i image) error {
	archive := k.path("image.tar")
	if err := i.writeLayout(archive); err != nil {
		return err
	}
	defer os.Remove(archive) //nolint:errcheck // It goes with the bed anyway.
	return k.LoadImage(ctx, archive)
}

// LoadImage puts the image of an archive on the node, unpacked, under the name that the archive has for it.
func (k *Kubelet) LoadImage(ctx context.Context, archive string) error {
	if err := k.ctr(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("test bed: load image %s: %w", archive, err)
	}
	return nil
}
