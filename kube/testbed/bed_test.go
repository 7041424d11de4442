package testbed

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// childEnv makes TestBedDiesWithItsParent the parent that dies.
const childEnv = "FAIRLEAD_TESTBED_CHILD"

// Neither a process nor a file stays, and the logs stay exactly when a folder
// was given for them.
func TestCloseLeavesNothing(t *testing.T) {
	SkipUnlessBuilt(t)
	for _, given := range []bool{false, true} {
		t.Run(fmt.Sprintf("dir=%t", given), func(t *testing.T) {
			options := Options{Tmpfs: true}
			if given {
				options.Dir = filepath.Join(t.TempDir(), "bed")
			}
			b, err := Start(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			pids := b.PIDs()
			if len(pids) != 2 {
				t.Errorf("running: %v, want etcd and the API server", pids)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
			for name, pid := range pids {
				if alive(pid) {
					t.Errorf("%s, process %d, still runs", name, pid)
				}
			}
			if isDir(b.data) {
				t.Errorf("data stayed in %s", b.data)
			}
			if isDir(b.dir) != given {
				t.Errorf("the folder %s is there: %t, want %t", b.dir, !given, given)
			}
		})
	}
}

// The controllers, kwok and upstream's scheduler together run a Deployment's
// worth of pods.
func TestEverythingStarts(t *testing.T) {
	b := ForTest(t, Options{Tmpfs: true, ControllerManager: true, Kwok: true})
	client := clientOf(t, b, Admin)
	if err := AddNodes(t.Context(), client, NodeOptions{Count: 5, Taint: true, Labels: map[string]string{"rack": "a"}}); err != nil {
		t.Fatal(err)
	}
	if err := b.StartKubeScheduler(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	result, err := b.Measure(t.Context(), Load{Pods: 10, Via: Deployments, Feature: Spread, Replicas: 4})
	if err != nil {
		t.Fatal(err)
	}
	if result.Pods != 10 {
		t.Errorf("%d pods bound, want 10", result.Pods)
	}
	if err := Burden(t.Context(), b, Load{Name: "too-large", Pods: 3}); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			t.Fatal(err)
		}
		if len(pods.Items) == 10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of 10 pods run after 30 s", len(pods.Items))
		}
	}
}

func TestAPIServerKeepsItsDataAndPort(t *testing.T) {
	b := ForTest(t, Options{Tmpfs: true})
	client := clientOf(t, b, Admin)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := b.CPU()["kube-apiserver"]
	if err := b.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := b.Err(); err != nil {
		t.Errorf("a kill that was asked for is reported: %v", err)
	}
	if err := b.KillAPIServer(); err == nil {
		t.Error("the second kill of the API server found one")
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err == nil {
		t.Error("the API server answers after its death")
	}
	if err := b.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same client: address, certificate and token are the same.
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if after := b.CPU()["kube-apiserver"]; after <= before {
		t.Errorf("CPU time of the API server fell from %s to %s with its restart", before, after)
	}
}

// The user Fairlead has no rights but those that are granted.
func TestRolesAreEnforced(t *testing.T) {
	b := ForTest(t, Options{Tmpfs: true})
	client := clientOf(t, b, Fairlead)
	_, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("list nodes without a role: %v, want forbidden", err)
	}
	if err := b.Grant(t.Context(), Fairlead, "system:kube-scheduler"); err != nil {
		t.Fatal(err)
	}
	// The authorizer learns of the role by a watch.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("list nodes ten seconds after the grant: %v", err)
		}
	}
}

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	SkipUnlessBuilt(t)
	dir := filepath.Join(t.TempDir(), "bed")
	_, err := Start(t.Context(), Options{Tmpfs: true, Dir: dir, APIServerFlags: []string{"--no-such-flag"}})
	if err == nil {
		t.Fatal("the API server started with --no-such-flag")
	}
	for _, want := range []string{"kube-apiserver", "exit status 1", "unknown flag: --no-such-flag", "kube-apiserver.log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	own := fmt.Sprintf("%s%d-", folderPrefix, os.Getpid())
	if pids := mentioning(t, own); len(pids) > 0 {
		t.Errorf("processes of the bed still run: %v", pids)
	}
	if data, _ := filepath.Glob(filepath.Join(tmpfs, own+"*")); len(data) > 0 {
		t.Errorf("data stayed: %v", data)
	}
}

func TestFolderInUseIsRefused(t *testing.T) {
	SkipUnlessBuilt(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("start in a folder with files: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the refused folder was changed: %v", err)
	}
}

// A parent that is killed cannot clean up: the kernel ends its children, and the
// next bed removes its data. Where containers can run, one does.
func TestBedDiesWithItsParent(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		beParent(t)
		return
	}
	SkipUnlessBuilt(t)
	parent := exec.Command(os.Args[0], "-test.run=^TestBedDiesWithItsParent$")
	parent.Env = append(os.Environ(), childEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // It was killed.
	if !strings.HasPrefix(line, "running ") {
		t.Fatalf("the parent said %q, want that its bed runs", line)
	}
	own := fmt.Sprintf("%s%d-", folderPrefix, parent.Process.Pid)
	for deadline := time.Now().Add(5 * time.Second); len(mentioning(t, own)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("five seconds after their parent's death still run: %v", mentioning(t, own))
		}
	}
	sweep(tmpfs)
	sweep(os.TempDir())
	sweepCgroups()
	groups, _ := hierarchies() // Where there are none, nothing can stay.
	for _, root := range slices.Concat(slices.Collect(maps.Keys(groups)), []string{tmpfs, os.TempDir()}) {
		if data, _ := filepath.Glob(filepath.Join(root, own+"*")); len(data) > 0 {
			t.Errorf("the sweep left %v", data)
		}
	}
}

// beParent starts a bed, says so, and waits to be killed.
func beParent(t *testing.T) {
	t.Helper()
	b, err := Start(t.Context(), Options{Tmpfs: true})
	if err != nil {
		t.Fatal(err)
	}
	if CanRunContainers(t.Context()) == nil && KubeletBuilt() {
		k, err := b.StartKubelet(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pod, err := k.startPod(t.Context(), "orphan", SleeperImage)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.awaitBegin(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(os.Stdout, "running "+strconv.Itoa(os.Getpid()))
	time.Sleep(time.Minute)
}

func clientOf(t *testing.T, b *Bed, user User) *kubernetes.Clientset {
	t.Helper()
	client, err := b.Client(user)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// mentioning lists the processes whose command line contains a text.
func mentioning(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("no command lines in /proc: %v", err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), text) {
			found = append(found, file)
		}
	}
	return found
}
