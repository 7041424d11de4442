package classes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/sizes"
)

// serviceClass is one of that name and age, with a spec as people write it.
func serviceClass(t *testing.T, name string, age time.Duration, spec string) *v1alpha1.ServiceClass {
	t.Helper()
	c := &v1alpha1.ServiceClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))}}
	if err := kyaml.UnmarshalStrict([]byte(spec), &c.Spec); err != nil {
		t.Fatal(err)
	}
	return c
}

// sample has a class for each way by which pods come to one.
func sample(t *testing.T) []*v1alpha1.ServiceClass {
	t.Helper()
	return []*v1alpha1.ServiceClass{
		serviceClass(t, "gold", 3*time.Hour, `{importance: 1, availability: 99.9%, margin: 1m, priorityAtLeast: 1000, namespaceSelector: {matchLabels: {team: shop}}}`),
		serviceClass(t, "silver", 2*time.Hour, `{importance: 2, availability: "0.95", overheadBudget: "0.02", priorityAtLeast: 100, namespaceSelector: {}}`),
		serviceClass(t, "rest", time.Hour, `{importance: 9, default: true}`),
		serviceClass(t, "hidden", time.Hour, `{importance: 3, availability: "0.5", leastRun: 1h30m}`),
	}
}

func TestWhoHasWhichClass(t *testing.T) {
	p, verdicts := Read(sample(t))
	for _, v := range verdicts {
		if v.Reason != v1alpha1.ReasonAccepted {
			t.Errorf("%s: %s: %s", v.Object.Name, v.Reason, v.Message)
		}
	}
	for _, test := range []struct {
		name, team string
		priority   int32
		want       string
	}{
		{"", "shop", 5000, "gold"},
		{"", "labs", 5000, "silver"}, // gold is not theirs, and silver's priority is reached as well
		{"", "labs", 100, "silver"},
		{"", "labs", 99, "rest"},
		{"", "", math.MinInt32, "rest"},
		{"gold", "shop", 0, "gold"},
		{"gold", "labs", 0, `rest: namespaceSelector of the ServiceClass does not let this namespace use it, which may use ["none" "rest" "silver"]`},
		{"rest", "labs", 5000, "rest"},
		{"none", "labs", 5000, "none"},
		{"hidden", "shop", 0, `rest: namespaceSelector of the ServiceClass does not let this namespace use it, which may use ["gold" "none" "rest" "silver"]`},
		{"glod", "shop", 0, "rest: no such class; did you mean gold?"},
	} {
		at, err := p.Of(Pod{Name: test.name, Labelled: test.name != "", Priority: test.priority, Namespace: labels.Set{"team": test.team}})
		got := p.Classes[at].Name
		if err != nil {
			got += ": " + err.Error()
		}
		if got != test.want {
			t.Errorf("a pod of team %q that names %q with priority %d: %s, want %s", test.team, test.name, test.priority, got, test.want)
		}
	}
	silver, _ := p.ByName("silver")
	if c := p.Classes[silver]; c.Availability != 950_000 || c.Budget != 20_000 || c.Importance != 2 {
		t.Errorf("silver is %+v", c)
	}
	hidden, _ := p.ByName("hidden")
	if c := p.Classes[hidden]; c.LeastRun != 90*cluster.Minute || p.Classes[silver].LeastRun != 0 {
		t.Errorf("hidden is %+v", c)
	}
	gold, _ := p.ByName("gold")
	if c := p.Classes[gold]; c.Availability != 999_000 || c.Budget != 1_000 || c.Margin != cluster.Minute {
		t.Errorf("gold is %+v", c)
	}
}

// Tiers, replicas, sizes and levels are read.
func TestManners(t *testing.T) {
	p, _ := Read([]*v1alpha1.ServiceClass{serviceClass(t, "gold", time.Hour, `{importance: 1, size: Premium, redundancy: Advanced, tier: {disk: ssd}, replicas: 3, sizes: {cpu: "1.5", memory: "10"}}`), serviceClass(t, "rest", time.Hour, `{importance: 2}`)})
	gold, _ := p.ByName("gold")
	if c := p.Classes[gold]; c.Size != cluster.Premium || c.Redundancy != cluster.Advanced || c.Replicas != 3 || c.Tier != 0 {
		t.Errorf("gold is %+v", c)
	}
	if m := p.Manner(int(gold)); !m.Same(Manner{Tier: labels.Set{"disk": "ssd"}, Sizes: sizes.Factors{CPU: 150, Memory: 1000}}) {
		t.Errorf("gold asks for %+v", m)
	}
	rest, _ := p.ByName("rest")
	if m := p.Manner(int(rest)); !m.Same(Manner{}) {
		t.Errorf("rest asks for %+v", m)
	}
}

