package judge

// Which devices a pod gets is upstream's DynamicResources plugin's to decide, and it takes the first that fit. Where Fairlead has chosen devices for a pod, the
// plugin is shown no others that are free: what it then allocates is what was chosen, and its filter has accepted it, with all that it writes to a claim
// beside the names of devices. Devices that are in use by then it sees as always, as counters depend on them.

import (
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// Choice is the devices that were chosen for a pod.
type Choice struct {
	devices sets.Set[structured.DeviceID]
}

// steered is upstream's manager of devices. While there is a choice it shows that alone, and while there is a company, claims as they will be once that is prepared for. The plugin
// lists slices only in PreFilter, so in the judge's goroutine; claims it reads elsewhere as well, those of a pod when they are written.
type steered struct {
	fwk.SharedDRAManager
	choice  *Choice
	freed   atomic.Pointer[[]*resourceapi.ResourceClaim] // claims that are as good as given back (makeway.go)
	company atomic.Pointer[Company]
}

// ResourceClaims finds claims as they will be.
func (s *steered) ResourceClaims() fwk.ResourceClaimTracker {
	if company := s.company.Load(); company != nil {
		return claimsFor{s.SharedDRAManager.ResourceClaims(), company}
	}
	if freed := s.freed.Load(); freed != nil {
		return freedClaims{s.SharedDRAManager.ResourceClaims(), *freed}
	}
	return s.SharedDRAManager.ResourceClaims()
}

// ResourceSlices lists slices with those devices that may be seen.
func (s *steered) ResourceSlices() fwk.ResourceSliceLister {
	if s.choice == nil {
		return s.SharedDRAManager.ResourceSlices()
	}
	return chosenSlices{s, s.choice}
}

// inUse are the devices that claims have for themselves, those included for which that is about to be written.
func inUse(manager fwk.SharedDRAManager) (sets.Set[structured.DeviceID], error) {
	var err error
	for range gatherTries {
		var allocated sets.Set[structured.DeviceID]
		if allocated, err = manager.ResourceClaims().ListAllAllocatedDevices(); err == nil {
			return allocated, nil
		}
	}
	return nil, err
}

// chosenSlices are slices without the devices that were not chosen.
type chosenSlices struct {
	of     *steered
	choice *Choice
}

// ListWithDeviceTaintRules has a copy of each slice of which devices are left out.
func (c chosenSlices) ListWithDeviceTaintRules() ([]*resourceapi.ResourceSlice, error) {
	all, err := c.of.SharedDRAManager.ResourceSlices().ListWithDeviceTaintRules()
	if err != nil {
		return nil, err
	}
	taken, err := inUse(c.of)
	if err != nil {
		return nil, err
	}
	slices := make([]*resourceapi.ResourceSlice, len(all))
	for i, slice := range all {
		shown := *slice
		shown.Spec.Devices = nil
		for _, d := range slice.Spec.Devices {
			id := structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, d.Name)
			if c.choice.devices.Has(id) || taken.Has(id) {
				shown.Spec.Devices = append(shown.Spec.Devices, d)
			}
		}
		slices[i] = &shown
	}
	return slices, nil
}

// Choose has the pod of the case get these devices and no others. Nil leaves it to upstream.
func (c *Case) Choose(choice *Choice) { c.choice = choice }

// Accompany says who is placed together with the pods that are asked about from now on, so that they share claims. Nil is nobody.
func Accompany(j *Judge, company *Company) {
	if j.steered != nil {
		j.steered.company.Store(company)
	}
}
