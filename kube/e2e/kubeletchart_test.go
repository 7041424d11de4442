package e2e

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file shows an installation as a cluster has it: Helm installs the chart, kube-scheduler places the pod of our scheduler, a kubelet runs our image, and our
// scheduler places pods that run.

// leaseOfRelease is how long the lease of the release lasts. A leader renews it every second, for which it may take up to 6.
const leaseOfRelease = 8 * time.Second

// TestChartOnKubelet is one story, because a bed, two nodes and an image take long to make.
func TestChartOnKubelet(t *testing.T) {
	skipIfShort(t)
	testbed.SkipUnlessContainers(t)
	archive := buildImage(t)
	bed := testbed.ForTest(t, testbed.Options{Tmpfs: true, ControllerManager: true})
	startTwoNodes(t, bed, archive)
	c := newCluster(t, bed)
	helm := c.helm()
	defer c.reportHowSchedulersEnded()
	c.must(bed.StartKubeScheduler(t.Context(), 50))

	// There is no network but the node's, and nobody who would forward what goes to the service of the API server.
	server, err := url.Parse(bed.Config(testbed.Admin).Host)
	c.must(err)
	values := filepath.Join(t.TempDir(), "values.yaml")
	c.must(os.WriteFile(values, fmt.Appendf(nil, `
replicas: 2
antiAffinity: required
config: {leaderElection: {leaseDuration: %s, renewDeadline: 6s, retryPeriod: 1s}}
hostNetwork: true
port: %s
image: {pullPolicy: Never}
environment:
- {name: KUBERNETES_SERVICE_HOST, value: %q}
- {name: KUBERNETES_SERVICE_PORT, value: %q}
`, leaseOfRelease, freePort(t), server.Hostname(), server.Port()), 0o600))
	helm("install", release, chartFolder, "--create-namespace", "--wait", "--timeout", "2m", "--values", values)
	for _, p := range c.schedulerPods() {
		if p.Spec.SchedulerName != v1.DefaultSchedulerName {
			t.Errorf("the pod %s of our scheduler was placed by %s", p.Name, p.Spec.SchedulerName)
		}
		checkConfined(t, &p)
	}
	leader := c.leaderOfRelease("")

	c.create(newPod("runs", inContainer, cpu("100m")))
	c.awaitReady("runs")
	if scheduled := c.events("Scheduled")["runs"]; len(scheduled) != 1 || scheduled[0].ReportingController != "fairlead" {
		t.Errorf("who says that pod runs was placed: %+v", scheduled)
	}

	// The role that the chart made suffices for classes and accounts.
	c.must(testbed.Kubectl(t.Context(), bed, goldClass("availability: 99%\n  namespaceSelector: {}"), "create", "-f", "-"))
	c.create(newPod("gold", inContainer, cpu("100m"), func(p *v1.Pod) { p.Labels["fairlead.dev/class"] = "gold" }))
	c.awaitReady("gold")
	client, err := dynamic.NewForConfig(bed.Config(testbed.Admin))
	c.must(err)
	c.await(time.Minute, func() string {
		accounts, err := client.Resource(scheduler.WorkloadAccounts()).Namespace(c.namespace).List(t.Context(), metav1.ListOptions{})
		c.must(err)
		if len(accounts.Items) == 0 {
			return "an account of pod gold"
		}
		return ""
	})

	second := c.deleteLeader(leader)
	c.killLeader(second)
	if leads := c.leaderOfRelease(""); nodeOf(leads) != nodeOf(leader) {
		t.Errorf("%s leads after %s was killed, want the one on the other node", leads, second)
	}

	// Who runs does not notice that it is taken away, and who comes waits, and says nothing.
	helm("uninstall", release, "--wait", "--timeout", "2m")
	c.create(newPod("late", inContainer, cpu("100m")))
	time.Sleep(2 * time.Second)
	if late := c.pod("late"); late.Spec.NodeName != "" || len(late.Status.Conditions) > 0 {
		t.Errorf("pod late is on %q, with the conditions %+v", late.Spec.NodeName, late.Status.Conditions)
	}
	c.checkNotTwice()
	for _, name := range []string{"runs", "gold", "second", "third"} {
		if p := c.pod(name); p.Status.Phase != v1.PodRunning || p.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("pod %s is %s: %+v", name, p.Status.Phase, p.Status.ContainerStatuses)
		}
	}
}

