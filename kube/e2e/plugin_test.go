package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/plugin"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file asks kubectl fairlead as somebody else: an operator sees all, and a tenant nothing of what another has.

// asked is what came of a command.
type asked struct {
	out, failed string
	code        int
}

// said is all that it printed.
func (a asked) said() string { return a.out + a.failed }

// kubectlFairlead runs the plugin as somebody, in the namespace of the cluster.
func (c *cluster) kubectlFairlead(as string, words ...string) asked {
	c.t.Helper()
	var out, failed bytes.Buffer
	flags := []string{"--kubeconfig", c.bed.Kubeconfig(testbed.Admin), "--namespace", c.namespace}
	if as != "" {
		flags = append(flags, "--as", as)
	}
	words = append(flags, words...)
	code := plugin.Main(words, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed})
	c.t.Logf("%skubectl fairlead %s\n%s%s", says, strings.Join(words, " "), &out, &failed)
	return asked{out.String(), failed.String(), code}
}

const operator, tenant = "olga", "tom"

// letRead gives the tenant what the role view is made of, in his namespace, and the operator the role that is shipped for her, in all.
func (c *cluster) letRead() {
	c.t.Helper()
	ctx, api := c.t.Context(), c.client.RbacV1()
	for _, role := range []string{"system:aggregate-to-view", "fairlead-view"} {
		_, err := api.RoleBindings(c.namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: tenant}},
		}, metav1.CreateOptions{})
		c.must(err)
	}
	text, err := os.ReadFile("../deploy/plugin/roles.yaml")
	c.must(err)
	role := &rbacv1.ClusterRole{}
	c.must(yaml.UnmarshalStrict(text, role))
	_, err = api.ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	c.must(err)
	_, err = api.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operator}},
	}, metav1.CreateOptions{})
	c.must(err)
}

// rivals are two tenants on three nodes. Of the first, whose namespace is the cluster's, web-0 runs, web-1 is kept off one node by it, and off two by the anti-affinity of the other one's pods, and train is a gang for which
// there is no room. The second one's words all have "secret" in them.
func rivals(t *testing.T) (mine, theirs *cluster) {
	t.Helper()
	bed := ownBedOf(t, withPodGroups(testbed.Options{Tmpfs: true}))
	if err := testbed.Define(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, bed)
	c.letRead()
	ctx := t.Context()
	_, err := c.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "secret-shop"}}, metav1.CreateOptions{})
	c.must(err)
	other := *c
	other.namespace = "secret-shop"
	client, err := dynamic.NewForConfig(bed.Config(testbed.Admin))
	c.must(err)
	for _, class := range []struct{ name, spec string }{
		{"gold", `{importance: 1, availability: 99.9%, margin: 1m, namespaceSelector: {}}`},
		{"silver", `{importance: 2, availability: 90%, default: true}`},
	} {
		_, err := client.Resource(scheduler.ServiceClasses()).Create(ctx, serviceClass(t, class.name, class.spec), strictly())
		c.must(err)
	}
	c.addNodes(3, "n-", "4")
	everywhere := func(p *v1.Pod) {
		term := &affinity(p).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		term.NamespaceSelector = &metav1.LabelSelector{}
		term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "secret-plan"}}}}
	}
	by := scheduledBy("fairlead")
	other.create(
		newPod("secret-db-0", by, cpu("3"), label("app", "secret-db"), label("fairlead.dev/class", "gold"), awayFrom("web", v1.LabelHostname), everywhere),
		newPod("secret-db-1", by, cpu("3"), label("app", "secret-db"), label("fairlead.dev/class", "gold"), awayFrom("web", v1.LabelHostname), everywhere),
	)
	c.run("leader", calmLease)
	c.awaitLeader(30*time.Second, "")
	other.awaitBound(30*time.Second, 2)
	c.create(newPod("web-0", by, cpu("3"), label("app", "web"), label("fairlead.dev/class", "gold")))
	c.awaitBound(30*time.Second, 1)
	c.create(newPod("web-1", by, cpu("500m"), label("app", "web"), label("fairlead.dev/class", "gold"), awayFrom("web", v1.LabelHostname)))
	if !testbed.Before(37) {
		c.group("train", 3)
		c.create(several(3, "train", by, cpu("2"), member("train"))...)
		c.awaitRefused("train-0")
	}
	c.awaitRefused("web-1")
	c.placeAlone(client)
	c.create(newPod("lone-0", by, cpu("100m"), label("app", "lone")))
	c.awaitBound(30*time.Second, 2)
	c.create(newPod("lone-1", by, cpu("100m"), label("app", "lone")), newPod("foreign", scheduledBy("volcano")), newPod("done", by))
	c.awaitRefused("lone-1")
	c.awaitBound(30*time.Second, 3)
	done := c.pod("done")
	done.Status.Phase = v1.PodSucceeded
	_, err = c.client.CoreV1().Pods(c.namespace).UpdateStatus(ctx, done, metav1.UpdateOptions{})
	c.must(err)
	time.Sleep(6 * time.Second) // accounts are written every five
	return c, &other
}

