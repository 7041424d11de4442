package testbed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// One node of the bed can be real: a kubelet and a containerd that run
// containers on this machine. They must leave nothing on it, though they mount,
// change kernel settings and start processes that are meant to outlive them. So
// they live in a namespace of processes and one of mounts, whose first process
// is the kubelet: when it ends, for whatever reason, the kernel ends every
// container and takes every mount away. What the two write to fixed places
// lands in the folder of the node, which is mounted there. Only control groups
// remain to be removed; see cgroups.go.

// Kubelet is a real node.
type Kubelet struct {
	Name   string // of the node
	suffix string // of the names of its processes and their logs
	more   string // of its configuration
	bed    *Bed
	forker forker // of its processes
	dir    string // all that it writes, except logs

	program []byte       // what its containers run
	leave   func() error // leaves the network that the node has of its own; nil if it has none
}

const (
	kubeletName    = "kubelet"
	containerdName = "containerd"
)

// nodeScript prepares the namespaces and becomes the kubelet. Its arguments are
// the folder, containerd's log, the name of the node and the kubelet's command line. The kubelet sets
// the kernel's settings to its liking; it gets copies.
const nodeScript = `
dir=$1 log=$2 name=$3
shift 3
mount --make-rprivate /
mount -t proc proc /proc
echo "$name" >/proc/sys/kernel/hostname
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
	mkdir -p "$dir/sys/${setting%/*}"
	cat "/proc/sys/$setting" >"$dir/sys/$setting"
	mount --bind "$dir/sys/$setting" "/proc/sys/$setting"
done
mount --bind "$dir/run" /run
mount --bind "$dir/lib" /var/lib
mount --bind "$dir/log" /var/log
containerd --config "$dir/containerd.toml" >>"$log" 2>&1 &
until [ -S "$dir/containerd.sock" ]; do
	kill -0 $! # Or it has ended, and so does this.
	sleep 0.02
done
exec "$@"
`

// hiddenFolders are those that nodeScript mounts over.
func hiddenFolders() []string { return []string{"/run", "/var/lib", "/var/log"} }

// StartKubelet adds a real node and waits until it is ready. It has the image
// SleeperImage; its pods need hostNetwork, as there is no other network. It
// needs what CanRunContainers looks for, and the program of BuildKubelet.
func (b *Bed) StartKubelet(ctx context.Context) (*Kubelet, error) {
	return (&Kubelet{Name: "real-node", bed: b, forker: b.forker}).start(ctx)
}

// start starts the node, and returns it.
func (k *Kubelet) start(ctx context.Context) (*Kubelet, error) {
	if err := CanRunContainers(ctx); err != nil {
		return nil, fmt.Errorf("test bed: this machine cannot run containers: %w", err)
	}
	err := k.prepare()
	if err != nil {
		return nil, err
	}
	if k.program, err = buildSleeper(ctx, k.dir); err != nil {
		return nil, err
	}
	i, err := newImage(SleeperImage, k.program, 0)
	if err != nil {
		return nil, err
	}
	if err := k.writeContainerdConfig(ctx); err != nil {
		return nil, err
	}
	p, err := k.run()
	if err != nil {
		return nil, err
	}
	loaded := false
	err = k.bed.await(ctx, p, func(ctx context.Context) error {
		if !loaded {
			if err := k.load(ctx, i); err != nil {
				return err
			}
			loaded = true
		}
		return k.ready(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, logTail(k.log(containerdName)))
	}
	return k, nil
}

// log is the path of what a process of the node prints.
func (k *Kubelet) log(process string) string { return k.bed.path(process + k.suffix + ".log") }

// prepare makes the folders and control groups, which Close removes.
func (k *Kubelet) prepare() (err error) {
	if k.dir, err = makeTemp(os.TempDir()); err != nil {
		return err
	}
	b := k.bed
	b.mu.Lock()
	b.kubelets = append(b.kubelets, k)
	b.mu.Unlock()
	for _, hidden := range hiddenFolders() {
		for _, path := range []string{k.dir, b.programs} {
			if path = filepath.Clean(path); strings.HasPrefix(path, hidden+"/") {
				return fmt.Errorf("test bed: the node has a %s of its own and would not see %s; set TMPDIR and %s to folders elsewhere", hidden, path, cacheEnv)
			}
		}
	}
	for _, folder := range []string{"run", "lib", "log", "cni", staticFolder} {
		if err := os.Mkdir(k.path(folder), 0o755); err != nil {
			return fmt.Errorf("test bed: make the folders of the node: %w", err)
		}
	}
	return makeCgroups(k.cgroup())
}

// run starts the kubelet and, below it, containerd.
func (k *Kubelet) run() (*process, error) {
	b := k.bed
	program := b.Program(kubeletName)
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("test bed: the kubelet is not built; " + howToBuildKubelet)
	}
	config, err := b.writeConfig(kubeletName+k.suffix, k.config())
	if err != nil {
		return nil, err
	}
	c := exec.Command("sh", "-ec", nodeScript, "sh", k.dir, k.log(containerdName), k.Name, //nolint:noctx // It outlives the call.
		program, "--config="+config, "--kubeconfig="+b.Kubeconfig(KubeletUser), "--hostname-override="+k.Name,
		"--node-ip=127.0.0.1", "--root-dir="+k.path("lib/kubelet"), "--cert-dir="+k.path("certificates"))
	c.SysProcAttr = ownNamespaces()
	return b.launch(k.forker, kubeletName+k.suffix, c)
}

// config is the kubelet's. It neither defends the machine's memory and disk,
// which others use too, nor its own processes; it never touches iptables; and
// nobody may call it.
func (k *Kubelet) config() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %d
healthzPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: "unix://%s"
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
makeIPTablesUtilChains: false
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%"}
imageGCHighThresholdPercent: 100
resolvConf: ""
volumePluginDir: %q
staticPodPath: %q
%s`, k.bed.ports.kubelet, k.socket(), k.cgroup(), k.path("plugins"), k.path(staticFolder), k.more)
}

// staticFolder has the manifests of pods that the kubelet runs by itself.
const staticFolder = "static"

// RunStatic has the kubelet run a pod that it was not told of by the API server.
func (k *Kubelet) RunStatic(name string, manifest []byte) error {
	if err := os.WriteFile(filepath.Join(k.path(staticFolder), name+".yaml"), manifest, 0o600); err != nil {
		return fmt.Errorf("test bed: write the manifest of a static pod: %w", err)
	}
	return nil
}

// ready says why the node is not.
func (k *Kubelet) ready(ctx context.Context) error {
	client, err := k.bed.Client(Admin)
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("node %s has the taints %v", k.Name, node.Spec.Taints)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready: %+v", k.Name, node.Status.Conditions)
}

// remove takes away what the end of the kubelet left.
func (k *Kubelet) remove() error {
	err := errors.Join(removeCgroups(k.cgroup()), os.RemoveAll(k.dir))
	if k.leave != nil {
		err = errors.Join(err, k.leave())
	}
	return err
}

// cgroup is the group of all pods. It has the name of the folder, which says
// whose it is.
func (k *Kubelet) cgroup() string { return filepath.Base(k.dir) }

func (k *Kubelet) path(name string) string { return filepath.Join(k.dir, name) }
