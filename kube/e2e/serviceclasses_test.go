package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
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
	"fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// defined is a cluster of its own with the objects that Fairlead brings, and a client of its ServiceClasses.
func defined(t *testing.T) (*cluster, dynamic.ResourceInterface) {
	t.Helper()
	bed := ownBedOf(t, testbed.Options{Tmpfs: true})
	if err := testbed.Define(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(bed.Config(testbed.Admin))
	if err != nil {
		t.Fatal(err)
	}
	return newCluster(t, bed), client.Resource(scheduler.ServiceClasses())
}

// serviceClass is one, whose spec is as people write it.
func serviceClass(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: fairlead.dev/v1alpha1, kind: ServiceClass, metadata: {name: %q}, spec: %s}", name, spec)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// strictly creates an object of which every field is known.
func strictly() metav1.CreateOptions {
	return metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
}

// The API server refuses what a ServiceClass cannot mean, and names the field; what is left it takes with its defaults.
func TestServiceClassesAreChecked(t *testing.T) {
	c, of := defined(t)
	for _, bad := range []struct{ name, spec, words string }{
		{"none", `{importance: 1}`, "choose another name"},
		{"all", `{importance: 1}`, "choose another name"},
		{"a.b", `{importance: 1}`, "the name is the value of a label"},
		{strings.Repeat("a", 64), `{importance: 1}`, "the name is the value of a label"},
		{"x", `{}`, "spec.importance: Required value"},
		{"x", `{importance: most}`, "spec.importance"},
		{"x", `{importance: 1, availability: "1.5"}`, "spec.availability"},
		{"x", `{importance: 1, availability: "99,9%"}`, "spec.availability"},
		{"x", `{importance: 1, availability: 101%}`, "spec.availability"},
		{"x", `{importance: 1, availability: "0"}`, "want more than 0"},
		{"x", `{importance: 1, availability: 0.0%}`, "want more than 0"},
		{"x", `{importance: 1, availability: 0.9}`, "spec.availability"},
		{"x", `{importance: 1, margin: 30s}`, "of no use without availability"},
		{"x", `{importance: 1, overheadBudget: "0.1"}`, "of no use without availability"},
		{"x", `{importance: 1, availability: "0.9", margin: "30"}`, "spec.margin"},
		{"x", `{importance: 1, availability: "0.9", restart: -1s}`, "spec.restart"},
		{"x", `{importance: 1, evicted: Gone}`, "spec.evicted"},
		{"x", `{importance: 1, leastRun: "3600"}`, "spec.leastRun"},
		{"x", `{importance: 1, urgency: High}`, "spec.urgency"},
		{"x", `{importance: 1, priorityAtLeast: many}`, "spec.priorityAtLeast"},
		{"x", `{importance: 1, default: "yes"}`, "spec.default"},
		{"x", `{importance: 1, namespaceSelector: team}`, "spec.namespaceSelector"},
		{"x", `{importance: 1, namespaceSelector: {matchExpressions: [{key: team}]}}`, "spec.namespaceSelector.matchExpressions[0].operator"},
		{"x", `{importance: 1, size: Large}`, "spec.size"},
		{"x", `{importance: 1, redundancy: High}`, "spec.redundancy"},
		{"x", `{importance: 1, replicas: 0}`, "spec.replicas"},
		{"x", `{importance: 1, sizes: {}}`, "spec.sizes"},
		{"x", `{importance: 1, sizes: {cpu: 2}}`, "spec.sizes.cpu"},
		{"x", `{importance: 1, sizes: {cpu: "0.5"}}`, "spec.sizes.cpu"},
		{"x", `{importance: 1, sizes: {memory: "1.333"}}`, "spec.sizes.memory"},
		{"x", `{importance: 1, sizes: {memory: "101"}}`, "spec.sizes.memory"},
		{"x", `{importance: 1, sizes: {pods: "2"}}`, "pods"},
		{"x", `{importance: 1, tier: {}}`, "spec.tier"},
		{"x", `{importance: 1, tier: {disk: "-ssd"}}`, "spec.tier"},
		{"x", `{importance: 1, available: "0.9"}`, "available"},
		{"x", `{importance: 1, price: {}}`, "spec.price"},
		{"x", `{importance: 1, price: {unitHour: "-1"}}`, "spec.price.unitHour"},
		{"x", `{importance: 1, price: {tier: 10001%}}`, "spec.price.tier"},
		{"x", `{importance: 1, price: {copy: "1"}}`, "copy"},
		{"x", `{importance: 1, credits: [{attained: "0", back: "1"}]}`, "are of no use without availability"},
		{"x", `{importance: 1, availability: "0.9", credits: []}`, "spec.credits"},
		{"x", `{importance: 1, availability: "0.9", credits: [{attained: "0"}]}`, "spec.credits[0].back"},
	} {
		_, err := of.Create(t.Context(), serviceClass(t, bad.name, bad.spec), strictly())
		if err == nil || !strings.Contains(err.Error(), bad.words) {
			t.Errorf("%s %s: %v, want %q", bad.name, bad.spec, err, bad.words)
		}
	}
	created, err := of.Create(t.Context(), serviceClass(t, "gold", `{importance: 1, availability: 99.95%, margin: 1m30s, restart: 2.5s, urgency: Premium, size: Advanced, redundancy: BestEffort, tier: {example.com/disk: ssd}, replicas: 3, sizes: {cpu: "1.5", memory: "2"}, price: {unitHour: "0.04", urgency: 25%, tier: "0.5"}, credits: [{attained: 99%, back: 10%}, {attained: "0", back: "1"}], priorityAtLeast: -5, namespaceSelector: {}}`), strictly())
	c.must(err)
	if evicted, _, _ := unstructured.NestedString(created.Object, "spec", "evicted"); evicted != "Lost" {
		t.Errorf("evicted is %q, want the default Lost", evicted)
	}
	c.checkShortNames("svcclass")
	kubectl := exec.CommandContext(t.Context(), c.bed.Program("kubectl"), "--kubeconfig", c.bed.Kubeconfig(testbed.Admin), "get", "svcclass")
	out, err := kubectl.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^NAME +IMPORTANCE +AVAILABILITY +PRIORITY +DEFAULT +ACCEPTED +WORKLOADS +KEPT +AT RISK +AGE\ngold +1 +99.95% +-5 `).Match(out) {
		t.Errorf("kubectl get svcclass: %v\n%s", err, out)
	}
}

// checkShortNames fails if more than one resource that is served has one of these short names, or none.
func (c *cluster) checkShortNames(names ...string) {
	c.t.Helper()
	_, lists, err := c.client.Discovery().ServerGroupsAndResources()
	c.must(err)
	for _, name := range names {
		var has []string
		for _, list := range lists {
			for _, r := range list.APIResources {
				if slices.Contains(r.ShortNames, name) || r.Name == name {
					has = append(has, r.Name+"."+list.GroupVersion)
				}
			}
		}
		if len(has) != 1 {
			c.t.Errorf("the short name %s is that of %v", name, has)
		}
	}
}

// A thousand pods wait while what is promised to them changes: none is lost, none is placed that may not use its class, and no scheduler begins anew. A tenant changes neither classes nor what they say of themselves.
func TestServiceClassesChangeWhilePodsWait(t *testing.T) {
	c, of := defined(t)
	for name, spec := range map[string]string{
		"gold": `{importance: 1, availability: 99%, namespaceSelector: {matchLabels: {team: shop}}}`,
		"rest": `{importance: 9, default: true}`,
	} {
		_, err := of.Create(t.Context(), serviceClass(t, name, spec), strictly())
		c.must(err)
	}
	// Nobody leaves for those who are promised more, so that all that come are there in the end.
	profile := "{schedulerName: " + testbed.FairleadProfile + ", policy: fairlead, evictions: {enabled: false}}"
	c.must(c.bed.StartFairlead(t.Context(), build(t), profile, 10_000))
	c.addNodes(1, "n", "1")
	gold := func(p *v1.Pod) { p.Labels = map[string]string{classes.Label: "gold"} }
	c.create(several(500, "gold", gold, cpu("1"))...)
	c.create(several(500, "rest", cpu("1"))...)
	why := c.awaitCondition("gold-7", held)
	if !strings.Contains(why, `its label fairlead.dev/class is "gold": namespaceSelector of the ServiceClass does not let this namespace use it, which may use ["none" "rest"]`) {
		t.Errorf("a pod of a class that its namespace may not use says %q", why)
	}
	c.awaitBound(20*time.Second, 1)

	// The namespace gets its label, and the class another promise, while they wait.
	_, err := c.client.CoreV1().Namespaces().Update(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace, Labels: map[string]string{"team": "shop"}}}, metav1.UpdateOptions{})
	c.must(err)
	object, err := of.Get(t.Context(), "gold", metav1.GetOptions{})
	c.must(err)
	c.must(unstructured.SetNestedField(object.Object, "50%", "spec", "availability"))
	_, err = of.Update(t.Context(), object, metav1.UpdateOptions{})
	c.must(err)
	c.await(20*time.Second, func() string {
		read := &v1alpha1.ServiceClass{}
		object, err := of.Get(t.Context(), "gold", metav1.GetOptions{})
		c.must(err)
		c.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, read))
		if a := meta.FindStatusCondition(read.Status.Conditions, v1alpha1.Accepted); a == nil || a.Status != metav1.ConditionTrue || a.ObservedGeneration != object.GetGeneration() {
			return fmt.Sprintf("gold to be accepted as it is now: %+v", a)
		}
		return ""
	})
	c.addNodes(40, "m", "25")
	c.awaitBound(2*time.Minute, 1000)
	c.checkRoom()

	c.must(testbed.StartControllers(t.Context(), c.bed, "clusterrole-aggregation-controller")) // which has view and edit take in ours
	tenant := c.tenant("tenant")
	c.await(20*time.Second, func() string {
		if _, err := tenant.Get(t.Context(), "gold", metav1.GetOptions{}); err != nil {
			return "a tenant to see which classes there are: " + err.Error()
		}
		return ""
	})
	if _, err := tenant.Create(t.Context(), serviceClass(t, "mine", `{importance: 0, availability: "1", namespaceSelector: {}}`), strictly()); !apierrors.IsForbidden(err) {
		t.Errorf("a tenant creates a class: %v", err)
	}
	if _, err := tenant.Patch(t.Context(), "gold", "application/merge-patch+json", []byte(`{"status": {"conditions": []}}`), metav1.PatchOptions{}, "status"); !apierrors.IsForbidden(err) {
		t.Errorf("a tenant writes what is said of a class: %v", err)
	}
}

// tenant is a client of ServiceClasses for a user who may do in the test's namespace what the role edit lets it, and may see what view lets it in the cluster.
func (c *cluster) tenant(user string) dynamic.ResourceInterface {
	c.t.Helper()
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	_, err := c.client.RbacV1().RoleBindings(c.namespace).Create(c.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}, Subjects: subjects,
	}, metav1.CreateOptions{})
	c.must(err)
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(c.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}, Subjects: subjects,
	}, metav1.CreateOptions{})
	c.must(err)
	config := c.bed.Config(testbed.Admin)
	config.Impersonate.UserName = user
	client, err := dynamic.NewForConfig(config)
	c.must(err)
	return client.Resource(scheduler.ServiceClasses())
}
