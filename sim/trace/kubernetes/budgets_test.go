package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/sim/trace"
)

// web is so many pods of a deployment that run on a node.
func web(pods int) string {
	text := flow + "{kind: Node, metadata: {name: n}}\n---\n"
	for i := range pods {
		text += fmt.Sprintf("{kind: Pod, metadata: {name: web-%d, namespace: shop, labels: {app: web, pod-template-hash: x}, ownerReferences: [{kind: ReplicaSet, name: web-x, uid: u, controller: true}]}, spec: {nodeName: n}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}\n---\n", i)
	}
	return text
}

// guarding is a budget of pods with the label.
func guarding(spec, label string) string {
	return "{kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {" + spec + ", selector: {matchLabels: {" + label + "}}}}\n---\n"
}

const replicas = "{kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 7}}\n---\n"

// TestBudgets: a budget wants as many pods available as Kubernetes computes, of its expected ones, rounded as it does.
func TestBudgets(t *testing.T) {
	const bare = "{kind: Pod, metadata: {name: a, namespace: shop, labels: {app: bare}}, spec: {nodeName: n}}\n---\n{kind: Pod, metadata: {name: b, namespace: shop, labels: {app: bare}}, spec: {nodeName: n}}\n---\n"
	const job = "{kind: Pod, metadata: {name: j, namespace: shop, labels: {app: job}, ownerReferences: [{kind: Job, name: j, uid: j, controller: true}]}, spec: {nodeName: n}}\n---\n"
	for _, c := range []struct {
		name, text string
		want       string
	}{
		{"a number", web(5) + guarding("minAvailable: 3", "app: web"), "3"},
		{"a share, rounded up", web(5) + guarding("minAvailable: 50%", "app: web"), "3"},
		{"a share of the replicas", web(5) + replicas + guarding("minAvailable: 50%", "app: web"), "4"},
		{"a number may be down", web(5) + guarding("maxUnavailable: 1", "app: web"), "4"},
		{"a share may be down, rounded up", web(5) + guarding("maxUnavailable: 30%", "app: web"), "3"},
		{"a share of the replicas may be down", web(5) + replicas + guarding("maxUnavailable: 30%", "app: web"), "4"},
		{"more than there are may be down", web(5) + guarding("maxUnavailable: 9", "app: web"), "0"},
		{"none may be down", web(5) + guarding("maxUnavailable: 0", "app: web"), "5"},
		{"all are wanted", web(5) + guarding("minAvailable: 100%", "app: web"), "5"},
		{"nothing is said", web(5) + guarding("minAvailable: null", "app: web"), "5"},
		{"it frees unready ones", web(5) + guarding("minAvailable: 3, unhealthyPodEvictionPolicy: AlwaysAllow", "app: web"), "3 and frees unready ones"},
		{"nobody made them", web(1) + bare + guarding("maxUnavailable: 50%", "app: bare"), "2"},
		{"nobody made them, and a number is wanted", web(1) + bare + guarding("minAvailable: 1", "app: bare"), "1"},
		{"a job made them", web(1) + job + guarding("maxUnavailable: 50%", "app: job"), "1"},
		{"it selects nobody", web(1) + guarding("maxUnavailable: 50%", "app: db"), ""},
		{"no selector", web(1) + "{kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {minAvailable: 1}}", ""},
		{"an empty selector", web(3) + "{kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {minAvailable: 2, selector: {}}}", "2"},
		{"an empty selector elsewhere", web(3) + "{kind: PodDisruptionBudget, metadata: {name: b, namespace: bar}, spec: {minAvailable: 2, selector: {}}}", ""},
		{"by expression", web(3) + "{kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {minAvailable: 2, selector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}}}", "2"},
	} {
		all, s, err := readText(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, got, _ := strings.Cut(picture(s, all), "shop/b wants ")
		if got, _, _ = strings.Cut(got, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		s.given = 0
		again, second := again(t, s, lossless(t))
		if diff := gocmp.Diff(picture(s, all), picture(second, again)); diff != "" {
			t.Errorf("%s, written: %s", c.name, diff)
		}
	}
}

// TestGuarded: pods count for the budgets that select them, but for those that leave; of two each says both.
func TestGuarded(t *testing.T) {
	text := strings.Replace(web(3), "status: 'True'", "status: 'False'", 1)
	text = strings.Replace(text, "{name: web-2,", "{name: web-2, deletionTimestamp: '2026-01-01T00:00:00Z',", 1)
	text += guarding("minAvailable: 1", "app: web") + strings.Replace(guarding("minAvailable: 1", "app: web"), "name: b", "name: a", 1)
	all, s, err := readText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	wantPicture(t, s, all, `
0 n
shop/a wants 1
shop/b wants 1
shop/web-0 0/0 of 3 user=shop class=0 priority=0 pods=1 on 0 of shop/a and shop/b unready
shop/web-1 0/1 of 3 user=shop class=0 priority=0 pods=1 on 0 of shop/a and shop/b
shop/web-2 0/2 of 3 user=shop class=0 priority=0 pods=1 on 0
`)
}

func TestBrokenBudgets(t *testing.T) {
	for spec, want := range map[string]string{
		"minAvailable: some":                "spec.minAvailable: want a number that is not negative, or a percentage such as 25%, got",
		"minAvailable: '3'":                 "spec.minAvailable: want a number",
		"maxUnavailable: -1":                "spec.maxUnavailable: want a number",
		"maxUnavailable: 1.5":               "spec.maxUnavailable: want a number",
		"maxUnavailable: {}":                "spec.maxUnavailable: want a number",
		"unhealthyPodEvictionPolicy: Never": "spec.unhealthyPodEvictionPolicy: want IfHealthyBudget or AlwaysAllow, got \"Never\"",
	} {
		if _, _, err := readText(t, web(1)+guarding(spec, "app: web")); err == nil || !strings.Contains(err.Error(), "poddisruptionbudget shop/b: "+want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
	const selector = "{kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {minAvailable: 2, selector: {matchExpressions: [{key: app, operator: Near}]}}}"
	if _, _, err := readText(t, web(1)+selector); err == nil || !strings.Contains(err.Error(), "spec.selector.matchExpressions[0].operator: want one of") {
		t.Error(err)
	}
}

// TestWriteBudgetsOfOthers: a budget whose tasks are of several users is none of Kubernetes'.
func TestWriteBudgetsOfOthers(t *testing.T) {
	all, s, err := readText(t, web(2)+guarding("minAvailable: 1", "app: web"))
	if err != nil {
		t.Fatal(err)
	}
	all[len(all)-1].Task.User = "other"
	lost := map[string]int{}
	_, _ = again(t, &records{s.kinds, all}, func(_ *trace.Record, what string) error { lost[what]++; return nil })
	if diff := gocmp.Diff(map[string]int{"budgets that come later, or of tasks of several users": 1}, lost); diff != "" {
		t.Error(diff)
	}
}
