package cluster

// MayStay reports whether the leaving run could stay after all, and whoever is reserved on
// its node, or is to move there, would still come to the room that was promised; besides are other
// leaving runs that are to stay as well. What stays violates no hard constraint: nothing
// that would was let in while it was there.
func MayStay(v *View, run TaskID, besides []TaskID) bool {
	n := v.task[run].Node
	if v.task[run].Phase != Leaving || v.task[run].Told == ToEnd {
		return false
	}
	for _, t := range v.node[n].tasks {
		task := &v.task[t]
		if (task.Phase == Reserved || task.Next == n) && !roomBeside(v, n, v.roomOn(t, n), run, besides) {
			return false
		}
	}
	return true
}

// roomBeside reports whether the room that was promised on the node will be free when all has
// left but for those that are to stay.
func roomBeside(v *View, n NodeID, promised room, run TaskID, besides []TaskID) bool {
	limit, used, leaving := v.Limit(n), v.Used(n), v.LeavingDemand(n)
	for k, q := range promised.demand {
		stay := v.Demand(run)[k]
		for _, t := range besides {
			if v.task[t].Node == n {
				stay += v.Demand(t)[k]
			}
		}
		if q > 0 && used[k]-leaving[k]+stay > limit[k] {
			return false
		}
	}
	var stay [MaxDevices]int64
	for _, t := range append([]TaskID{run}, besides...) {
		if task := &v.task[t]; task.Node == n {
			v.shape[task.Shape].needs.Give(stay[:], task.Devices, 1)
		}
	}
	for i, d := range v.node[n].device {
		if promised.devices.Has(i) && d.LeftLater() < stay[i] {
			return false
		}
	}
	return true
}
