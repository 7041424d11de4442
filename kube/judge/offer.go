package judge

// The devices that slices offer to the nodes of a gang, and what of them a request may have, in the words of package devices.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"

	"fairlead.dev/fairlead/kube/devices"
)

// way is one way to satisfy a request, as far as it decides which devices that may have.
type way struct {
	name        string // as constraints know it
	Class       string
	Selectors   []resourceapi.DeviceSelector
	Mode        resourceapi.DeviceAllocationMode
	Count       int64 `json:"-"`
	Tolerations []resourceapi.DeviceToleration
	Capacity    *resourceapi.CapacityRequirements
}

// offer poses all devices that one of the nodes can reach, and the counters of their pools. Pools are in upstream's order.
func (p *poser) offer() {
	pools := map[structured.DeviceID][]*resourceapi.ResourceSlice{}
	for _, s := range p.slices {
		id := structured.MakeDeviceID(s.Spec.Driver, s.Spec.Pool.Name, "")
		switch of := pools[id]; {
		case !p.features.PartitionableDevices && (s.Spec.PerDeviceNodeSelection != nil || len(s.Spec.SharedCounters) > 0):
		case slices.ContainsFunc(s.Spec.Devices, func(d resourceapi.Device) bool { return grouped(&d) }):
		case len(of) == 0 || s.Spec.Pool.Generation > of[0].Spec.Pool.Generation:
			pools[id] = []*resourceapi.ResourceSlice{s}
		case s.Spec.Pool.Generation == of[0].Spec.Pool.Generation:
			pools[id] = append(of, s)
		}
	}
	ids := make([]structured.DeviceID, 0, len(pools))
	for id := range pools {
		ids = append(ids, id)
	}
	binds := func(id structured.DeviceID) int { // devices with conditions come last
		for _, s := range pools[id] {
			if slices.ContainsFunc(s.Spec.Devices, func(d resourceapi.Device) bool { return d.BindingConditions != nil }) {
				return 1
			}
		}
		return 0
	}
	slices.SortFunc(ids, func(a, b structured.DeviceID) int {
		return cmp.Or(cmp.Compare(binds(a), binds(b)), strings.Compare(a.Driver.String(), b.Driver.String()), strings.Compare(a.Pool.String(), b.Pool.String()))
	})
	kinds := map[string]int{}
	for _, id := range ids {
		slices.SortFunc(pools[id], func(a, b *resourceapi.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
		if int64(len(pools[id])) != pools[id][0].Spec.Pool.ResourceSliceCount || !p.pool(pools[id], kinds) {
			p.broken = true
		}
	}
}

// grouped reports whether the device may be given beside some others alone.
func grouped(d *resourceapi.Device) bool {
	return slices.ContainsFunc(d.ConsumesCounters, func(c resourceapi.DeviceCounterConsumption) bool { return len(c.CompatibilityGroups) > 0 })
}

// pool poses the devices of one pool, and reports whether it is sound.
func (p *poser) pool(of []*resourceapi.ResourceSlice, kinds map[string]int) bool {
	counters, sound := p.poseCounters(of, kinds)
	if !sound {
		return false
	}
	names := map[string]bool{}
	var found []offered
	var posed []devices.Device
	for _, s := range of {
		for i := range s.Spec.Devices {
			o, d, ok := p.deviceOf(s, &s.Spec.Devices[i], counters)
			if !ok || names[o.device.Name] {
				return false
			}
			names[o.device.Name] = true
			if d.Taken || d.Drawn {
				for _, draw := range d.Draws {
					p.problem.Counters[draw.Counter].Left -= draw.Amount
				}
			}
			if len(o.nodes) > 0 {
				found, posed = append(found, o), append(posed, d)
			}
		}
	}
	p.devices, p.problem.Devices = append(p.devices, found...), append(p.problem.Devices, posed...)
	return true
}

// poseCounters poses the counters of a pool. It returns them by set and name, and whether none is there twice.
func (p *poser) poseCounters(of []*resourceapi.ResourceSlice, kinds map[string]int) (counters map[string]int, sound bool) {
	counters = map[string]int{}
	for _, s := range of {
		for _, set := range s.Spec.SharedCounters {
			for _, name := range sortedNames(set.Counters) {
				key, kind := set.Name+"/"+name, s.Spec.Driver+"/"+name
				if _, twice := counters[key]; twice {
					return nil, false
				}
				if _, known := kinds[kind]; !known {
					kinds[kind] = len(kinds)
				}
				counters[key] = len(p.problem.Counters)
				p.counters = append(p.counters, name)
				p.problem.Counters = append(p.problem.Counters, devices.Counter{Left: p.scaled(set.Counters[name].Value), Kind: kinds[kind]})
			}
		}
	}
	return counters, true
}

// deviceOf poses a device; it is not sound where it draws on counters that its pool does not have.
func (p *poser) deviceOf(s *resourceapi.ResourceSlice, of *resourceapi.Device, counters map[string]int) (o offered, d devices.Device, sound bool) {
	id := structured.MakeDeviceID(s.Spec.Driver, s.Spec.Pool.Name, of.Name)
	o = offered{id: id, device: of, driver: s.Spec.Driver, nodes: p.reaching(s, of)}
	d.Taken = p.state.AllocatedDevices.Has(id)
	if p.features.ConsumableCapacity && of.AllowMultipleAllocations != nil && *of.AllowMultipleAllocations {
		d.Shared, d.Taken = true, false
		consumed, drawn := p.state.AggregatedCapacity[id]
		d.Drawn = drawn
		for share := range p.state.AllocatedSharedDeviceIDs {
			d.Drawn = d.Drawn || share.GetDeviceID() == id
		}
		o.capacity = sortedNames(of.Capacity)
		for _, name := range o.capacity {
			left := of.Capacity[name].Value.DeepCopy()
			if used := consumed[name]; used != nil {
				left.Sub(*used)
			}
			d.Left = append(d.Left, p.scaled(left))
		}
	}
	for _, c := range of.ConsumesCounters {
		for _, name := range sortedNames(c.Counters) {
			at, known := counters[c.CounterSet+"/"+name]
			if !known {
				return o, d, false
			}
			d.Draws = append(d.Draws, devices.Draw{Counter: at, Amount: p.scaled(c.Counters[name].Value)})
		}
	}
	return o, d, true
}

// reaching are the nodes from which the device can be reached.
func (p *poser) reaching(s *resourceapi.ResourceSlice, d *resourceapi.Device) []int {
	name, every, selector := s.Spec.NodeName, s.Spec.AllNodes, s.Spec.NodeSelector
	if of := s.Spec.PerDeviceNodeSelection; of != nil && *of {
		name, every, selector = d.NodeName, d.AllNodes, d.NodeSelector
	}
	if name != nil && *name != "" {
		if at, known := p.nodeAt[*name]; known {
			return []int{at}
		}
		return nil
	}
	var nodes []int
	for i, info := range p.nodes {
		if is, err := structured.NodeMatches(p.features, info.Node(), "", every != nil && *every, selector); err == nil && is {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// optionsOf are the devices that may be had in that way, by node.
func (p *poser) optionsOf(w *way) ([][]devices.Option, bool) {
	all := w.Mode == resourceapi.DeviceAllocationModeAll
	if all && p.broken {
		return nil, false
	}
	text, err := json.Marshal(w)
	if err != nil {
		panic(fmt.Sprintf("judge: a request does not marshal: %v", err))
	}
	if options, known := p.options[string(text)]; known {
		return options, true
	}
	class, err := p.judge.devices.DeviceClasses().Get(w.Class)
	if err != nil {
		return nil, false
	}
	options := make([][]devices.Option, len(p.nodes))
	for i := range p.devices {
		o := &p.devices[i]
		option := devices.Option{Device: i}
		for _, selectors := range [][]resourceapi.DeviceSelector{class.Spec.Selectors, w.Selectors} {
			is, ok := p.matches(selectors, o)
			if !ok {
				return nil, false
			}
			option.Barred = option.Barred || !is
		}
		if option.Barred {
			continue // it is no device of that kind
		}
		fits, ok := p.takes(w, o, &option)
		if !ok {
			return nil, false
		}
		if option.Barred = !tolerated(o.device, w.Tolerations); !fits || option.Barred && !all {
			continue
		}
		for _, n := range o.nodes {
			options[n] = append(options[n], option)
		}
	}
	p.options[string(text)] = options
	return options, true
}

// tolerated reports whether no taint of the device keeps it from being given.
func tolerated(d *resourceapi.Device, tolerations []resourceapi.DeviceToleration) bool {
	return !slices.ContainsFunc(d.Taints, func(taint resourceapi.DeviceTaint) bool {
		binds := taint.Effect == resourceapi.DeviceTaintEffectNoSchedule || taint.Effect == resourceapi.DeviceTaintEffectNoExecute
		return binds && !slices.ContainsFunc(tolerations, func(t resourceapi.DeviceToleration) bool { return resourceclaim.ToleratesTaint(t, taint) })
	})
}

// takes works out what a request takes of the device's capacity, and reports whether a device that nobody uses has that, and whether it is known.
func (p *poser) takes(w *way, o *offered, option *devices.Option) (fits, known bool) {
	if !p.features.ConsumableCapacity {
		return true, w.Capacity == nil
	}
	var wants map[resourceapi.QualifiedName]resource.Quantity
	if w.Capacity != nil {
		wants = w.Capacity.Requests
	}
	for name := range wants {
		if _, there := o.device.Capacity[name]; !there {
			return false, true
		}
	}
	for _, name := range sortedNames(o.device.Capacity) {
		capacity := o.device.Capacity[name]
		var wanted *resource.Quantity
		if q, is := wants[name]; is {
			wanted = &q
		}
		amount, valid := consumes(wanted, &capacity)
		if !valid || amount.Cmp(capacity.Value) > 0 {
			return false, true
		}
		if o.capacity != nil {
			option.Takes = append(option.Takes, p.scaled(amount))
		}
	}
	return true, true
}

// consumes is what a request for so much consumes of a capacity by its policy, and whether the policy lets it.
func consumes(wanted *resource.Quantity, of *resourceapi.DeviceCapacity) (resource.Quantity, bool) {
	policy := of.RequestPolicy
	switch {
	case wanted == nil && policy != nil && policy.Default != nil:
		return *policy.Default, true
	case wanted == nil:
		return of.Value, policy == nil || policy.ValidRange == nil && len(policy.ValidValues) == 0 || permitted(&of.Value, policy)
	case policy == nil:
		return *wanted, true
	}
	amount := *wanted
	if r := policy.ValidRange; r != nil && r.Min != nil {
		switch {
		case amount.Cmp(*r.Min) < 0:
			amount = *r.Min
		case r.Step != nil && r.Step.Sign() > 0:
			least, step, want := r.Min.MilliValue(), r.Step.MilliValue(), amount.MilliValue()
			steps := (want - least + step - 1) / step
			amount = *resource.NewMilliQuantity(least+steps*step, r.Step.Format)
		}
	} else if at := slices.IndexFunc(policy.ValidValues, func(q resource.Quantity) bool { return amount.Cmp(q) <= 0 }); at >= 0 {
		amount = policy.ValidValues[at]
	}
	return amount, permitted(&amount, policy)
}

// permitted reports whether the policy lets an amount be consumed.
func permitted(amount *resource.Quantity, policy *resourceapi.CapacityRequestPolicy) bool {
	r := policy.ValidRange
	switch {
	case policy.Default != nil && amount.Cmp(*policy.Default) == 0:
		return true
	case r != nil:
		if r.Max != nil && amount.Cmp(*r.Max) > 0 {
			return false
		}
		return r.Step == nil || r.Min == nil || r.Step.Sign() <= 0 || (amount.MilliValue()-r.Min.MilliValue())%r.Step.MilliValue() == 0
	case len(policy.ValidValues) > 0:
		return slices.ContainsFunc(policy.ValidValues, func(q resource.Quantity) bool { return amount.Cmp(q) == 0 })
	}
	return true
}

// most is the largest amount that is counted here, so that sums of thousandths have room: 8 Ti.
const most = 1 << 43

// scaled is a quantity in thousandths.
func (p *poser) scaled(q resource.Quantity) int64 {
	if q.CmpInt64(most) > 0 {
		p.beyond = true
	}
	return q.MilliValue()
}

// valuesOf numbers the values that devices have of an attribute; 0 is of those that do not have it.
func (p *poser) valuesOf(attribute resourceapi.FullyQualifiedName) []int {
	if values, known := p.values[attribute]; known {
		return values
	}
	values := make([]int, len(p.devices))
	numbers := map[string]int{}
	domain, name, _ := strings.Cut(string(attribute), "/")
	for i := range p.devices {
		o := &p.devices[i]
		a, there := o.device.Attributes[resourceapi.QualifiedName(attribute)]
		if !there && domain == o.driver {
			a, there = o.device.Attributes[resourceapi.QualifiedName(name)]
		}
		if !there {
			continue
		}
		text := ""
		switch {
		case a.StringValue != nil:
			text = "string " + *a.StringValue
		case a.IntValue != nil:
			text = fmt.Sprint("int ", *a.IntValue)
		case a.BoolValue != nil:
			text = fmt.Sprint("bool ", *a.BoolValue)
		case a.VersionValue != nil:
			text = "version " + *a.VersionValue
		default:
			continue
		}
		if numbers[text] == 0 {
			numbers[text] = len(numbers) + 1
		}
		values[i] = numbers[text]
	}
	p.values[attribute] = values
	return values
}

// sortedNames are the keys of a map in order.
func sortedNames[K ~string, V any](of map[K]V) []K {
	names := make([]K, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
