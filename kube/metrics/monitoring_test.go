package metrics_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	kyaml "sigs.k8s.io/yaml"
)

// Alerts and dashboards of the chart ask for metrics that there are, each by labels that it has: one that is misspelled would be silent for ever.
func TestAlertsAndDashboards(t *testing.T) {
	known := map[string][]string{"up": {"job"}} // the labels of each series
	for _, family := range counted(t) {
		labels := []string{"job", "instance", "pod", "namespace"} // Prometheus' own
		for _, pair := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		if family.GetType() != dto.MetricType_HISTOGRAM {
			known[family.GetName()] = labels
			continue
		}
		known[family.GetName()+"_count"], known[family.GetName()+"_sum"] = labels, labels
		known[family.GetName()+"_bucket"] = append(slices.Clone(labels), "le")
	}
	alerts, panels := alertExpressions(t), panelExpressions(t)
	if len(alerts) < 5 || len(panels) < 10 {
		t.Fatalf("found only %d alerts and %d panels", len(alerts), len(panels))
	}
	for _, problem := range problemsOf(t, append(alerts, panels...), known) {
		t.Error(problem)
	}
}

// TestProblemsOf: the check finds what it is for.
func TestProblemsOf(t *testing.T) {
	known := map[string][]string{"fairlead_rounds_total": {"job"}, "scheduler_pending_pods": {"job", "queue"}, "up": {"job"}}
	for expression, want := range map[string]string{
		`sum by (queue) (scheduler_pending_pods{job="a",queue="active"}) > 0 and sum(rate(fairlead_rounds_total{job="a"}[$__rate_interval])) == 0`: "",
		`absent(up{job="a"} == 1)`:                          "",
		`rate(fairlead_round_total{job="a"}[5m])`:           "there is no metric fairlead_round_total",
		`fairlead_rounds_total{job="a",queue="active"}`:     "fairlead_rounds_total has no label queue",
		`sum by (plugin) (scheduler_pending_pods{job="a"})`: "nothing there has the label plugin",
		`scheduler_pending_pods{queue="active"}`:            "scheduler_pending_pods is not asked for by job",
		`sum by (queue) (scheduler_pending_pods{job="a"}`:   "unclosed left parenthesis",
		`rate(fairlead_rounds_total{job="a"})`:              "expected type range vector",
	} {
		got := problemsOf(t, []string{expression}, known)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// query is what an expression asks for, as testbed/promql says it.
type query struct {
	Error  string
	Series []struct {
		Metric string
		Labels []string
	}
	By []string
}

// problemsOf says what of the expressions there is not, or what Prometheus would refuse.
func problemsOf(t *testing.T, expressions []string, known map[string][]string) (problems []string) {
	t.Helper()
	for i, q := range takenApart(t, expressions) {
		report := func(problem string) { problems = append(problems, problem+"\n  in "+expressions[i]) }
		if q.Error != "" {
			report(q.Error)
		}
		var all []string // labels that something in it has
		for _, s := range q.Series {
			labels, is := known[s.Metric]
			if !is {
				report("there is no metric " + s.Metric)
				continue
			}
			all = append(all, labels...)
			for _, label := range s.Labels {
				if !slices.Contains(labels, label) {
					report(s.Metric + " has no label " + label)
				}
			}
			if !slices.Contains(s.Labels, "job") { // kube-scheduler has metrics of these names
				report(s.Metric + " is not asked for by job")
			}
		}
		for _, label := range q.By {
			if len(all) > 0 && !slices.Contains(all, label) {
				report("nothing there has the label " + label)
			}
		}
	}
	return problems
}

// takenApart takes expressions apart as Prometheus does. Its parser is in a module of its own, as what it needs is not to have a say in what we ship.
func takenApart(t *testing.T, expressions []string) (queries []query) {
	t.Helper()
	var asked []string
	for _, e := range expressions {
		asked = append(asked, strings.ReplaceAll(e, "$__rate_interval", "5m")) // which Grafana does
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "run", ".")
	c.Dir, c.Env, c.Stdin = "../testbed/promql", append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly"), bytes.NewReader(text)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("take expressions apart: %v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(out, &queries); err != nil || len(queries) != len(expressions) {
		t.Fatalf("take expressions apart: %d of %d, %v", len(queries), len(expressions), err)
	}
	return queries
}

func alertExpressions(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/chart/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := kyaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("the alert %s does not say how bad it is, what it is and what to do", rule.Alert)
			}
			all = append(all, rule.Expr)
		}
	}
	return all
}
