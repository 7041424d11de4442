package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// This file runs a shadow beside kube-scheduler, as a process, with exactly the role of kube/deploy/shadow. The API server writes down who asked it for what.

// audited is a bed whose API server writes every request into a log, one a line.
func audited(t *testing.T) (bed *testbed.Bed, log string) {
	t.Helper()
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(dir, "audit.log")
	return ownBedOf(t, testbed.Options{Tmpfs: true, APIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}}), log
}

// writes counts what a user has asked for that is no get, list or watch, by what it is and whether that was allowed.
func writes(t *testing.T, log, user string) (asked map[string]int, requests int) {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	asked = map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Subresource, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.User.Username != user {
			continue
		}
		requests++
		if line.ResponseStatus.Code == http.StatusForbidden {
			asked[fmt.Sprintf("forbidden: %s %s/%s", line.Verb, line.ObjectRef.Resource, line.ObjectRef.Subresource)]++
		}
		if !slices.Contains([]string{"get", "list", "watch"}, line.Verb) {
			asked[strings.TrimSuffix(fmt.Sprintf("%s %s/%s", line.Verb, line.ObjectRef.Resource, line.ObjectRef.Subresource), "/")]++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return asked, requests
}

// watcher is a shadow as a process.
type watcher struct {
	*replica
	url, recording string
}

// watch starts a shadow of the default-scheduler.
func (c *cluster) watch() *watcher {
	c.t.Helper()
	c.must(testbed.GrantRolesOfShadow(c.t.Context(), c.bed))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	c.must(err)
	c.must(free.Close())
	dir := c.t.TempDir()
	w := &watcher{replica: c.process("shadow"), url: "https://" + free.Addr().String() + "/shadow", recording: filepath.Join(dir, "recording")}
	c.logs = append(c.logs, w)
	file := filepath.Join(dir, "config.yaml")
	c.must(os.WriteFile(file, fmt.Appendf(nil, `apiVersion: fairlead.dev/v1alpha1
kind: SchedulerConfiguration
clientConnection: {kubeconfig: %q}
profiles: [{schedulerName: default-scheduler, mode: shadow}]
record: {path: %q}
`, c.bed.Kubeconfig(testbed.Shadow), w.recording), 0o600))
	_, port, err := net.SplitHostPort(free.Addr().String())
	c.must(err)
	c.must(c.bed.Run(w.name, build(c.t), "--config", file, "--bind-address=127.0.0.1", "--secure-port="+port))
	c.t.Cleanup(func() { w.signal(syscall.SIGKILL) })
	return w
}

// ask asks for the report as a user.
func (w *watcher) ask(user testbed.User) (status int, report *shadow.Report) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, w.url, nil)
	w.cluster.must(err)
	request.Header.Set("Authorization", "Bearer "+w.cluster.bed.Config(user).BearerToken)
	response, err := client.Do(request)
	if err != nil {
		return 0, nil // it has not begun
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	w.cluster.must(err)
	report = &shadow.Report{}
	if response.StatusCode == http.StatusOK {
		w.cluster.must(json.Unmarshal(text, report))
	}
	return response.StatusCode, report
}

// replayed is what the recording says.
func (w *watcher) replayed() *shadow.Report {
	w.cluster.t.Helper()
	files, err := recording.Files(w.recording)
	w.cluster.must(err)
	c := shadow.New(time.Time{})
	for _, file := range files {
		in, err := os.Open(file)
		w.cluster.must(err)
		result, err := c.Replay(in, file, func(l recording.Lane) (sched.Policy, error) {
			return chosen.Make(policies.All(), &l, policies.Options{})
		})
		w.cluster.must(err)
		w.cluster.must(in.Close())
		if result.Difference != nil || result.Wrong > 0 || result.Cut != "" {
			w.cluster.t.Fatalf("%s: %v, %d wrong, cut %q", file, result.Difference, result.Wrong, result.Cut)
		}
	}
	return c.Report()
}

