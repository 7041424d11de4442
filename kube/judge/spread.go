package judge

// Exact spread counts under any sequence of pods.
//
// Upstream's PodTopologySpread keeps, for each constraint, the matching pods of every domain and the two lowest of these counts. Its AddPod and RemovePod
// extensions were written for preemption, which changes pods of one node and then throws the state away, and are not exact beyond that:
//
//   - The two lowest counts are only ever compared with the domain that changed. With three domains at 0, adding a pod to the first and then one to the
//     second leaves a recorded minimum of 1, while the third still has 0. A node is then allowed that a fresh PreFilter refuses.
//   - A terminating pod is counted by the extensions, but not by PreFilter.
//
// The wrapper skips terminating pods and, when the recorded minimum rose, looks for the two lowest counts again. A removal needs no search: the minimum
// can only sink to the count that just changed, which upstream does compare. So a search over the domains happens once per rise of the minimum, not once
// per pod. The state is a private type of upstream's with exported fields ("exported for comparison during testing"), which reflection may read and set;
// mend panics with a sentence when a later Kubernetes shapes it otherwise, and the property test of this package fails before that.

import (
	"context"
	"fmt"
	"math"
	"reflect"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// spreadStateKey is where upstream's plugin writes its PreFilter state.
const spreadStateKey fwk.StateKey = "PreFilter" + podtopologyspread.Name

// spread is upstream's plugin with exact extensions.
type spread struct {
	*podtopologyspread.PodTopologySpread
}

// PreFilterExtensions returns the plugin itself, so that its AddPod and RemovePod take the place of upstream's.
func (s *spread) PreFilterExtensions() fwk.PreFilterExtensions { return s }

// AddPod counts a pod that was added to the node.
func (s *spread) AddPod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, added fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	if added.GetPod().DeletionTimestamp != nil {
		return nil
	}
	counts, err := readSpread(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	before := counts.minima()
	status := s.PodTopologySpread.AddPod(ctx, state, pod, added, node)
	for i, minimum := range counts.minima() {
		if minimum > before[i] {
			counts.mend(i)
		}
	}
	return status
}

// RemovePod takes back a pod that was removed from the node.
func (s *spread) RemovePod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, removed fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	if removed.GetPod().DeletionTimestamp != nil {
		return nil
	}
	return s.PodTopologySpread.RemovePod(ctx, state, pod, removed, node)
}

// spreadCounts is upstream's state seen from outside.
type spreadCounts struct {
	// domains has a map for each constraint, from a value of the topology key to the matching pods there.
	domains []map[string]int
	// lowest has a pair of counts for each constraint, the lower first.
	lowest []*lowestCounts
}

// lowestCounts has the shape of upstream's private type, so that a pointer to that is one to this.
type lowestCounts [2]struct {
	TopologyValue string
	MatchNum      int
}

// readSpread finds upstream's state and checks that it still has the shape that we know.
func readSpread(state fwk.CycleState) (spreadCounts, error) {
	data, err := state.Read(spreadStateKey)
	if err != nil {
		return spreadCounts{}, fmt.Errorf("read the spread state of the pod to place: %w", err)
	}
	value := reflect.Indirect(reflect.ValueOf(data))
	domains, known := reflect.TypeAssert[[]map[string]int](value.FieldByName("TpValueToMatchNum"))
	pairs := value.FieldByName("CriticalPaths")
	ours := reflect.TypeFor[*lowestCounts]()
	if !known || pairs.Kind() != reflect.Slice || !pairs.Type().Elem().ConvertibleTo(ours) || pairs.Len() != len(domains) {
		panic(fmt.Sprintf("judge: upstream's %T is no longer one map and two lowest counts a constraint: adapt kube/judge/spread.go", data))
	}
	counts := spreadCounts{domains, make([]*lowestCounts, len(domains))}
	for i := range counts.lowest {
		counts.lowest[i], _ = reflect.TypeAssert[*lowestCounts](pairs.Index(i).Convert(ours))
	}
	return counts, nil
}

// minima are the recorded minima of all constraints.
func (c spreadCounts) minima() []int {
	minima := make([]int, len(c.lowest))
	for i, of := range c.lowest {
		minima[i] = of[0].MatchNum
	}
	return minima
}

// mend records the two lowest counts of the constraint anew. Which of several equal domains is recorded does not matter to the filter; taking the first by
// name keeps the state itself the same from run to run.
func (c spreadCounts) mend(constraint int) {
	type domain struct {
		value string
		count int
	}
	before := func(a, b domain) bool { return a.count < b.count || a.count == b.count && a.value < b.value }
	low, next := domain{count: math.MaxInt32}, domain{count: math.MaxInt32}
	for value, count := range c.domains[constraint] {
		switch d := (domain{value, count}); {
		case before(d, low):
			low, next = d, low
		case before(d, next):
			next = d
		}
	}
	for which, d := range []domain{low, next} {
		c.lowest[constraint][which].TopologyValue, c.lowest[constraint][which].MatchNum = d.value, d.count
	}
}
