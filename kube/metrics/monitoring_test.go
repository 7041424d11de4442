package metrics_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	kyaml "sigs.k8s.io/yaml"
)

// Alerts and dashboards of the chart ask for metrics that there are, each by labels that it has: one that is misspelled would be silent for ever.
func TestAlertsAndDashboards(t *testing.T) {
	known := map[string][]string{} // the labels of each series
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
	for _, expression := range append(alerts, panels...) {
		for _, problem := range unknownIn(expression, known) {
			t.Errorf("%s\n  in %s", problem, expression)
		}
	}
}

// TestUnknownIn: the check finds what it is for.
func TestUnknownIn(t *testing.T) {
	known := map[string][]string{"fairlead_rounds_total": {"job"}, "scheduler_pending_pods": {"job", "queue"}}
	for expression, want := range map[string]string{
		`sum by (queue) (scheduler_pending_pods{job="a",queue="active"}) > 0 and sum(rate(fairlead_rounds_total{job="a"}[5m])) == 0`: "",
		`absent(up{job="a"} == 1)`:                          "",
		`rate(fairlead_round_total{job="a"}[5m])`:           "there is no metric fairlead_round_total",
		`fairlead_rounds_total{job="a",queue="active"}`:     "fairlead_rounds_total has no label queue",
		`sum by (plugin) (scheduler_pending_pods{job="a"})`: "nothing there has the label plugin",
		`scheduler_pending_pods{queue="active"}`:            "scheduler_pending_pods is not asked for by job",
	} {
		if got := strings.Join(unknownIn(expression, known), "; "); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// unknownIn says what of an expression there is not. It reads no PromQL but what is written here: names with selectors, and labels to group by.
func unknownIn(expression string, known map[string][]string) (problems []string) {
	var all []string // labels that something in it has
	series := regexp.MustCompile(`\b((?:scheduler|fairlead)_\w+)(?:\{([^}]*)\})?`)
	for _, match := range series.FindAllStringSubmatch(expression, -1) {
		labels, is := known[match[1]]
		if !is {
			problems = append(problems, "there is no metric "+match[1])
			continue
		}
		all = append(all, labels...)
		asked := ""
		for _, selector := range regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"[^"]*"`).FindAllStringSubmatch(match[2], -1) {
			asked += selector[1] + " "
			if !slices.Contains(labels, selector[1]) {
				problems = append(problems, match[1]+" has no label "+selector[1])
			}
		}
		if !strings.Contains(asked, "job ") { // kube-scheduler has metrics of these names
			problems = append(problems, match[1]+" is not asked for by job")
		}
	}
	for _, by := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(expression, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			if label = strings.TrimSpace(label); len(all) > 0 && !slices.Contains(all, label) {
				problems = append(problems, "nothing there has the label "+label)
			}
		}
	}
	return problems
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

func panelExpressions(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../deploy/chart/dashboards/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Panels []struct {
				Type, Title, Description string
				Targets                  []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, panel := range dashboard.Panels {
			if panel.Type != "row" && (panel.Description == "" || len(panel.Targets) == 0) {
				t.Errorf("%s: the panel %q says or shows nothing", file, panel.Title)
			}
			for _, target := range panel.Targets {
				all = append(all, target.Expr)
			}
		}
	}
	return all
}
