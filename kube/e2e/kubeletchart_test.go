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
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file shows an installation as a cluster has it: Helm installs the chart, kube-scheduler places the pod of our scheduler, a kubelet runs our image, and our
// scheduler places pods that run.

// TestChartOnKubelet is one story, because a bed, a node and an image take long to make.
func TestChartOnKubelet(t *testing.T) {
	skipIfShort(t)
	testbed.SkipUnlessContainers(t)
	archive := buildImage(t)
	bed := testbed.ForTest(t, testbed.Options{Tmpfs: true, ControllerManager: true})
	kubelet, err := bed.StartKubelet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, bed)
	helm := c.helm()
	defer c.sayHowSchedulersEnded()
	c.must(kubelet.LoadImage(t.Context(), archive))
	c.must(bed.StartKubeScheduler(t.Context(), 50))

	// There is no network but the node's, and nobody who would forward what goes to the service of the API server.
	server, err := url.Parse(bed.Config(testbed.Admin).Host)
	c.must(err)
	values := filepath.Join(t.TempDir(), "values.yaml")
	c.must(os.WriteFile(values, fmt.Appendf(nil, `
replicas: 1
hostNetwork: true
port: %s
image: {pullPolicy: Never}
environment:
- {name: KUBERNETES_SERVICE_HOST, value: %q}
- {name: KUBERNETES_SERVICE_PORT, value: %q}
`, freePort(t), server.Hostname(), server.Port()), 0o600))
	helm("install", release, chartFolder, "--create-namespace", "--wait", "--timeout", "2m", "--values", values)
	first := c.schedulerPod("")
	if first.Spec.SchedulerName != v1.DefaultSchedulerName || first.Spec.NodeName != kubelet.Name {
		t.Errorf("the pod of our scheduler was placed by %s on %q", first.Spec.SchedulerName, first.Spec.NodeName)
	}
	checkConfined(t, first)
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

	// A leader that is deleted is followed by another pod.
	c.must(c.client.CoreV1().Pods(systems).Delete(t.Context(), first.Name, metav1.DeleteOptions{}))
	c.create(newPod("second", inContainer, cpu("100m")))
	c.awaitReady("second")
	c.leaderOfRelease(leader)
	c.schedulerPod(first.Name)

	// Who runs does not notice that it is taken away, and who comes waits, and says nothing.
	helm("uninstall", release, "--wait", "--timeout", "2m")
	c.create(newPod("late", inContainer, cpu("100m")))
	time.Sleep(2 * time.Second)
	if late := c.pod("late"); late.Spec.NodeName != "" || len(late.Status.Conditions) > 0 {
		t.Errorf("pod late is on %q, with the conditions %+v", late.Spec.NodeName, late.Status.Conditions)
	}
	for _, name := range []string{"runs", "gold", "second"} {
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

// schedulerPod is the only pod of the release, which is ready, and another one than that.
func (c *cluster) schedulerPod(other string) *v1.Pod {
	c.t.Helper()
	var found *v1.Pod
	c.await(time.Minute, func() string {
		list, err := c.client.CoreV1().Pods(systems).List(c.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=fairlead-scheduler"})
		c.must(err)
		for i := range list.Items {
			p := &list.Items[i]
			for _, condition := range p.Status.Conditions {
				if p.Name != other && p.DeletionTimestamp == nil && condition.Type == v1.PodReady && condition.Status == v1.ConditionTrue {
					found = p
					return ""
				}
			}
		}
		return fmt.Sprintf("a pod of our scheduler that is ready, of %+v", list.Items)
	})
	return found
}

// sayHowSchedulersEnded tells, of a test that has failed, what the containers of the release said last.
func (c *cluster) sayHowSchedulersEnded() {
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
		lease, err := c.client.CoordinationV1().Leases(systems).Get(c.t.Context(), "fairlead-scheduler", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if id := lease.Spec.HolderIdentity; id != nil && *id != "" && *id != other {
			holder = *id
			return ""
		}
		return fmt.Sprintf("a leader other than %q: %+v", other, lease.Spec)
	})
	return holder
}

// checkConfined looks at the process of a pod from outside: no root, no capability, no way to get more, and system calls that are filtered.
func checkConfined(t *testing.T, p *v1.Pod) {
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
		if groups, err := os.ReadFile(filepath.Join(dir, "cgroup")); err != nil || !strings.Contains(string(groups), string(p.UID)) {
			continue // of another bed
		}
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
		return
	}
	t.Errorf("found no process of pod %s, with the UID %s", p.Name, p.UID)
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
