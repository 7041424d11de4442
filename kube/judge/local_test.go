package judge

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// A node-local case admits exactly the nodes that each of the plugins, built and asked alone, admits.
func TestLocalCaseIsItsPluginsOneByOne(t *testing.T) {
	judge := newBench(t).judge
	nodes := []*v1.Node{
		makeNode("n1", "zone=a"), makeNode("n2", "zone=b", "role=db:NoSchedule"), cordoned(makeNode("n3", "zone=a")),
		makeNode("n4", "role=db:PreferNoSchedule"), makeNode("n5", "zone=b", "role=db:NoExecute"),
	}
	for _, node := range nodes {
		judge.SetNode(node)
	}
	tolerant := makePod("tolerant")
	tolerant.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	named := makePod("named")
	named.Spec.NodeName = "n1"
	pods := []*v1.Pod{
		makePod("plain"), tolerant, named, wanting(makePod("huge"), "100"),
		selectingNodes(makePod("zone"), "zone", "b"), onlyNode(makePod("only"), "n4"), onlyNode(makePod("nowhere"), "n9"),
	}
	admitted := 0
	for _, pod := range pods {
		local := judge.Local(pod)
		for _, node := range nodes {
			want := true
			for _, name := range nodeLocal()[2:] {
				want = want && admitsAlone(t, judge, name, pod, node.Name)
			}
			if got := local.Admits(node.Name); got != want {
				t.Errorf("pod %s on node %s: the case says %t, the plugins %t", pod.Name, node.Name, got, want)
			}
			if want {
				admitted++
			}
		}
		if local.Admits("n9") {
			t.Errorf("pod %s: a node that is not known is admitted", pod.Name)
		}
	}
	if admitted == 0 || admitted == len(pods)*len(nodes) {
		t.Errorf("%d of %d pairs are admitted, so that nothing was compared", admitted, len(pods)*len(nodes))
	}
}

// admitsAlone builds the plugin and asks it alone.
func admitsAlone(t *testing.T, judge *Judge, name string, pod *v1.Pod, node string) bool {
	t.Helper()
	var args *config.NodeAffinityArgs
	if name == names.NodeAffinity {
		args = &config.NodeAffinityArgs{}
	}
	plugin, err := plugins.NewInTreeRegistry()[name](judge.ctx, args, judge.local)
	if err != nil {
		t.Fatal(err)
	}
	state, info := framework.NewCycleState(), judge.view.byName[node]
	if first, has := plugin.(fwk.PreFilterPlugin); has {
		result, status := first.PreFilter(judge.ctx, state, pod, judge.view.all)
		if status.IsSkip() {
			return true
		}
		if !status.IsSuccess() || !result.AllNodes() && !result.NodeNames.Has(node) {
			return false
		}
	}
	return plugin.(fwk.FilterPlugin).Filter(judge.ctx, state, pod, info).IsSuccess()
}

// A changed node is judged as it is now, by a case that was opened before.
func TestLocalCaseFollowsTheNode(t *testing.T) {
	judge := newBench(t).judge
	judge.SetNode(makeNode("n1"))
	local := judge.Local(makePod("p"))
	if !local.Admits("n1") {
		t.Error("a plain node does not admit a plain pod")
	}
	judge.SetNode(cordoned(makeNode("n1")))
	if local.Admits("n1") {
		t.Error("a cordoned node admits a pod")
	}
	judge.RemoveNode("n1")
	if local.Admits("n1") {
		t.Error("a node that is gone admits a pod")
	}
}

// Pods with the same key get the same answers, and what makes a difference to a filter makes another key.
func TestLocalKey(t *testing.T) {
	judge := newBench(t).judge
	plain := judge.LocalKey(makePod("p", "app=web"))
	if other := judge.LocalKey(wanting(makePod("q", "app=db"), "2")); other != plain {
		t.Errorf("labels and requests, which no node-local filter reads, make different keys:\n%s\n%s", plain, other)
	}
	tolerant := makePod("tolerant")
	tolerant.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	for _, pod := range []*v1.Pod{tolerant, selectingNodes(makePod("zone"), "zone", "b"), onlyNode(makePod("only"), "n4")} {
		if judge.LocalKey(pod) == plain {
			t.Errorf("pod %s has the key of a plain one", pod.Name)
		}
	}
}
