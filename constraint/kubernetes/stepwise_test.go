package kubernetes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/constraint/kubernetes/kubernetestest"
)

// Whatever was placed so far, and whatever runs: the constraints let a pod go where Kubernetes'
// filters do, and nowhere else, where no note says otherwise.
func TestSteps(t *testing.T) {
	for name, features := range map[string]kubernetestest.Features{
		"anti-affinity": {Away: true, Running: true, Broken: true},
		"affinity":      {Together: true, Running: true, Broken: true},
		"spread":        {Spread: true, Running: true, Broken: true},
		"everything":    {Away: true, Together: true, Spread: true, Soft: true, Running: true, Broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			same, exact, noted := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				w := kubernetestest.Draw(t, features)
				w.Stepwise(t)
				d := w.CompareSteps(w.Model)
				lax := slices.ContainsFunc(w.Rules.Notes, func(n kubernetes.Note) bool { return n.Unreachable })
				if s := d.Lax; s != nil && !lax {
					t.Errorf("Kubernetes refuses node %d to %s:\n%s", s.Node, w.Pods[s.Pod], w.Draw(s.At))
				}
				if s := d.Strict; s != nil && len(w.Rules.Notes) == 0 {
					t.Errorf("Kubernetes lets %s go to node %d:\n%s", w.Pods[s.Pod], s.Node, w.Draw(s.At))
				}
				same += d.Same
				if d.Lax == nil && d.Strict == nil {
					exact++
				} else {
					noted++
				}
			})
			t.Logf("%d worlds exact, %d not, %d steps", exact, noted, same)
		})
	}
}

// What rules come to for those who place one pod at a time. Pods of several controllers that
// ask for the same share a constraint, and have no tag beside those that it names.
func TestStepwise(t *testing.T) {
	const web, byZone = "labelSelector: {matchLabels: {app: web}}", "topologyKey: zone"
	spread := "topologySpreadConstraints: [{maxSkew: 1, " + byZone + ", whenUnsatisfiable: DoNotSchedule, " + web + "}]"
	running := func(node string) string {
		return "{kind: Pod, metadata: {name: on-" + node + ", labels: {app: web}}, spec: {nodeName: " + node + ", " + spread + "}}\n---\n"
	}
	pod := func(name, rules string) string {
		return "{kind: Pod, metadata: {name: " + name + ", labels: {app: web, name: " + name + "}}, spec: {" + rules + "}}\n---\n"
	}
	for _, c := range []struct{ name, objects, want string }{
		{
			"one at a time, evenly", deployment("web", 7, spread),
			"{S, {k8s:default/app=web, 0, 1}, zone, over the fewest}: arriving",
		},
		{
			"the first goes anywhere, the rest follow", deployment("web", 3, affinity("podAffinity", "{"+web+", "+byZone+"}")),
			"{S, {k8s:default/app=web, 1, inf}, zone, or the first}: arriving",
		},
		{
			"preferred company", deployment("db", 3, preferred("podAffinity", "{weight: 50, podAffinityTerm: {"+web+", "+byZone+"}}")),
			"{S, {k8s:default/app=web, 1, inf}, zone}: arriving 0.500",
		},
		{
			"whom it rather does not meet, twice", deployment("db", 3, preferred("podAntiAffinity", "{weight: 70, podAffinityTerm: {"+web+", "+byZone+"}}, {weight: 50, podAffinityTerm: {"+web+", "+byZone+"}}")),
			"{S, {k8s:default/app=web, 0, 0}, zone}: arriving 1.200",
		},
		{
			"spread if possible", deployment("web", 2, strings.Replace(spread, "DoNotSchedule", "ScheduleAnyway", 1)),
			"{S, {k8s:default/app=web, 0, 1}, zone, over the fewest}: arriving 1.000",
		},
		{
			"pods without a controller", pod("a", affinity("podAntiAffinity", "{"+web+", "+byZone+"}")) + pod("b", affinity("podAntiAffinity", "{"+web+", "+byZone+"}")),
			"{S, {k8s:default/app=web, 0, 0}, zone} & {k8s:default/app=web, {S, 0, 0}, zone}: arriving",
		},
		{
			"uneven already", running("n1") + strings.Replace(running("n1"), "on-n1", "on-n1-2", 1) + deployment("web", 1, spread),
			"{S, {k8s:default/app=web, 0, 1}, zone, over the fewest}: arriving",
		},
	} {
		cluster, err := read(t, threeZones+c.objects)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := kubernetes.Stepwise(cluster)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range rules.Constraints {
			got = append(got, strings.ReplaceAll(text(&rules.Constraints[i]), "k8s:"+rules.Constraints[i].Name, "S"))
		}
		if got := strings.Join(got, "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		for i, tags := range rules.Tags {
			if len(tags) > 3 {
				t.Errorf("%s: workload %d has the tags %q", c.name, i, tags)
			}
		}
	}
}

// A pod that runs outside of all zones is no company to anybody: the first of its like that waits
// may go to any zone, and the others follow that one.
func TestStepsPastWhoRunsOutsideOfAllDomains(t *testing.T) {
	pod := func(name, rest string) string {
		return "{kind: Pod, metadata: {name: " + name + ", labels: {app: web}, ownerReferences: [{kind: ReplicaSet, name: web}]}, spec: {" +
			affinity("podAffinity", "{labelSelector: {matchLabels: {app: web}}, topologyKey: zone}") + rest + "}}\n---\n"
	}
	const outside = 3
	for running := 1; running <= 2; running++ {
		pods, at := "", slices.Repeat([]int{outside}, running)
		for i := range running {
			pods += pod(fmt.Sprint("runs-", i), ", nodeName: n4")
		}
		w := kubernetestest.Read(t, documents(t, threeZones), documents(t, pods+pod("first", "")+pod("second", "")))
		w.Stepwise(t)
		for _, c := range []struct {
			name  string
			end   []int
			reach bool
		}{
			{"both in a zone", []int{1, 1}, true},
			{"in two zones", []int{0, 1}, false},
			{"beside who runs", []int{outside, outside}, false},
		} {
			if got := w.Reaches(w.Admits, slices.Concat(at, c.end)); got != c.reach {
				t.Errorf("%d run, %s: the constraints lead there: %v, want %v", running, c.name, got, c.reach)
			}
		}
		if d := w.CompareSteps(w.Model); d.Lax != nil || d.Strict != nil || len(w.Rules.Notes) > 0 {
			t.Errorf("%d run: %+v, notes %+v", running, d, w.Rules.Notes)
		}
	}
}
