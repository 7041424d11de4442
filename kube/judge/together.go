package judge

// Pods of a gang that claim devices, as one problem: which nodes they stand on, and which devices each gets, so that all of them have some. Selectors are
// upstream's to evaluate (CEL), and so are tolerations and which nodes a device can be reached from; the search is package devices'. What upstream allocates
// in ways that are not known here is not posed, and goes pod by pod as upstream does it.

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"

	"fairlead.dev/fairlead/kube/devices"
)

// Member is a pod of a gang, and the nodes that would take it if it were alone.
type Member struct {
	Pod   *v1.Pod
	Nodes []string
}

// Joint is what was found for members of a gang together.
type Joint struct {
	Outcome devices.Outcome
	Nodes   []string  // by member, where an assignment was found
	Choices []*Choice // by member
	Why     string    // where none was
	Ticks   int64
}

// Found reports whether there is an assignment.
func (j *Joint) Found() bool { return j.Outcome == devices.Assigned }

// Impossible reports whether there is proven to be none.
func (j *Joint) Impossible() bool { return j.Outcome == devices.Impossible }

// Search is how nodes and devices are searched for.
type Search struct {
	Others   []*Choice            // what was chosen for others, which do not have it yet, is theirs
	Leaves   func(types.UID) bool // who takes no room, as others may have it; nil is nobody
	Roomless bool                 // nobody does, nor the members
	Budget   int64                // of steps
}

// Together searches nodes and devices for all members at once, with room for all of them unless that is to be made. It returns nil where the claims are not to be
// posed here, or none of them waits for devices.
func Together(j *Judge, members []Member, s Search) *Joint {
	if j.devices == nil {
		return nil
	}
	p := poser{judge: j, nodeAt: map[string]int{}, claimAt: map[types.UID]int{}, values: map[resourceapi.FullyQualifiedName][]int{}, options: map[string][][]devices.Option{}}
	if !p.known() || !p.gather(s.Others) || !p.pose(members, &s) || p.beyond {
		return nil
	}
	a := devices.Solve(&p.problem, s.Budget)
	joint := &Joint{Outcome: a.Outcome, Ticks: a.Ticks}
	switch a.Outcome {
	case devices.Impossible:
		joint.Why = p.why(&a.Conflict)
	case devices.NotProven:
		joint.Why = fmt.Sprintf("no assignment of devices to the claims of %d of its pods was found in %d steps, and none is proven to be impossible", len(members), a.Ticks)
	case devices.Assigned:
		if err := devices.Check(&p.problem, a.Nodes, a.Grants); err != nil {
			panic(fmt.Sprintf("judge: an assignment of devices is wrong: %v", err))
		}
		p.report(joint, &a)
	}
	return joint
}

// poser makes the problem.
type poser struct {
	judge    *Judge
	features structured.Features
	state    *structured.AllocatedState
	slices   []*resourceapi.ResourceSlice
	problem  devices.Problem
	nodes    []*framework.NodeInfo
	nodeAt   map[string]int
	claims   []*resourceapi.ResourceClaim
	claimAt  map[types.UID]int
	devices  []offered
	values   map[resourceapi.FullyQualifiedName][]int // of an attribute, by device
	counters []string                                 // their names
	options  map[string][][]devices.Option            // by all that decides which they are
	beyond   bool                                     // some amount is too large
	broken   bool                                     // some pool is not whole, so that nobody knows what all devices are
}

// offered is a device of a slice, and the nodes that can reach it.
type offered struct {
	id       structured.DeviceID
	device   *resourceapi.Device
	driver   string
	nodes    []int
	capacity []resourceapi.QualifiedName // in the order of devices.Device.Left
}

// known reports whether all that upstream's allocator honours is known here.
func (p *poser) known() bool {
	fts := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	p.features = dynamicresources.AllocatorFeatures(fts)
	return !p.features.ListTypeAttributes && !p.features.DerivedAttributes && !p.features.CompatibilityGroups && !p.features.OptionalNodeOperations &&
		!fts.EnableDRANodeAllocatableResources
}

// gatherTries is how often what is allocated is read again where somebody writes meanwhile.
const gatherTries = 10

// gather reads slices, and what is allocated of them, or was chosen for others.
func (p *poser) gather(others []*Choice) bool {
	var err error
	if p.slices, err = p.judge.devices.ResourceSlices().ListWithDeviceTaintRules(); err != nil {
		return false
	}
	for range gatherTries {
		claims := p.judge.devices.ResourceClaims()
		if p.features.ConsumableCapacity {
			if p.state, err = claims.GatherAllocatedState(); err == nil {
				return p.state != nil && p.set(p.state.AllocatedDevices, others)
			}
			continue
		}
		allocated, err := claims.ListAllAllocatedDevices()
		if err == nil {
			p.state = &structured.AllocatedState{}
			return p.set(allocated, others)
		}
	}
	return false
}

