package judge

// The view is what upstream's plugins see of the cluster: upstream's SharedLister over NodeInfo values that change in place. Adding or removing a pod
// touches the lists of nodes with (anti-)affinity pods only when a node gets its first such pod or loses its last, so it costs the same in any cluster.

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1beta1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// view implements the listers that the plugins read.
type view struct {
	byName map[string]*framework.NodeInfo
	// all has the nodes in the order in which they first appeared, which is the order of every answer about many nodes.
	all []fwk.NodeInfo
	// bare are the same nodes without their pods.
	bare []fwk.NodeInfo
	// shown is what plugins see instead while only some pods matter; nil otherwise.
	shown *shown
	// affinity, antiAffinity and wideAntiAffinity are the nodes with pods that have any inter-pod (anti-)affinity, required anti-affinity, and required
	// anti-affinity over more than a host.
	affinity, antiAffinity, wideAntiAffinity nodeList
	// claimUsers counts the pods on nodes that use a volume claim, by namespace/name.
	claimUsers map[string]int
	// groups are the pod groups, if the pods of a group may share claims of devices; nil otherwise.
	groups schedulinglisters.PodGroupLister
}

func newView() *view {
	return &view{
		byName:           make(map[string]*framework.NodeInfo),
		affinity:         newNodeList(),
		antiAffinity:     newNodeList(),
		wideAntiAffinity: newNodeList(),
		claimUsers:       make(map[string]int),
	}
}

// setNode adds the node or replaces its object.
func (v *view) setNode(node *v1.Node) {
	info, known := v.byName[node.Name]
	if !known {
		info = framework.NewNodeInfo()
		v.byName[node.Name] = info
		v.all, v.bare = append(v.all, info), append(v.bare, framework.NewNodeInfo())
	}
	info.SetNode(node)
	if !known {
		v.bare[len(v.bare)-1].(*framework.NodeInfo).SetNode(node)
		return
	}
	at := slices.Index(v.all, fwk.NodeInfo(info))
	v.bare[at].(*framework.NodeInfo).SetNode(node)
}

// removeNode forgets the node and its pods. Keeping the order of the rest costs a move of pointers, which is little for something as rare.
func (v *view) removeNode(name string) {
	info := v.byName[name]
	for _, pod := range info.Pods {
		v.countClaims(pod.GetPod(), -1)
	}
	delete(v.byName, name)
	at := slices.Index(v.all, fwk.NodeInfo(info))
	v.all, v.bare = slices.Delete(v.all, at, at+1), slices.Delete(v.bare, at, at+1)
	v.affinity.set(name, info, false)
	v.antiAffinity.set(name, info, false)
	v.wideAntiAffinity.set(name, info, false)
}

// relist brings the lists up to date after a pod came to the node or left it.
func (v *view) relist(name string, info *framework.NodeInfo) {
	v.affinity.set(name, info, len(info.PodsWithAffinity) > 0)
	v.antiAffinity.set(name, info, len(info.PodsWithRequiredAntiAffinity) > 0)
	v.wideAntiAffinity.set(name, info, len(info.PodsWithRequiredNonHostScopedAntiAffinity) > 0)
}

// countClaims counts the pod's volume claims in or out.
func (v *view) countClaims(pod *v1.Pod, sign int) {
	for key := range framework.PodPVCKeys(pod) {
		v.claimUsers[key] += sign
		if v.claimUsers[key] == 0 {
			delete(v.claimUsers, key)
		}
	}
}

// NodeInfos is the view itself.
func (v *view) NodeInfos() fwk.NodeInfoLister { return v }

// StorageInfos is the view itself.
func (v *view) StorageInfos() fwk.StorageInfoLister { return v }

// shown is all nodes, and of those alone with pods that matter their pods.
type shown struct{ all, antiAffinity []fwk.NodeInfo }

// show lets plugins see only the pods of some nodes, until hide. It costs a look at each node if there are such, where plugins look at each pod.
func (v *view) show(nodes map[string]bool) {
	if len(nodes) == 0 {
		v.shown = &shown{all: v.bare} // which nobody changes meanwhile
		return
	}
	v.shown = &shown{all: slices.Clone(v.bare)}
	for i, info := range v.all {
		if !nodes[info.Node().Name] {
			continue
		}
		v.shown.all[i] = info
		if len(info.GetPodsWithRequiredAntiAffinity()) > 0 {
			v.shown.antiAffinity = append(v.shown.antiAffinity, info)
		}
	}
}

