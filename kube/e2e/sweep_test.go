package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file shows a sweep of the simulator as Indexed Jobs on a real kubelet, whose pods our scheduler places: shards, some of whose pods are deleted, come to the same
// bytes as one pod that did everything.

const (
	sweepText = `spec:
  source: {cluster: 'synthetic:google?nodes=100'}
  limits: {until: 30m}
policies: [kube, best-fit]
seeds: 1-%d
vary: {source.speedup: [1, 2, 4, 8, 16]}
`
	sweepShards = 4
)

func TestSweepAsIndexedJob(t *testing.T) {
	skipIfShort(t)
	testbed.SkipUnlessContainers(t)
	seeds, deletions := 4, 2 // 40 runs
	if os.Getenv("FAIRLEAD_LONG") != "" {
		seeds, deletions = 100, 10
	}
	work := sweepFolder(t)
	program := filepath.Join(work, "fairlead") // which pods find there, too: keys of runs name it
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/fairlead")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build fairlead: %v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, sweepText, seeds), 0o600); err != nil {
		t.Fatal(err)
	}

	bed := testbed.ForTest(t, testbed.Options{Tmpfs: true, ControllerManager: true})
	if err := testbed.GrantRoles(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	if _, err := bed.StartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, bed)
	c.start(settings{})
	run := func(args ...string) string {
		t.Helper()
		var wrong bytes.Buffer
		command := exec.CommandContext(t.Context(), program, args...)
		command.Stderr = &wrong
		out, err := command.Output()
		if err != nil {
			t.Fatalf("fairlead %s: %v\n%s", strings.Join(args, " "), err, wrong.String())
		}
		return string(out)
	}
	submit := func(name string, shards int) {
		t.Helper()
		manifests := run("sweep", "manifests", file, "--name", name, "--shards", fmt.Sprint(shards), "--image", testbed.SleeperImage, "--command", "/work/fairlead", "--host-path", work)
		// There is no network but the node's, and pods are our scheduler's.
		manifests = strings.Replace(manifests, "      restartPolicy:", "      hostNetwork: true\n      schedulerName: "+testbed.FairleadProfile+"\n      restartPolicy:", 1)
		c.must(testbed.Kubectl(t.Context(), bed, manifests, "create", "--namespace", c.namespace, "-f", "-"))
	}
	submit("whole", 1)
	c.awaitJob("whole")
	submit("parts", sweepShards)
	deleted := 0
	for range deletions {
		deleted += c.deleteOneOf("parts")
	}
	if deleted == 0 {
		t.Error("no pod was deleted while it ran")
	}
	c.awaitJob("parts")

	run("sweep", "merge", filepath.Join(work, "parts"))
	whole, parts := c.read(work, "whole/results.jsonl"), c.read(work, "parts/results.jsonl")
	if !bytes.Equal(whole, parts) {
		t.Error("shards whose pods were deleted came to another set than one pod that did all runs")
	}
	if lines, want := bytes.Count(whole, []byte("\n")), seeds*2*5; lines != want {
		t.Errorf("the set has %d runs, want %d", lines, want)
	}
}

// sweepFolder is a folder into which pods may write, who are nobody on this machine.
func sweepFolder(t *testing.T) string {
	t.Helper()
	work := t.TempDir()
	if err := os.Chmod(work, 0o777); err != nil { // whatever the mask of new files is
		t.Fatal(err)
	}
	return work
}

// awaitJob waits until a job is complete.
func (c *cluster) awaitJob(name string) {
	c.t.Helper()
	c.await(10*time.Minute, func() string {
		job, err := c.client.BatchV1().Jobs(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
		c.must(err)
		for _, condition := range job.Status.Conditions {
			if condition.Type == batchv1.JobComplete && condition.Status == v1.ConditionTrue {
				return ""
			}
		}
		return fmt.Sprintf("that the job %s is complete: %+v", name, job.Status)
	})
}

// deleteOneOf kills a pod of the job that runs, in whose place the job makes another, and returns how many it has killed: none if the job is complete before one runs.
func (c *cluster) deleteOneOf(job string) (deleted int) {
	c.t.Helper()
	c.await(time.Minute, func() string {
		pods, err := c.client.CoreV1().Pods(c.namespace).List(c.t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job, FieldSelector: "status.phase=Running"})
		c.must(err)
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				c.must(c.client.CoreV1().Pods(c.namespace).Delete(c.t.Context(), pods.Items[i].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
				deleted = 1
				return ""
			}
		}
		of, err := c.client.BatchV1().Jobs(c.namespace).Get(c.t.Context(), job, metav1.GetOptions{})
		c.must(err)
		if of.Status.CompletionTime != nil {
			return ""
		}
		return "a pod of the job " + job + " that runs"
	})
	return deleted
}

func (c *cluster) read(folder, name string) []byte {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	c.must(err)
	return text
}
