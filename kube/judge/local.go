package judge

// Node-local queries: may a pod, by its own spec, run on a node at all, whoever else is there? The result depends on the pod's name of a node, tolerations,
// node affinity and needed node features, and changes only with the node object, so the caller may keep it per shape of pods and run it again for a changed node.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// LocalCase is the node-local query for pods that are alike in their spec. It stays right whatever happens to pods and nodes, and needs no closing.
type LocalCase struct {
	judge *Judge
	pod   *v1.Pod
	prefilter
}

// Local opens the node-local query for the pod.
func (j *Judge) Local(pod *v1.Pod) *LocalCase {
	return &LocalCase{judge: j, pod: pod, prefilter: j.prefilter(j.local, pod)}
}

// Pod is one of those that the query is for.
func (l *LocalCase) Pod() *v1.Pod { return l.pod }

// Names returns the only nodes that are possible, or nil when all do. Node affinity by metadata.name sets it.
func (l *LocalCase) Names() sets.Set[string] { return l.names }

// Admits reports whether the node passes the node-local filters as it is now. A node that is not known does not.
func (l *LocalCase) Admits(node string) bool { return l.Verdict(node).IsSuccess() }

// Verdict is the status of the node-local filters with its reason; a success is nil.
func (l *LocalCase) Verdict(node string) *fwk.Status {
	l.judge.evaluations++
	return l.verdict(l.judge, l.judge.local, l.pod, node)
}
