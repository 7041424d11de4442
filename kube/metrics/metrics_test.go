package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"fairlead.dev/fairlead/kube/metrics"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files in testdata")
	m.Run()
}

// counted is every metric after each of them counted something: one that has
// labels does not show before.
func counted(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry)
	m.Pods.Attempted(metrics.Scheduled, "fairlead", time.Second)
	m.Pods.Decided(time.Millisecond)
	m.Pods.Bound(1, time.Second)
	m.Pods.Bound(15, time.Minute)
	m.Pods.SetPending(metrics.Active, 3)
	m.Pods.AddUnschedulable("NodeAffinity", "fairlead", 2)
	m.Pods.AddUnschedulable("NodeAffinity", "fairlead", -1)
	m.Rounds.Ended(metrics.Round{Rounds: 1, Took: time.Second, Ticks: 1000, Placements: 7})
	m.Rounds.LastWordRefused("VolumeBinding")
	m.Rounds.BundlesRefused(1)
	m.Rounds.EligibilityEvaluated(5)
	m.Rounds.Recorded(100)
	m.Binds.Began()
	m.Binds.Began()
	m.Binds.Ended(metrics.BindConflict, time.Millisecond)
	m.Binds.Ambiguous()
	m.Binds.Wrote("pods/binding", "create", "ok")
	m.Evictions.Ended(metrics.EvictionRefused)
	m.Evictions.Preempted(metrics.OfPod, metrics.Preemption{Victims: 3})
	m.Evictions.Preempted(metrics.OfPodGroup, metrics.Preemption{Victims: 5, Groups: 2, Violations: 4})
	m.Evictions.Executed(metrics.OfPodGroup, false, time.Second)
	m.Evictions.Executed(metrics.OfPodGroup, true, time.Second)
	m.PodGroups.Attempted(metrics.WaitingOnPreemption, "fairlead", time.Second)
	m.PodGroups.Unplaced("fairlead")
	m.Evictions.SetPending(2, 1)
	for _, total := range []int64{0, 2, 3, 0, 1} { // the next core begins anew
		m.Evictions.WithoutPlacement(total)
	}
	m.Cluster.SetCached(metrics.Nodes, 4)
	m.Cluster.Stale(1)
	m.Cluster.Epoch("elected")
	m.Cluster.SetLeftOut(872, 3, 2)
	m.Cluster.Panicked("pod")
	m.Cluster.SetAside(1, 2, 3)
	m.Cluster.Promised(true)
	m.Configuration.Read([]string{"profiles", "record.path"})
	m.Configuration.Refused()
	m.Configuration.Read([]string{"profiles"})
	m.Shadow.Compared(1, 2)
	m.Shadow.Count(metrics.Shadowed{
		Same: 1, Different: 2, Unplaced: 3, Earlier: 4, Ours: metrics.ShadowSide{Opened: 5, Hard: 6, Soft: 7, Victims: 8}, Theirs: metrics.ShadowSide{Opened: 9, Hard: 10, Soft: 11, Victims: 12},
	})
	m.Programs.Planned(metrics.Planned{By: "search"})
	m.Programs.Planned(metrics.Planned{By: "programs", Bounded: true, Gap: 1.5})
	m.Programs.Planned(metrics.Planned{By: "search", Bounded: true, Optimal: true})
	m.Programs.Solved(7)
	m.Programs.Failed(metrics.TooSlow)
	m.Programs.Ready()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestLint(t *testing.T) {
	problems, err := promlint.NewWithMetricFamilies(counted(t)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestNames compares name, type, labels, buckets and help with the golden
// file: dashboards and alerts of other people are written against them.
func TestNames(t *testing.T) {
	var got strings.Builder
	for _, family := range counted(t) {
		fmt.Fprintf(&got, "%s %s%s\n", family.GetName(), strings.ToLower(family.GetType().String()), labels(family))
		if h := family.GetMetric()[0].GetHistogram(); h != nil {
			b := h.GetBucket()
			fmt.Fprintf(&got, "    %d buckets from %g to %g\n", len(b), b[0].GetUpperBound(), b[len(b)-1].GetUpperBound())
		}
		fmt.Fprintf(&got, "    %s\n", family.GetHelp())
	}
	const golden = "testdata/names.txt"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("metrics (-want +got), run with -update if this is meant:\n%s", diff)
	}
}

func labels(family *dto.MetricFamily) string {
	var names []string
	for _, pair := range family.GetMetric()[0].GetLabel() {
		names = append(names, pair.GetName())
	}
	if len(names) == 0 {
		return ""
	}
	return " {" + strings.Join(names, ",") + "}"
}

// TestValues checks that each method moves the metric that it says.
func TestValues(t *testing.T) {
	want := map[string]float64{ // counts of histograms, values of all others
		"scheduler_schedule_attempts_total{profile=fairlead,result=scheduled}":                                  1,
		"scheduler_scheduling_attempt_duration_seconds{profile=fairlead,result=scheduled}":                      1,
		"scheduler_scheduling_algorithm_duration_seconds{}":                                                     1,
		"scheduler_pod_scheduling_sli_duration_seconds{attempts=1}":                                             1,
		"scheduler_pod_scheduling_sli_duration_seconds{attempts=15+}":                                           1,
		"scheduler_pod_scheduling_attempts{}":                                                                   2,
		"scheduler_pending_pods{queue=active}":                                                                  3,
		"scheduler_unschedulable_pods{plugin=NodeAffinity,profile=fairlead}":                                    1,
		"scheduler_cache_size{type=nodes}":                                                                      4,
		"fairlead_constraint_plans_total{by=search,proven=nothing}":                                             1,
		"fairlead_constraint_plans_total{by=programs,proven=bound}":                                             1,
		"fairlead_constraint_plans_total{by=search,proven=optimal}":                                             1,
		"fairlead_constraint_plan_gap{}":                                                                        2,
		"fairlead_programs_solved_total{}":                                                                      7,
		"fairlead_programs_failures_total{reason=time}":                                                         1,
		"fairlead_programs_ready{}":                                                                             1,
		"fairlead_rounds_total{}":                                                                               1,
		"fairlead_round_duration_seconds{}":                                                                     1,
		"fairlead_round_ticks_total{}":                                                                          1000,
		"fairlead_placements_total{}":                                                                           7,
		"fairlead_last_word_refusals_total{plugin=VolumeBinding}":                                               1,
		"fairlead_bundles_refused_total{}":                                                                      1,
		"fairlead_stale_events_total{}":                                                                         1,
		"fairlead_binds_in_flight{}":                                                                            1,
		"fairlead_bind_duration_seconds{result=conflict}":                                                       1,
		"fairlead_ambiguous_binds_total{}":                                                                      1,
		"fairlead_epochs_total{cause=elected}":                                                                  1,
		"fairlead_panics_total{with=pod}":                                                                       1,
		"fairlead_set_aside{type=pods}":                                                                         1,
		"fairlead_set_aside{type=nodes}":                                                                        2,
		"fairlead_set_aside{type=others}":                                                                       3,
		"fairlead_kinds_left_out{of=nodes}":                                                                     872,
		"fairlead_kinds_left_out{of=pods}":                                                                      3,
		"fairlead_kinds_left_out{of=devices}":                                                                   2,
		"fairlead_class_changes_total{result=taken}":                                                            1,
		"fairlead_configuration_needs_restart{field=profiles}":                                                  1,
		"fairlead_configuration_reads_total{result=refused}":                                                    1,
		"fairlead_configuration_reads_total{result=taken}":                                                      2,
		"fairlead_eligibility_evaluations_total{}":                                                              5,
		"fairlead_api_writes_total{resource=pods/binding,result=ok,verb=create}":                                1,
		"fairlead_recording_bytes_total{}":                                                                      100,
		"fairlead_evictions_total{result=refused}":                                                              1,
		"fairlead_evictions_without_placement_total{}":                                                          4,
		"fairlead_pending_evictions{for=budget}":                                                                2,
		"fairlead_pending_evictions{for=exit}":                                                                  1,
		"scheduler_preemption_attempts_total{}":                                                                 1,
		"scheduler_preemption_victims{}":                                                                        1,
		"scheduler_workload_preemption_attempts_total{result=Success}":                                          1,
		"scheduler_workload_preemption_victims{}":                                                               1,
		"scheduler_preemption_workload_disruptions{preemptor=podgroup}":                                         1,
		"scheduler_preemption_pdb_violations_total{preemptor=podgroup}":                                         4,
		"scheduler_preemption_execution_duration_seconds{preemptor=podgroup,result=success}":                    1,
		"scheduler_preemption_execution_duration_seconds{preemptor=podgroup,result=error}":                      1,
		"scheduler_podgroup_schedule_attempts_total{profile=fairlead,result=waiting_on_preemption}":             1,
		"scheduler_podgroup_schedule_attempts_total{profile=fairlead,result=unschedulable}":                     1,
		"scheduler_podgroup_scheduling_attempt_duration_seconds{profile=fairlead,result=waiting_on_preemption}": 1,
	}
	for result, n := range map[string]float64{"same": 1, "different": 2, "unplaced": 3, "earlier": 4} {
		want["fairlead_shadow_pods_total{result="+result+"}"] = n
	}
	for by, n := range map[string][4]float64{"ours": {5, 6, 7, 8}, "theirs": {9, 10, 11, 12}} {
		want["fairlead_shadow_nodes_opened_total{by="+by+"}"] = n[0]
		want["fairlead_shadow_rules_violated_total{by="+by+",rule=hard}"] = n[1]
		want["fairlead_shadow_rules_violated_total{by="+by+",rule=soft}"] = n[2]
		want["fairlead_shadow_victims_total{by="+by+"}"] = n[3]
		want["fairlead_shadow_placement_latency_seconds{by="+by+"}"] = 1
	}
	got := map[string]float64{}
	for _, family := range counted(t) {
		for _, m := range family.GetMetric() {
			var pairs []string
			for _, pair := range m.GetLabel() {
				pairs = append(pairs, pair.GetName()+"="+pair.GetValue())
			}
			// Those known beforehand are shown at zero, so that a rate has a start.
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if value != 0 {
				got[family.GetName()+"{"+strings.Join(pairs, ",")+"}"] = value
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