// hide ends show.
func (v *view) hide() { v.shown = nil }

// List returns all nodes.
func (v *view) List() ([]fwk.NodeInfo, error) {
	if v.shown != nil {
		return v.shown.all, nil
	}
	return v.all, nil
}

// HavePodsWithAffinityList returns the nodes with pods that have inter-pod (anti-)affinity.
func (v *view) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return v.affinity.infos, nil }

// HavePodsWithRequiredAntiAffinityList returns the nodes with pods that require anti-affinity.
func (v *view) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	if v.shown != nil {
		return v.shown.antiAffinity, nil
	}
	return v.antiAffinity.infos, nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList returns the nodes with pods that require anti-affinity over more than a host.
func (v *view) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return v.wideAntiAffinity.infos, nil
}

// Get returns the node of that name.
func (v *view) Get(name string) (fwk.NodeInfo, error) {
	if info, known := v.byName[name]; known {
		return info, nil
	}
	return nil, fmt.Errorf("judge: node %q is not known: call SetNode first", name)
}

// IsPVCUsedByPods tells whether a pod on a node uses the claim.
func (v *view) IsPVCUsedByPods(key string) bool { return v.claimUsers[key] > 0 }

// PodGroupStates is empty, as the two below are: groups are gangs of the core, and no filter here looks at them.
func (v *view) PodGroupStates() fwk.PodGroupStateLister { return noGroupStates{} }

// PodGroups has those whose pods may share claims of devices, and is empty where pods of groups may not.
func (v *view) PodGroups() fwk.PodGroupLister {
	if v.groups == nil {
		return noGroups{}
	}
	return groups{v.groups}
}

// CompositePodGroupStates is empty.
func (v *view) CompositePodGroupStates() fwk.CompositePodGroupStateLister { return noCompositeStates{} }

// CompositePodGroups is empty.
func (v *view) CompositePodGroups() fwk.CompositePodGroupLister { return noComposites{} }

// BuildHierarchySnapshotFromPod returns the view, which has no groups to snapshot.
func (v *view) BuildHierarchySnapshotFromPod(*v1.Pod) (fwk.PodGroupManager, error) { return v, nil }

// GetRootKeyForGroup finds no group.
func (v *view) GetRootKeyForGroup(fwk.EntityKey) (fwk.EntityKey, bool, error) {
	return fwk.EntityKey{}, false, nil
}

type (
	noGroupStates     struct{}
	noGroups          struct{}
	noCompositeStates struct{}
	noComposites      struct{}
	groups            struct {
		schedulinglisters.PodGroupLister
	}
)

// Get finds the group as it was seen last.
func (g groups) Get(namespace, name string) (*schedulingv1beta1.PodGroup, error) {
	return g.PodGroups(namespace).Get(name)
}

// Get finds nothing.
func (noGroupStates) Get(namespace, name string) (fwk.PodGroupState, error) {
	return nil, noGroup(namespace, name)
}

// Get finds nothing.
func (noGroups) Get(namespace, name string) (*schedulingv1beta1.PodGroup, error) {
	return nil, noGroup(namespace, name)
}

// Get finds nothing.
func (noCompositeStates) Get(namespace, name string) (fwk.CompositePodGroupState, error) {
	return nil, noGroup(namespace, name)
}

// Get finds nothing.
func (noComposites) Get(namespace, name string) (*schedulingv1alpha3.CompositePodGroup, error) {
	return nil, noGroup(namespace, name)
}

func noGroup(namespace, name string) error {
	return fmt.Errorf("judge: pod group %s/%s is not known: no filter looks at groups here", namespace, name)
}

// nodeList is a set of nodes that can be read as a slice and changed in constant time. A removal moves the last node into the gap; the order reaches no
// answer, since upstream only sums over these lists.
type nodeList struct {
	infos []fwk.NodeInfo
	names []string
	at    map[string]int
}

func newNodeList() nodeList { return nodeList{at: make(map[string]int)} }

// set makes the node a member or not.
func (l *nodeList) set(name string, info fwk.NodeInfo, member bool) {
	at, listed := l.at[name]
	if listed == member {
		return
	}
	if member {
		l.at[name] = len(l.infos)
		l.infos = append(l.infos, info)
		l.names = append(l.names, name)
		return
	}
	last := len(l.infos) - 1
	l.infos[at], l.names[at] = l.infos[last], l.names[last]
	l.at[l.names[at]] = at
	delete(l.at, name)
	l.infos[last] = nil
	l.infos, l.names = l.infos[:last], l.names[:last]
}