// set says which devices are in use: those that are allocated, and those that were chosen for others.
func (p *poser) set(allocated sets.Set[structured.DeviceID], others []*Choice) bool {
	if len(others) > 0 {
		allocated = allocated.Clone()
		for _, choice := range others {
			allocated = allocated.Union(choice.devices)
		}
	}
	p.state.AllocatedDevices = allocated
	return true
}

// pose poses the members, and reports whether it could.
func (p *poser) pose(members []Member, s *Search) bool {
	lists := map[string][]int{}
	for _, m := range members {
		pod := devices.Pod{}
		key := strings.Join(m.Nodes, " ")
		if lists[key] == nil {
			for _, name := range m.Nodes {
				lists[key] = append(lists[key], p.node(name, s))
			}
		}
		if pod.Nodes = lists[key]; slices.Contains(pod.Nodes, -1) {
			return false
		}
		p.problem.Pods = append(p.problem.Pods, pod)
	}
	p.offer()
	for i, m := range members {
		if !p.claimsOf(m.Pod, &p.problem.Pods[i]) {
			return false
		}
	}
	return s.Roomless || p.demand(members)
}

// claimsOf poses the claims of a pod, those once that others have as well, and reports whether it could, and there are some.
func (p *poser) claimsOf(pod *v1.Pod, posed *devices.Pod) bool {
	claims, ok := p.waiting(pod)
	if !ok {
		return false
	}
	own, ok := p.extended(pod, posed.Nodes)
	if !ok {
		return false
	}
	if own != nil {
		claims = append(claims, own)
	}
	for _, claim := range claims {
		at, known := p.claimAt[claim.UID]
		if !known {
			at = len(p.claims)
			if !p.claim(claim) {
				return false
			}
			p.claimAt[claim.UID] = at
		}
		posed.Claims = append(posed.Claims, at)
	}
	return len(claims) > 0
}

// node is the index of a node; -1 if it is not known.
func (p *poser) node(name string, s *Search) int {
	if at, known := p.nodeAt[name]; known {
		return at
	}
	info := p.judge.view.byName[name]
	if info == nil {
		return -1
	}
	at := len(p.nodes)
	p.nodeAt[name], p.nodes = at, append(p.nodes, info)
	var n devices.Node
	if !s.Roomless {
		n.Room = roomOn(info, s.Leaves)
	}
	p.problem.Nodes = append(p.problem.Nodes, n)
	return at
}

// roomOn is what is counted of a node, and left by those who do not leave it.
func roomOn(info *framework.NodeInfo, leaves func(types.UID) bool) []int64 {
	a, r := info.Allocatable, info.Requested
	room := []int64{a.MilliCPU - r.MilliCPU, a.Memory - r.Memory, a.EphemeralStorage - r.EphemeralStorage, int64(a.AllowedPodNumber - len(info.Pods))}
	for _, of := range info.Pods {
		if leaves == nil || !leaves(of.GetPod().UID) {
			continue
		}
		took := Requests(of.(*framework.PodInfo))
		for i, q := range []int64{took.MilliCPU, took.Memory, took.EphemeralStorage, 1} {
			room[i] += q
		}
	}
	return room
}

// demand says what each member takes of what is counted of nodes.
func (p *poser) demand(members []Member) bool {
	for i, m := range members {
		info, err := NewPod(m.Pod)
		if err != nil {
			return false
		}
		r := Requests(info)
		p.problem.Pods[i].Demand = []int64{r.MilliCPU, r.Memory, r.EphemeralStorage, 1}
	}
	return true
}

// waiting are the claims of the pod that have no devices yet, and whether all of them can be posed.
func (p *poser) waiting(pod *v1.Pod) ([]*resourceapi.ResourceClaim, bool) {
	var waiting []*resourceapi.ResourceClaim
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, false
		}
		if name == nil {
			continue
		}
		claim, err := p.judge.devices.ResourceClaims().Get(pod.Namespace, *name)
		switch {
		case err != nil, p.judge.devices.ResourceClaims().GetPendingAllocation(claim.UID) != nil:
			return nil, false
		case claim.Status.Allocation == nil && !slices.Contains(waiting, claim):
			waiting = append(waiting, claim)
		}
	}
	return waiting, true
}

// claim poses a claim.
func (p *poser) claim(claim *resourceapi.ResourceClaim) bool {
	var posed devices.Claim
	names := make([][]string, len(claim.Spec.Devices.Requests)) // by request and alternative, as constraints name them
	for i := range claim.Spec.Devices.Requests {
		ways, ok := waysOf(&claim.Spec.Devices.Requests[i])
		if !ok {
			return false
		}
		var request devices.Request
		for j := range ways {
			options, ok := p.optionsOf(&ways[j])
			if !ok {
				return false
			}
			a := devices.Alternative{Options: options}
			if ways[j].Mode != resourceapi.DeviceAllocationModeAll {
				a.Count = int(min(max(ways[j].Count, 1), devices.MostResults+1))
			}
			request.Alternatives = append(request.Alternatives, a)
			names[i] = append(names[i], ways[j].name)
		}
		posed.Requests = append(posed.Requests, request)
	}
	for i := range claim.Spec.Devices.Constraints {
		constraint, ok := p.constraint(claim, &claim.Spec.Devices.Constraints[i], names)
		if !ok {
			return false
		}
		posed.Constraints = append(posed.Constraints, constraint)
	}
	p.claims, p.problem.Claims = append(p.claims, claim), append(p.problem.Claims, posed)
	return true
}

