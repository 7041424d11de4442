package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// constrained is a cluster of its own that serves what Fairlead brings, with a client of everything.
func constrained(t *testing.T) (*cluster, dynamic.Interface) {
	t.Helper()
	c, _ := defined(t)
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	return c, client
}

// ours is an object of Fairlead's of that kind, whose spec is as people write it.
func (c *cluster) ours(kind, name, spec string) *unstructured.Unstructured {
	c.t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: fairlead.dev/v1alpha1, kind: %s, metadata: {name: %q}, spec: %s}", kind, name, spec)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		c.t.Fatal(err)
	}
	return u
}

// kindsOfConstraints are the kinds in the order of scheduler.PlacementConstraints.
func kindsOfConstraints() []string {
	return []string{"PlacementConstraint", "ClusterPlacementConstraint", "NodeGroup"}
}

// of is the client of a kind, in the test's namespace if it has one.
func (c *cluster) of(client dynamic.Interface, kind string) dynamic.ResourceInterface {
	for i, k := range kindsOfConstraints() {
		if k == kind && i == 0 {
			return client.Resource(scheduler.PlacementConstraints()[0]).Namespace(c.namespace)
		} else if k == kind {
			return client.Resource(scheduler.PlacementConstraints()[i])
		}
	}
	c.t.Fatalf("no kind %s", kind)
	return nil
}

// The API server refuses what a constraint or a node group cannot mean, and names the field.
func TestPlacementConstraintsAreChecked(t *testing.T) {
	c, client := constrained(t)
	bound := func(fields string) string { return "{constraint: {anyOf: [{allOf: [" + fields + "]}]}}" }
	for _, bad := range []struct{ kind, spec, words string }{
		{"PlacementConstraint", `{}`, "spec.constraint: Required value"},
		{"PlacementConstraint", `{constraint: {}}`, "give either text or anyOf"},
		{"PlacementConstraint", `{constraint: {text: ""}}`, "spec.constraint"},
		{"PlacementConstraint", `{constraint: {text: x, anyOf: [{allOf: [{everySet: true, target: {}, max: 1, topologyKey: a}]}]}}`, "give either text or anyOf"},
		{"PlacementConstraint", `{constraint: {text: x, hard: true}}`, "a text says itself whether it is hard"},
		{"PlacementConstraint", `{constraint: {text: x, weight: 3}}`, "a text says itself whether it is hard"},
		{"PlacementConstraint", `{constraint: {weight: 2, hard: true, anyOf: [{allOf: [{everySet: true, target: {}, max: 1, topologyKey: a}]}]}}`, "a hard constraint weighs nothing"},
		{"PlacementConstraint", `{constraint: {weight: 0, anyOf: [{allOf: [{everySet: true, target: {}, max: 1, topologyKey: a}]}]}}`, "spec.constraint.weight"},
		{"PlacementConstraint", `{constraint: {anyOf: []}}`, "spec.constraint.anyOf"},
		{"PlacementConstraint", `{constraint: {anyOf: [{allOf: []}]}}`, "spec.constraint.anyOf[0].allOf"},
		{"PlacementConstraint", bound(`{target: {}, max: 1, topologyKey: a}`), "give a subject, or everySet: true"},
		{"PlacementConstraint", bound(`{subject: {}, everySet: true, target: {}, max: 1, topologyKey: a}`), "give a subject, or everySet: true"},
		{"PlacementConstraint", bound(`{subject: {}, max: 1, topologyKey: a}`), "target: Required value"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, topologyKey: a}`), "give min, max, or both"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, min: 3, max: 2, topologyKey: a}`), "max is at least min"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, min: -1, topologyKey: a}`), "min"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, max: many, topologyKey: a}`), "max"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, max: 1}`), "give either topologyKey or nodeGroup"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, max: 1, topologyKey: a, nodeGroup: b}`), "give either topologyKey or nodeGroup"},
		{"PlacementConstraint", bound(`{everySet: true, counted: true, target: {}, max: 1, topologyKey: a}`), "everySet has none"},
		{"PlacementConstraint", bound(`{subject: {matchExpressions: [{key: a}]}, target: {}, max: 1, topologyKey: a}`), "subject.matchExpressions[0].operator"},
		{"PlacementConstraint", bound(`{subject: {}, target: {}, max: 1, topologyKey: a, namespaces: {}}`), "namespaces"},
		{"PlacementConstraint", `{constraint: {text: x}, subjectNamespaces: {}}`, "subjectNamespaces"},
		{"ClusterPlacementConstraint", `{constraint: {text: x}, subjectNamespaces: shop}`, "spec.subjectNamespaces"},
		{"NodeGroup", `{}`, "spec.sets: Required value"},
		{"NodeGroup", `{sets: []}`, "spec.sets"},
		{"NodeGroup", `{sets: [{name: a, selector: {}}, {name: a, selector: {}}]}`, "Duplicate value"},
		{"NodeGroup", `{sets: [{name: "", selector: {}}]}`, "spec.sets[0].name"},
		{"NodeGroup", `{sets: [{name: a}]}`, "spec.sets[0].selector: Required value"},
	} {
		_, err := c.of(client, bad.kind).Create(t.Context(), c.ours(bad.kind, "x", bad.spec), strictly())
		if err == nil || !strings.Contains(err.Error(), bad.words) {
			t.Errorf("%s %s: %v, want %q", bad.kind, bad.spec, err, bad.words)
		}
	}
	c.checkShortNames("plc", "cplc", "nodegrp")
}