// placeAlone has one pod with app=lone at most run in all of the cluster, which is one set of a node group.
func (c *cluster) placeAlone(client dynamic.Interface) {
	c.t.Helper()
	for _, o := range []struct{ resource, namespace, text string }{
		{"nodegroups", "", `{apiVersion: fairlead.dev/v1alpha1, kind: NodeGroup, metadata: {name: halls}, spec: {sets: [{name: hall, selector: {}}]}}`},
		{"placementconstraints", c.namespace, `{apiVersion: fairlead.dev/v1alpha1, kind: PlacementConstraint, metadata: {name: alone}, spec: {constraint: {text: "{app=lone, {app=lone, 0, 0}, group:halls}: hard"}}}`},
	} {
		object := &unstructured.Unstructured{}
		c.must(yaml.Unmarshal([]byte(o.text), &object.Object))
		_, err := client.Resource(v1alpha1.GroupVersion.WithResource(o.resource)).Namespace(o.namespace).Create(c.t.Context(), object, strictly())
		c.must(err)
	}
	time.Sleep(2 * time.Second) // the scheduler is to have seen them
}

// A tenant is told what is written on his pods, and nothing of another's pods, names, constraints or promises by any command; an operator is told all.
func TestPluginTellsWhatTheCallerMayRead(t *testing.T) {
	skipIfShort(t)
	c, other := rivals(t)
	manifest := filepath.Join(t.TempDir(), "app.yaml")
	c.must(os.WriteFile(manifest, []byte(`{apiVersion: v1, kind: Pod, metadata: {name: more}, spec: {schedulerName: fairlead, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}`), 0o600))
	texts := filepath.Join(t.TempDir(), "constraints.txt")
	c.must(os.WriteFile(texts, []byte("{app=web, {app=secret-plan, 1, inf}, node}: hard\n{app=wbe, {app=web, 0, 0}, example.com/row}\n"), 0o600))
	commands := [][]string{
		{"explain", "web-1"},
		{"explain", "pod/web-0"},
		{"explain", "web-1", "-o", "json"},
		{"explain", "web-7"},
		{"explain"},
		{"explain", "deploy/web"},
		{"promises"},
		{"promises", "-A"},
		{"promises", "-o", "yaml"},
		{"promises", "-A", "-o", "json"},
		{"plan"},
		{"plan", "-f", manifest},
		{"plan", "--drain", "n-00000"},
		{"plan", "--add-nodes", "1:like=n-00000"},
		{"constraints", "check", "-f", texts},
		{"constraints", "check", "-f", texts, "-o", "json"},
		{"advise"},
		{"simulate"},
		{"capacity", "fit", "--cpu", "1"},
		{"capacity", "free"},
	}
	if !testbed.Before(37) {
		commands = append(commands, []string{"explain", "podgroup/train"}, []string{"explain", "podgroup/train", "-o", "json"}, []string{"explain", "podgroup/trian"})
	}
	// The tenant's own name of what is not there, of the other's namespace, and as if it were his.
	elsewhere := [][]string{{"explain", "secret-db-0"}, {"explain", "db-0"}, {"explain", "podgroup/db"}}
	for _, words := range append(commands, elsewhere...) {
		name := strings.Join(words, " ")
		mine := c.kubectlFairlead(tenant, words...)
		asked := words[len(words)-1]
		if text := strings.ReplaceAll(mine.said(), asked, ""); words[0] != "constraints" && strings.Contains(text, "secret") {
			t.Errorf("%s: the tenant is told of another's: %s", name, mine.said())
		}
	}
	for _, words := range [][]string{{"explain", "secret-db-0"}, {"explain", "db"}, {"explain", "podgroup/db"}, {"promises"}, {"promises", "-A"}} {
		got := other.kubectlFairlead(tenant, words...)
		if got.code != 1 || got.out != "" || !strings.Contains(got.failed, "you may not") || strings.Contains(got.failed, "secret-db-1") {
			t.Errorf("%v in another's namespace: %+v", words, got)
		}
	}

	told := c.kubectlFairlead(tenant, "explain", "web-1")
	for _, want := range []string{"pod " + c.namespace + "/web-1 waits since ", "You may not list nodes, nor pods of all namespaces", "The scheduler says of it (Unschedulable", "Promised to pod/web-1 by class gold: 0.999"} {
		if told.code != 0 || !strings.Contains(told.out, want) {
			t.Errorf("the tenant is not told %q: %+v", want, told)
		}
	}
	if got := c.kubectlFairlead(tenant, "explain", "web-7"); got.code != 1 || !strings.Contains(got.failed, "there is no pod "+c.namespace+"/web-7; did you mean web-") {
		t.Errorf("%+v", got)
	}
	if got := c.kubectlFairlead(tenant, "plan"); got.code != 1 || !strings.Contains(got.failed, "plan is about the whole cluster, and you may not list nodes, nor pods of all namespaces; the cluster role fairlead-reader") {
		t.Errorf("%+v", got)
	}

	seen := c.kubectlFairlead(operator, "explain", "web-1")
	for _, want := range []string{"task " + c.namespace + "/web-1: waiting; policy fairlead", "secret-shop/", "promised to run 99.9 % of its time (class gold)", "The scheduler says of it"} {
		if seen.code != 0 || !strings.Contains(seen.out, want) {
			t.Errorf("the operator is not told %q: %+v", want, seen)
		}
	}
	lone := c.kubectlFairlead(operator, "explain", "lone-1")
	for _, want := range []string{"3 violate PlacementConstraint " + c.namespace + "/alone: 1 counted, at most 0", "(Unschedulable", "violate PlacementConstraint alone"} {
		if lone.code != 0 || !strings.Contains(lone.out, want) {
			t.Errorf("of the constraint is not said %q: %+v", want, lone)
		}
	}
	for name, want := range map[string]string{"foreign": "What volcano decides Fairlead does not know.", "done": "is done (Succeeded)\nIt waits for nothing"} {
		if got := c.kubectlFairlead(operator, "explain", name); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	all := c.kubectlFairlead(operator, "promises", "-A")
	if all.code != 0 || !strings.Contains(all.out, "secret-shop") || !strings.Contains(all.out, "pod/web-1") {
		t.Errorf("%+v", all)
	}
	if first := strings.Split(all.out, "\n")[1]; !strings.Contains(first, "web-1") {
		t.Errorf("the one at risk is not the first: %s", all.out)
	}
	if got := c.kubectlFairlead(operator, "plan", "-f", manifest, "-o", "json"); got.code != 3 || !strings.Contains(got.out, `"`+c.namespace+`/more"`) {
		t.Errorf("%+v", got)
	}
	if got := c.kubectlFairlead(operator, "plan", "-f", manifest, "--add-nodes", "1:like=n-00000"); got.code != 3 || !strings.Contains(got.out, "n-00000-new-1") {
		t.Errorf("%+v", got)
	}
	// What a manifest brings is held to the constraints of the cluster: one with app=lone runs, and there may be no other.
	lonely := filepath.Join(t.TempDir(), "lonely.yaml")
	c.must(os.WriteFile(lonely, []byte(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: lonely}, spec: {replicas: 1, template: {metadata: {labels: {app: lone}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}}}}`), 0o600))
	if got := c.kubectlFairlead(operator, "plan", "-f", lonely); got.code > 3 || !strings.Contains(got.out, "lonely") || !strings.Contains(got.out, "PlacementConstraint "+c.namespace+"/alone: 1 counted, at most 0") {
		t.Errorf("%+v", got)
	}
	if got := c.kubectlFairlead(operator, "plan", "-f", "/nonexistent/app.yaml"); got.code != 1 || !strings.Contains(got.failed, "/nonexistent/app.yaml") {
		t.Errorf("%+v", got)
	}
	checked := c.kubectlFairlead(operator, "constraints", "check", "-f", texts)
	for _, want := range []string{"PlacementConstraint " + c.namespace + "/line-1: Accepted", "warning: no pod of namespace " + c.namespace + " has app=secret-plan", "warning: no node has the label example.com/row", "did you mean app=web?"} {
		if checked.code != 0 || !strings.Contains(checked.out, want) {
			t.Errorf("the check does not say %q: %+v", want, checked)
		}
	}
	// What pods of another namespace have is neither a hit nor a hint for the tenant.
	mine := c.kubectlFairlead(tenant, "constraints", "check", "-f", texts)
	if mine.code != 0 || !strings.Contains(mine.out, "no pod of namespace "+c.namespace+" has app=secret-plan") || strings.Contains(mine.said(), "secret-db") || !strings.Contains(mine.failed, "left out nodes") {
		t.Errorf("%+v", mine)
	}
	c.checkGroup()
}

// checkGroup asks the operator's way about the gang.
func (c *cluster) checkGroup() {
	c.t.Helper()
	if testbed.Before(37) {
		return
	}
	got := c.kubectlFairlead(operator, "explain", "podgroup/train")
	for _, want := range []string{"a gang of 3", "One of them:", "The scheduler says of it"} {
		if got.code != 0 || !strings.Contains(got.out, want) {
			c.t.Errorf("of the gang is not said %q: %+v", want, got)
		}
	}
	var told struct {
		Name string `json:"name"`
		Pods []struct {
			Name string `json:"name"`
		} `json:"pods"`
	}
	if got := c.kubectlFairlead(tenant, "explain", "podgroup/train", "-o", "json"); json.Unmarshal([]byte(got.out), &told) != nil || len(told.Pods) != 3 {
		c.t.Errorf("%+v", got)
	}
}

// Wrong contexts, and a cluster that is away, are said as kubectl says them.
func TestPluginSaysWhatIsWrong(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	c.addNodes(1, "n-", "4")
	for _, tc := range []struct {
		words []string
		code  int
		want  string
	}{
		{[]string{"promises", "--context", "nowhere"}, 1, `context "nowhere" does not exist`},
		{[]string{"explain", "x", "--context", "nowhere"}, 1, `context "nowhere" does not exist`},
		{[]string{"plan", "--kubeconfig", "/nonexistent"}, 1, `/nonexistent`},
		{[]string{"promises", "-o", "ymal"}, 2, `--output: unknown format "ymal"; did you mean yaml?`},
		{[]string{"explain", "shop/web-0"}, 2, `unknown kind "shop"`},
		{[]string{"explain", "pod/web/0"}, 2, `want NAME or KIND/NAME`},
		{[]string{"explain", "web-0", "--task", "a/b"}, 2, `leave one out`},
		{[]string{"explain", "a", "b"}, 2, `accepts at most 1 arg(s), received 2`},
		{[]string{"explain", "web-0"}, 1, "there is no pod " + c.namespace + "/web-0; there is none in that namespace"},
		{[]string{"promise"}, 2, "did you mean promises?"},
		{[]string{"plan", "--drain", "n-0000"}, 1, `unknown node "n-0000"; did you mean n-00000?`},
	} {
		if got := c.kubectlFairlead("", tc.words...); got.code != tc.code || !strings.Contains(got.failed, tc.want) {
			t.Errorf("%v: want %d and %q, got %+v", tc.words, tc.code, tc.want, got)
		}
	}
}