// buildImage makes the image as a release would, for this machine, and returns its archive.
func buildImage(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("this machine has no %s, and the base of the image is made of Debian's packages", program)
		}
	}
	output := filepath.Join(t.TempDir(), "image")
	began := time.Now()
	c := exec.CommandContext(t.Context(), "go", "run", ".", "--platforms", "linux/"+runtime.GOARCH, "--output", output)
	c.Dir = "../deploy/image"
	c.Env = append(os.Environ(), "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build the image: %v\n%s", err, out)
	}
	t.Logf("built the image in %s", time.Since(began).Round(time.Second))
	return filepath.Join(output, "image.tar")
}

// startTwoNodes starts two real nodes that have the image.
func startTwoNodes(t *testing.T, bed *testbed.Bed, archive string) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	for _, start := range []func(context.Context) (*testbed.Kubelet, error){
		bed.StartKubelet,
		func(ctx context.Context) (*testbed.Kubelet, error) { return testbed.StartKubeletApart(ctx, bed, "") },
	} {
		group.Go(func() error {
			k, err := start(ctx)
			if err != nil {
				return err
			}
			return k.LoadImage(ctx, archive)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// deleteLeader deletes the pod that leads, waits until the other one does and until there are two again, and says who leads. A pod that comes meanwhile runs.
func (c *cluster) deleteLeader(leader string) string {
	c.t.Helper()
	began := time.Now()
	c.must(c.client.CoreV1().Pods(systems).Delete(c.t.Context(), c.schedulerOn(nodeOf(leader)).Name, metav1.DeleteOptions{}))
	c.create(newPod("second", inContainer, cpu("100m")))
	next := c.leaderOfRelease(leader)
	c.t.Logf("%s leads %s after %s was deleted", next, time.Since(began).Round(100*time.Millisecond), leader)
	if nodeOf(next) == nodeOf(leader) {
		c.t.Errorf("%s follows %s, want the one on the other node, which was there already", next, leader)
	}
	c.awaitReady("second")
	c.schedulerPods()
	return next
}

// killLeader kills the process that leads, and whatever its kubelet starts in its place, until the other one leads, as it does when the lease has run out. A pod that comes
// meanwhile runs.
func (c *cluster) killLeader(leader string) {
	c.t.Helper()
	leads := c.schedulerOn(nodeOf(leader))
	began, kills := time.Now(), kill(c.t, leads)
	if kills == 0 {
		c.t.Fatalf("found no process of pod %s, with the UID %s", leads.Name, leads.UID)
	}
	c.create(newPod("third", inContainer, cpu("100m")))
	// The other one looks every second or two; what is beyond that is for a machine that is slow.
	c.await(leaseOfRelease+30*time.Second, func() string {
		kills += kill(c.t, leads)
		if holder := c.holder(); holder == leader || holder == "" {
			return "a leader other than " + leader
		}
		return ""
	})
	c.t.Logf("%s leads %s after %s was killed, %d times in all", c.holder(), time.Since(began).Round(100*time.Millisecond), leader, kills)
	c.awaitReady("third")
}

// kill kills the processes of a pod of our scheduler, and says how many there were.
func kill(t *testing.T, p *v1.Pod) (killed int) {
	t.Helper()
	for _, dir := range processesOf(t, p) {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil { // or it has ended by itself
			killed++
		}
	}
	return killed
}

// nodeOf is the node of who holds the lease: pods on the network of their node have its name for a host name.
func nodeOf(holder string) string {
	node, _, _ := strings.Cut(holder, "_")
	return node
}

// schedulerOn is the replica on a node.
func (c *cluster) schedulerOn(node string) *v1.Pod {
	c.t.Helper()
	for _, p := range c.schedulerPods() {
		if p.Spec.NodeName == node {
			return &p
		}
	}
	c.t.Fatalf("no replica is on node %s", node)
	return nil
}

// schedulerPods are the two replicas, which are ready and on different nodes.
func (c *cluster) schedulerPods() (pods []v1.Pod) {
	c.t.Helper()
	c.await(time.Minute, func() string {
		list, err := c.client.CoreV1().Pods(systems).List(c.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=fairlead-scheduler"})
		c.must(err)
		pods = slices.DeleteFunc(list.Items, func(p v1.Pod) bool {
			return p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Status.Conditions, func(condition v1.PodCondition) bool {
				return condition.Type == v1.PodReady && condition.Status == v1.ConditionTrue
			})
		})
		if len(pods) != 2 {
			return fmt.Sprintf("two replicas that are ready, of %+v", list.Items)
		}
		return ""
	})
	if pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		c.t.Errorf("both replicas are on %s", pods[0].Spec.NodeName)
	}
	return pods
}

// reportHowSchedulersEnded tells, of a test that has failed, what the containers of the release said last.
func (c *cluster) reportHowSchedulersEnded() {
	if !c.t.Failed() {
		return
	}
	list, err := c.client.CoreV1().Pods(systems).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		c.t.Log(err)
		return
	}
	for _, p := range list.Items {
		for _, s := range p.Status.ContainerStatuses {
			c.t.Logf("pod %s: %+v, before that %+v", p.Name, s.State, s.LastTerminationState.Terminated)
		}
	}
}

// leaderOfRelease waits until somebody else than that one holds the lease of the release, and says who.
func (c *cluster) leaderOfRelease(other string) string {
	c.t.Helper()
	var holder string
	c.await(time.Minute, func() string {
		if holder = c.holder(); holder == "" || holder == other {
			return fmt.Sprintf("a leader other than %q", other)
		}
		return ""
	})
	return holder
}

// holder is who holds the lease of the release; empty if nobody does.
func (c *cluster) holder() string {
	c.t.Helper()
	lease, err := c.client.CoordinationV1().Leases(systems).Get(c.t.Context(), "fairlead-scheduler", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	c.must(err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// checkConfined looks at the process of a pod from outside: no root, no capability, no way to get more, and system calls that are filtered.
func checkConfined(t *testing.T, p *v1.Pod) {
	t.Helper()
	processes := processesOf(t, p)
	if len(processes) != 1 {
		t.Errorf("pod %s, with the UID %s, has the processes %v, want one", p.Name, p.UID, processes)
	}
	for _, dir := range processes {
		status := readFile(t, filepath.Join(dir, "status"))
		for _, want := range []string{`Uid:\t65532\t65532\t65532\t65532`, `Gid:\t65532\t65532\t65532\t65532`, `CapEff:\t0{16}`, `CapBnd:\t0{16}`, `NoNewPrivs:\t1`, `Seccomp:\t2`} {
			if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(status) {
				t.Errorf("the process has no line %s:\n%s", want, status)
			}
		}
		for line := range strings.Lines(readFile(t, filepath.Join(dir, "mounts"))) {
			if fields := strings.Fields(line); fields[1] == "/" && !strings.HasPrefix(fields[3], "ro") {
				t.Errorf("the root is not read-only: %s", line)
			}
		}
	}
}

// processesOf are the folders in /proc of what a pod of our scheduler runs.
func processesOf(t *testing.T, p *v1.Pod) (dirs []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), "/ko-app/fairlead-scheduler\x00") { // it may have ended
			continue
		}
		dir := filepath.Dir(file)
		if groups, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil && strings.Contains(string(groups), string(p.UID)) { // or it is of another bed
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// freePort is one that nobody listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