// What tenants may do with constraints: their own bind their own pods; those of others, and of the cluster, they neither read nor write, and what they are told of these names nothing.
func TestTenantsConstrainTheirOwnPods(t *testing.T) {
	c, client := constrained(t)
	c.must(c.bed.StartFairlead(t.Context(), build(t), "{schedulerName: "+testbed.FairleadProfile+", policy: fairlead}", 10_000))
	c.addNodes(2, "n", "8")
	other := "red-" + c.namespace
	_, err := c.client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other, Labels: map[string]string{"team": "red"}}}, metav1.CreateOptions{})
	c.must(err)
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant"}}
	for _, role := range []string{"edit", "fairlead-tenant"} {
		_, err := c.client.RbacV1().RoleBindings(c.namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects,
		}, metav1.CreateOptions{})
		c.must(err)
	}
	config := c.bed.Config(testbed.Admin)
	config.Impersonate.UserName = "tenant"
	tenant, err := dynamic.NewForConfig(config)
	c.must(err)

	// The operator's: at most one secret pod a zone, of the other team, and of anybody.
	secret := `{constraint: {text: "{codename=falcon, {codename=falcon, 0, 0}, node}: hard"}}`
	_, err = c.of(client, "ClusterPlacementConstraint").Create(t.Context(), c.ours("ClusterPlacementConstraint", "falcon-apart", secret), strictly())
	c.must(err)
	theirs := client.Resource(scheduler.PlacementConstraints()[0]).Namespace(other)
	_, err = theirs.Create(t.Context(), c.ours("PlacementConstraint", "falcon-near", `{constraint: {text: "{codename=falcon, {codename=falcon, 2, inf}, node}: hard"}}`), strictly())
	c.must(err)
	for _, at := range []dynamic.ResourceInterface{tenant.Resource(scheduler.PlacementConstraints()[0]).Namespace(other), c.of(tenant, "ClusterPlacementConstraint"), c.of(tenant, "NodeGroup")} {
		if _, err := at.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a tenant lists constraints of others: %v", err)
		}
		if _, err := at.Create(t.Context(), c.ours("PlacementConstraint", "mine", secret), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a tenant writes constraints of others: %v", err)
		}
	}

	// The tenant's own says of all pods that they are apart, and means its own.
	mine := c.of(tenant, "PlacementConstraint")
	_, err = mine.Create(t.Context(), c.ours("PlacementConstraint", "apart", `{constraint: {hard: true, anyOf: [{allOf: [{subject: {}, target: {}, max: 0, topologyKey: kubernetes.io/hostname}]}]}}`), strictly())
	c.must(err)
	_, err = mine.Create(t.Context(), c.ours("PlacementConstraint", "together", `{constraint: {text: "{codename=falcon, {codename=falcon, 1, inf}, node}: hard"}}`), strictly())
	c.must(err)
	if _, err := mine.Patch(t.Context(), "apart", "application/merge-patch+json", []byte(`{"status": {"violating": 0}}`), metav1.PatchOptions{}, "status"); !apierrors.IsForbidden(err) {
		t.Errorf("a tenant writes what is said of a constraint: %v", err)
	}
	for i := range 4 {
		pod := newPod(fmt.Sprint("red-", i), cpu("1"))
		pod.Namespace = other
		_, err := c.client.CoreV1().Pods(other).Create(t.Context(), pod, metav1.CreateOptions{})
		c.must(err)
	}
	c.await(20*time.Second, func() string {
		list, err := c.client.CoreV1().Pods(other).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName!="})
		c.must(err)
		if len(list.Items) < 4 {
			return fmt.Sprintf("4 pods of the other namespace to be bound, %d are", len(list.Items))
		}
		return ""
	})
	c.create(several(3, "mine", cpu("1"))...)
	c.awaitBound(20*time.Second, 2)
	waits := c.namesOf(func(p *v1.Pod) bool { return p.Spec.NodeName == "" })
	if len(waits) != 1 {
		t.Fatalf("%v wait, want one", waits)
	}
	if why := c.awaitRefused(waits[0]); !strings.Contains(why, "2 violate PlacementConstraint apart: 1 counted, at most 0") {
		t.Errorf("who would violate the constraint says %q", why)
	}
	falcon := newPod("falcon-0", cpu("1"), label("codename", "falcon"))
	c.create(falcon)
	if why := c.awaitRefused("falcon-0"); !strings.Contains(why, "violate PlacementConstraint") || strings.Contains(why, "falcon-near") || strings.Contains(why, "falcon-apart") || strings.Contains(why, "red") {
		t.Errorf("who is bound by a constraint of the cluster says %q", why)
	}
	c.await(20*time.Second, func() string {
		object, err := mine.Get(t.Context(), "together", metav1.GetOptions{})
		c.must(err)
		read := &v1alpha1.PlacementConstraint{}
		c.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read))
		has := meta.FindStatusCondition(read.Status.Conditions, v1alpha1.Contradicts)
		if has == nil || has.Status != metav1.ConditionTrue || !strings.Contains(has.Message, "together with apart") || !strings.Contains(has.Message, "with a constraint that is not of this namespace") || strings.Contains(has.Message, "near") {
			return fmt.Sprintf("together to contradict apart, and one that is not named: %+v", has)
		}
		return ""
	})
	c.await(20*time.Second, func() string {
		kubectl := exec.CommandContext(t.Context(), c.bed.Program("kubectl"), "--kubeconfig", c.bed.Kubeconfig(testbed.Admin), "-n", c.namespace, "get", "plc", "apart")
		out, err := kubectl.CombinedOutput()
		if err != nil || !regexp.MustCompile(`(?m)^NAME +ACCEPTED +BOUND +VIOLATED +SINCE +AGE\napart +True +2 +0 `).Match(out) {
			return fmt.Sprintf("kubectl get plc to list 2 pods that it binds: %v\n%s", err, out)
		}
		return ""
	})
}

