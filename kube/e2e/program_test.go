package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file runs our scheduler as the processes that a cluster runs.

var program struct {
	once sync.Once
	dir  string
	err  error
}

// build compiles fairlead-scheduler once for all tests.
func build(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		//nolint:usetesting // All tests use it, so it outlives each; TestMain removes it.
		if program.dir, program.err = os.MkdirTemp("", "fairlead-e2e-"); program.err != nil {
			return
		}
		// Not the test's context: other tests want the program too.
		out, err := exec.CommandContext(context.Background(), "go", "build", "-o", program.dir, "../cmd/fairlead-scheduler").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("build fairlead-scheduler: %w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, "fairlead-scheduler")
}

func removeProgram() error {
	if program.dir == "" {
		return nil
	}
	return os.RemoveAll(program.dir)
}

// replica is one process of our scheduler.
type replica struct {
	cluster *cluster
	name    string // also of its log
	log     string
}

const leaseName = "fairlead-scheduler"

// A leader that is to be killed has a short lease, as the next one waits for it to end. All others have one that they do not lose while a busy machine, or an API server that is killed and started again, keeps them from renewing it.
const (
	shortLease = 5 * time.Second
	calmLease  = 15 * time.Second
)

// run starts a replica that takes part in an election with this lease.
func (c *cluster) run(name string, lease time.Duration, flags ...string) *replica {
	c.t.Helper()
	return c.runWith(name, lease, "", flags...)
}

// runWith is run of one that has more in its configuration.
func (c *cluster) runWith(name string, lease time.Duration, more string, flags ...string) *replica {
	c.t.Helper()
	name = c.namespace + "-" + name
	r := &replica{cluster: c, name: name, log: filepath.Join(c.bed.Dir(), name+".log")}
	c.logs = append(c.logs, r)
	file := filepath.Join(c.t.TempDir(), name+".yaml")
	text := fmt.Sprintf(`apiVersion: fairlead.dev/v1alpha1
kind: SchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: -1}
leaderElection: {leaseDuration: %s, renewDeadline: %s, retryPeriod: 500ms}
%s`, c.bed.Kubeconfig(testbed.Fairlead), lease, lease*2/3, more)
	c.must(os.WriteFile(file, []byte(text), 0o600))
	c.must(c.bed.Run(name, build(c.t), append([]string{"--config", file, "--secure-port=0", "-v=1"}, flags...)...))
	c.t.Cleanup(func() { r.signal(syscall.SIGKILL) })
	return r
}

// signal does nothing if the process has ended.
func (r *replica) signal(s syscall.Signal) {
	if pid, runs := r.cluster.bed.PIDs()[r.name]; runs {
		_ = syscall.Kill(pid, s) // It may have ended since.
	}
}

// awaitEnd waits until the process has ended.
func (r *replica) awaitEnd() {
	r.cluster.t.Helper()
	r.cluster.await(30*time.Second, func() string {
		if _, runs := r.cluster.bed.PIDs()[r.name]; runs {
			return "the end of " + r.name
		}
		return ""
	})
}

// String is the end of the replica's log.
func (r *replica) String() string {
	text, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

// lease is the one that the replicas share, empty if there is none.
func (c *cluster) lease() coordinationv1.LeaseSpec {
	l, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(context.Background(), leaseName, metav1.GetOptions{})
	if err != nil {
		return coordinationv1.LeaseSpec{}
	}
	return l.Spec
}

// forgetLeader deletes the lease: whoever led in a test before may have left one that is long.
func (c *cluster) forgetLeader(lease string) {
	c.t.Helper()
	err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(c.t.Context(), lease, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		c.must(err)
	}
}

// awaitLeader waits for a leader other than this one, and returns its identity.
func (c *cluster) awaitLeader(limit time.Duration, other string) string {
	c.t.Helper()
	var holder string
	c.await(limit, func() string {
		if l := c.lease(); l.HolderIdentity != nil && *l.HolderIdentity != "" && *l.HolderIdentity != other {
			holder = *l.HolderIdentity
			return ""
		}
		return "a leader other than " + other
	})
	return holder
}
