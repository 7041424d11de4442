package cluster

// MayStay reports whether the leaving run could stay after all, and whoever is reserved on
// its node, or is to move there, would still come to the room that was promised, and be let in beside it; besides are other
// leaving runs that are to stay as well.
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
		if task.Phase == Reserved && !letInBeside(v, t, n, run, besides) {
			return false
		}
	}
	return true
}

// letInBeside reports whether the task for which a place is kept on the node would be let in if those stayed after all.
func letInBeside(v *View, t TaskID, n NodeID, run TaskID, besides []TaskID) bool {
	c := coming{view: v, table: v.constraints, n: n, from: NoNode}
	for _, r := range v.shape[v.task[t].Shape].roles {
		if !r.subject || !c.binds(r) {
			continue
		}
		b := &c.table.row[r.constraint].bound[r.bound]
		set, o := c.table.group[b.group].setOf(n), Obstacle{role: r}
		if b.OverFewest && set == outside {
			continue
		}
		stay := b.counted(set, settled).Targets
		for _, other := range append([]TaskID{run}, besides...) {
			if task := &v.task[other]; c.table.group[b.group].setOf(task.Node) == set && o.Of(v, task.Shape) {
				stay++
			}
		}
		if r.target && !b.SelfCounted {
			stay-- // itself
		}
		if int64(stay) > b.limit() {
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