// A shadow beside kube-scheduler at full rate writes nothing but its lease, whatever comes: pods that fit and do not, that keep apart and together, and that have others leave. All that they bind is
// counted, and its numbers are those of a replay of its recording.
func TestShadowBesideKubeScheduler(t *testing.T) {
	skipIfShort(t)
	bed, log := audited(t)
	c := newCluster(t, bed)
	nodes, plain := normally(100, 500), normally(600, 6000)
	c.addNodes(nodes, "n", "20")
	startKubeScheduler(c)
	w := c.watch()
	c.await(time.Minute, func() string {
		if status, _ := w.ask(testbed.Admin); status != http.StatusOK {
			return fmt.Sprintf("the report of a shadow that leads: status %d", status)
		}
		return ""
	})
	if status, _ := w.ask(testbed.Kwok); status != http.StatusOK { // of system:masters
		t.Errorf("an administrator: status %d", status)
	}
	if status, _ := w.ask(testbed.Fairlead); status != http.StatusForbidden {
		t.Errorf("who has no right to read it: status %d, want 403", status)
	}
	by := scheduledBy(v1.DefaultSchedulerName)
	began := time.Now()
	c.create(several(plain, "plain", by)...)
	c.awaitBound(3*time.Minute, plain)
	took := time.Since(began)
	c.create(several(nodes/2, "apart", by, label("app", "apart"), awayFrom("apart", v1.LabelHostname))...)
	c.create(several(60, "spread", by, label("app", "spread"), spread("spread", v1.LabelTopologyZone))...)
	c.create(several(5, "large", by, cpu("100"))...)
	all := plain + nodes/2 + 60
	c.awaitBound(3*time.Minute, all)
	fill := nodes*20 - all // one core each
	c.create(several(fill, "fill", by)...)
	c.awaitBound(5*time.Minute, all+fill)
	c.create(several(3, "urgent", by, priority(c, 1000))...)
	c.awaitBound(time.Minute, 3, func(p *v1.Pod) bool { return strings.HasPrefix(p.Name, "urgent") })
	bound := all + fill + 3
	var live *shadow.Report
	c.await(time.Minute, func() string {
		if _, live = w.ask(testbed.Admin); live.Sums.Bound != int64(bound) {
			return fmt.Sprintf("%d pods that they bound, %d seen", bound, live.Sums.Bound)
		}
		return ""
	})
	w.signal(syscall.SIGTERM)
	w.awaitEnd()

	s := live.Sums
	t.Logf("%d nodes; %d plain pods were bound in %s (%.0f/s). Decided %d, bound %d: same %d, different %d, unplaced %d, earlier %d; refused %d", nodes, plain, took.Round(time.Millisecond), float64(plain)/took.Seconds(),
		s.Decided, s.Bound, s.Same, s.Different, s.Unplaced, s.Earlier, s.Refused)
	for name, side := range map[string]*shadow.Side{"ours": &s.Ours, "theirs": &s.Theirs} {
		t.Logf("%s: latency %+v, fill %v, nodes opened %d, rules violated %d hard and %d soft, %d victims", name, *side.Latency, side.Fill, side.NodesOpened, side.HardViolated, side.SoftViolated, side.Victims)
	}
	asked, requests := writes(t, log, "system:serviceaccount:kube-system:fairlead-shadow")
	theirs, _ := writes(t, log, "system:kube-scheduler")
	t.Logf("the shadow sent %d requests, of which these are no get, list or watch: %v", requests, asked)
	t.Logf("kube-scheduler's are %v", theirs)
	for what := range asked {
		if !slices.Contains([]string{"create leases", "update leases", "create tokenreviews", "create subjectaccessreviews", "create selfsubjectaccessreviews"}, what) {
			t.Errorf("the shadow wrote: %s", what)
		}
	}
	if asked["update leases"] == 0 || theirs["create pods/binding"] == 0 {
		t.Error("the log says nothing of who wrote what")
	}
	if s.Theirs.Victims < 3 || s.Ours.Victims < 3 || s.Ours.HardViolated > 0 || s.Theirs.HardViolated > 0 || live.Now.WeWait != 5 {
		t.Errorf("victims %d and %d, want 3 and more; hard rules violated %d and %d, want none; we have %d wait, want 5 that are too large", s.Ours.Victims, s.Theirs.Victims, s.Ours.HardViolated, s.Theirs.HardViolated, live.Now.WeWait)
	}
	if s.Earlier > int64(bound/2) {
		t.Errorf("%d of %d were bound before they were looked at", s.Earlier, bound)
	}
	again := w.replayed()
	if diff := cmp.Diff(live.Sums, again.Sums); diff != "" {
		t.Errorf("a replay says otherwise (-live +replay):\n%s", diff)
	}
	for i := range live.Differences {
		if d := &live.Differences[i]; d.Pod == "" || d.Namespace != c.namespace {
			t.Errorf("a difference without a name: %+v", d)
		}
		live.Differences[i].Namespace, live.Differences[i].Pod, live.Differences[i].Why = "", "", ""
	}
	if diff := cmp.Diff(live.Differences, again.Differences); diff != "" {
		t.Errorf("a replay has other differences (-live +replay):\n%s", diff)
	}
}