// A thousand pods wait while a constraint is added, changed and removed: who may be placed is decided anew, nobody is lost, and no scheduler begins anew.
func TestPlacementConstraintsChangeWhilePodsWait(t *testing.T) {
	c, client := constrained(t)
	of := c.of(client, "PlacementConstraint")
	spec := func(most int) string {
		return fmt.Sprintf(`{constraint: {text: "{*, {app=web, 0, %d}, group:halves}: hard"}}`, most)
	}
	_, err := of.Create(t.Context(), c.ours("PlacementConstraint", "few", spec(10)), strictly())
	c.must(err)
	_, err = c.of(client, "NodeGroup").Create(t.Context(), c.ours("NodeGroup", "halves", `{sets: [{name: low, selector: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n00000, n00001]}]}}, {name: high, selector: {}}]}`), strictly())
	c.must(err)
	c.must(c.bed.StartFairlead(t.Context(), build(t), "{schedulerName: "+testbed.FairleadProfile+", policy: fairlead, evictions: {enabled: false}}", 10_000))
	c.addNodes(40, "n", "100")
	web := label("app", "web")
	c.create(several(1000, "web", web, cpu("1"))...)
	c.awaitBound(20*time.Second, 20)
	time.Sleep(3 * time.Second)
	if bound := len(c.bound()); bound != 20 {
		t.Fatalf("%d are bound, where two halves may have 10 each", bound)
	}
	object, err := of.Get(t.Context(), "few", metav1.GetOptions{})
	c.must(err)
	object.Object["spec"] = c.ours("PlacementConstraint", "few", spec(100)).Object["spec"]
	_, err = of.Update(t.Context(), object, metav1.UpdateOptions{})
	c.must(err)
	c.awaitBound(20*time.Second, 200)
	time.Sleep(3 * time.Second)
	if bound := len(c.bound()); bound != 200 {
		t.Fatalf("%d are bound, where two halves may have 100 each", bound)
	}
	c.must(of.Delete(t.Context(), "few", metav1.DeleteOptions{}))
	c.awaitBound(time.Minute, 1000)
	c.checkRoom()
}