// Price and credits mean what they mean in a table: what a replica costs, and what it gets back where its promise was broken.
func TestBills(t *testing.T) {
	p, verdicts := Read([]*v1alpha1.ServiceClass{
		serviceClass(t, "gold", time.Hour, `{importance: 1, availability: "0.9", urgency: Premium, price: {unitHour: "2", urgency: 50%}, credits: [{attained: "0.5", back: 20%}, {attained: "0", back: "1"}]}`),
		serviceClass(t, "plain", time.Hour, `{importance: 2, availability: "0.5"}`),
		serviceClass(t, "wrong", time.Hour, `{importance: 2, availability: "0.5", credits: [{attained: "0.9", back: "0.1"}, {attained: "0.5", back: "1"}]}`),
		serviceClass(t, "dear", time.Hour, `{importance: 2, availability: "0.5", price: {unitHour: "9999999"}}`),
	})
	for i, want := range map[int]string{0: "spec.price.unitHour: ", 3: "spec.credits[1]: attained is 0.5, want 0 in the last row"} {
		if v := verdicts[i]; v.Reason != v1alpha1.ReasonInvalid || !strings.HasPrefix(v.Message, want) {
			t.Errorf("%s: %s: %s, want %q", v.Object.Name, v.Reason, v.Message, want)
		}
	}
	const hour = cluster.Hour
	for _, test := range []struct {
		class            string
		running, waiting cluster.Time
		millicores       int64
		charge, credit   string
	}{
		{"gold", 9 * hour, hour, 2000, "54.000000", "0.000000"},      // kept
		{"gold", 6 * hour, 4 * hour, 2000, "36.000000", "10.800000"}, // a fifth of two cores for nine hours
		{"gold", 1 * hour, 9 * hour, 2000, "6.000000", "54.000000"},  // all of it
		{"plain", 0, 2 * hour, 1000, "0.000000", "0.500000"},         // by what is promised
		{"none", 9 * hour, hour, 2000, "0.000000", "0.000000"},       // nothing is, and nothing owed
		{"silver", 9 * hour, hour, 2000, "0.000000", "0.000000"},     // there is no such class
	} {
		charge, credit := p.Bill(test.class, cluster.Account{Running: test.running, Waiting: test.waiting}, test.millicores)
		if charge.String() != test.charge || credit.String() != test.credit {
			t.Errorf("%s, %v running and %v waiting: it owes %v and gets back %v, want %s and %s", test.class, test.running, test.waiting, charge, credit, test.charge, test.credit)
		}
	}
	of := func(priced string) string {
		table, err := class.Decode("table", []byte("priced: "+priced+"\nclasses: [{name: gold, availability: 1}]"))
		if err != nil {
			t.Fatal(err)
		}
		charge, _ := Open(table).Bill("gold", cluster.Account{Running: hour}, 1000)
		return charge.String()
	}
	if of("cpu") != "1.000000" || of("memory") != "0.000000" {
		t.Errorf("a table that prices cpu charges %s, and one that prices memory %s", of("cpu"), of("memory"))
	}
}

// What two classes say, the older one has: as the default, and by a priority.
func TestTheOlderClassWins(t *testing.T) {
	p, verdicts := Read([]*v1alpha1.ServiceClass{
		serviceClass(t, "new", time.Minute, `{importance: 1, priorityAtLeast: 10, default: true}`),
		serviceClass(t, "old", time.Hour, `{importance: 2, priorityAtLeast: 10, default: true}`),
	})
	for priority, want := range map[int32]string{10: "old", 0: "old"} {
		if at, _ := p.Of(Pod{Priority: priority}); p.Classes[at].Name != want {
			t.Errorf("priority %d has %s, want %s", priority, p.Classes[at].Name, want)
		}
	}
	if v := verdicts[0]; v.Reason != v1alpha1.ReasonConflict || !v.Accepted() ||
		v.Message != "It counts but for this: old is the default already, and older; old has the pods from priority 10 on already, and is older." {
		t.Errorf("new: %s: %s", v.Reason, v.Message)
	}
	if v := verdicts[1]; v.Reason != v1alpha1.ReasonAccepted {
		t.Errorf("old: %s: %s", v.Reason, v.Message)
	}
	if at, err := p.Of(Pod{Name: "new", Labelled: true}); err == nil {
		t.Errorf("whoever names new has %s, though it is not the default, and says no namespace", p.Classes[at].Name)
	}
}