// waysOf are the ways to satisfy a request, and whether all of them are known here.
func waysOf(r *resourceapi.DeviceRequest) ([]way, bool) {
	if e := r.Exactly; e != nil {
		return []way{{r.Name, e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations, e.Capacity}}, e.AdminAccess == nil
	}
	var ways []way
	for _, s := range r.FirstAvailable {
		if s.AllocationMode == resourceapi.DeviceAllocationModeAll {
			return nil, false // shown those that were chosen alone, upstream would take these for all
		}
		ways = append(ways, way{resourceclaim.CreateSubRequestRef(r.Name, s.Name), s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, s.Tolerations, s.Capacity})
	}
	return ways, len(ways) > 0
}

// constraint poses a constraint, by the names of what it covers.
func (p *poser) constraint(claim *resourceapi.ResourceClaim, c *resourceapi.DeviceConstraint, names [][]string) (devices.Constraint, bool) {
	attribute := c.MatchAttribute
	if attribute == nil {
		attribute = c.DistinctAttribute
	}
	if attribute == nil {
		return devices.Constraint{}, false
	}
	constraint := devices.Constraint{Distinct: c.MatchAttribute == nil, Values: p.valuesOf(*attribute)}
	for r, alternatives := range names {
		covers := make([]bool, len(alternatives))
		for a, name := range alternatives {
			covers[a] = len(c.Requests) == 0 || slices.Contains(c.Requests, name) || slices.Contains(c.Requests, claim.Spec.Devices.Requests[r].Name)
		}
		constraint.Covers = append(constraint.Covers, covers)
	}
	return constraint, true
}

// tell says by member what was found.
func (p *poser) report(joint *Joint, a *devices.Answer) {
	for i, pod := range p.problem.Pods {
		choice := &Choice{devices: sets.New[structured.DeviceID]()}
		for _, c := range pod.Claims {
			for _, g := range a.Grants[c] {
				choice.devices.Insert(p.devices[g.Device].id)
			}
		}
		joint.Nodes = append(joint.Nodes, p.nodes[a.Nodes[i]].Node().Name)
		joint.Choices = append(joint.Choices, choice)
	}
}

// mostNamed is how many claims a reason names.
const mostNamed = 5

// why words a conflict.
func (p *poser) why(c *devices.Conflict) string {
	var names []string
	for _, at := range c.Claims {
		names = append(names, p.claims[at].Name)
	}
	slices.Sort(names)
	if more := len(names) - mostNamed; more > 0 {
		names = append(names[:mostNamed], fmt.Sprintf("%d more", more))
	}
	claims := fmt.Sprintf("the claims of %d of its pods (%s)", len(c.Pods), strings.Join(names, ", "))
	switch c.Over {
	case devices.Combined:
	case devices.OfDevices:
		return fmt.Sprintf("%s need %d devices, and there are %d free that they may have", claims, c.Needs, c.Has)
	case devices.OfCounters:
		amount := func(n int64) string { return resource.NewMilliQuantity(n, resource.BinarySI).String() }
		return fmt.Sprintf("%s need devices that draw at least %s of %s, and %s are left", claims, amount(c.Needs), p.counters[c.Counter], amount(c.Has))
	case devices.OfNodes:
		return fmt.Sprintf("%s lead to nodes that have room for %d of them", claims, c.Has)
	case devices.OfGroups:
		return fmt.Sprintf("%s need devices that are together, on one node or with one value of an attribute, and there are such for %d of %d", claims, c.Has, c.Needs)
	}
	return fmt.Sprintf("%s need %d devices, and no way to share out the %d that they may have satisfies all", claims, c.Needs, c.Has)
}

// matches reports whether all selectors take the device, and whether they could be asked.
func (p *poser) matches(selectors []resourceapi.DeviceSelector, d *offered) (bool, bool) {
	for i := range selectors {
		if selectors[i].CEL == nil {
			return false, false
		}
		compiled := p.judge.selectors.GetOrCompile(selectors[i].CEL.Expression)
		if compiled.Error != nil {
			return false, false
		}
		is, _, err := compiled.DeviceMatches(p.judge.ctx, cel.Device{
			Driver: d.driver, AllowMultipleAllocations: d.device.AllowMultipleAllocations, Attributes: d.device.Attributes, Capacity: d.device.Capacity,
		})
		if err != nil || !is {
			return false, err == nil
		}
	}
	return true, true
}