// What the schema of the API lets through and means nothing is said in its own words, and counts for nobody.
func TestInvalidClassesAreNamed(t *testing.T) {
	bad := map[string]string{
		"no-share":    `{importance: 1, availability: "0.1234567"}`,
		"no-time":     `{importance: 1, availability: "0.9", margin: "0.5us"}`,
		"no-budget":   `{importance: 1, availability: "0.9", overheadBudget: "101%"}`,
		"no-least":    `{importance: 1, leastRun: "0.5us"}`,
		"no-end":      `{importance: 1, leastRun: 400000d}`,
		"no-tier":     `{importance: 1, tier: {"disk of mine": ssd}}`,
		"no-factor":   `{importance: 1, sizes: {cpu: "0.99"}}`,
		"no-digits":   `{importance: 1, sizes: {memory: "1.001"}}`,
		"no-selector": `{importance: 1, namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}}`,
	}
	objects := []*v1alpha1.ServiceClass{serviceClass(t, "good", time.Hour, `{importance: 1, default: true}`)}
	for name, spec := range bad {
		objects = append(objects, serviceClass(t, name, time.Minute, spec))
	}
	p, verdicts := Read(objects)
	want := map[string]string{
		"no-share":    "spec.availability",
		"no-time":     "spec.margin",
		"no-budget":   "spec.overheadBudget",
		"no-least":    "spec.leastRun",
		"no-end":      "spec.leastRun",
		"no-tier":     "spec.tier",
		"no-factor":   "spec.sizes.cpu",
		"no-digits":   "spec.sizes.memory",
		"no-selector": "spec.namespaceSelector",
	}
	for _, v := range verdicts {
		if field := want[v.Object.Name]; v.Accepted() != (field == "") || !strings.HasPrefix(v.Message, field) {
			t.Errorf("%s: %s: %s", v.Object.Name, v.Reason, v.Message)
		}
	}
	if got := fmt.Sprint(p.Names()); got != "[good none]" {
		t.Errorf("classes are %s", got)
	}
}

// Of a namespace whose labels are not known yet it is not known what they lack.
func TestUnknownNamespaces(t *testing.T) {
	p, _ := Read([]*v1alpha1.ServiceClass{
		serviceClass(t, "ours", time.Hour, `{importance: 1, namespaceSelector: {matchExpressions: [{key: tenant, operator: DoesNotExist}]}}`),
		serviceClass(t, "free", time.Hour, `{importance: 2, namespaceSelector: {}}`),
	})
	for name, want := range map[string]bool{"ours": false, "free": true} {
		if _, err := p.Of(Pod{Name: name, Labelled: true}); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of more classes than can be told apart the oldest count.
func TestTooManyClasses(t *testing.T) {
	var objects []*v1alpha1.ServiceClass
	for i := range cluster.MaxClasses + 3 {
		objects = append(objects, serviceClass(t, fmt.Sprintf("class-%03d", i), time.Duration(i)*time.Hour, `{importance: 1}`))
	}
	p, verdicts := Read(objects)
	if err := cluster.CheckClasses(p.Rows()); err != nil || len(p.Classes) != cluster.MaxClasses {
		t.Errorf("%d classes, %v", len(p.Classes), err)
	}
	for i, v := range verdicts {
		if accepted := i > 3; v.Accepted() != accepted {
			t.Errorf("%s: %s", v.Object.Name, v.Reason)
		}
	}
}

// Promises are the same if they say the same, whoever was read first.
func TestSamePromises(t *testing.T) {
	objects := sample(t)
	one, _ := Read(objects)
	slices.Reverse(objects)
	if other, _ := Read(objects); !one.Same(other) {
		t.Error("the order of what was listed matters")
	}
	objects[0].Spec.NamespaceSelector = &metav1.LabelSelector{}
	if other, _ := Read(objects); one.Same(other) {
		t.Errorf("that all may use %s is not seen", objects[0].Name)
	}
}

// Without any class nothing is promised, and no label means anything.
func TestNoClasses(t *testing.T) {
	p, _ := Read(nil)
	if _, err := p.Of(Pod{Name: "gold", Labelled: true}); err != nil || !p.Nothing() {
		t.Errorf("%v, nothing %t", err, p.Nothing())
	}
}
