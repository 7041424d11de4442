package board

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file keeps what room is left on nodes, and who may use it: vectors, devices,
// eligibility, and how many of an application may stand on one node.

// need is a quantity of one kind.
type need struct {
	kind     int32
	quantity int64
}

// quota limits how many of its application may be where one of a shape is.
type quota struct {
	shape, most int32
	on          []int32 // containers of the shape, by node
}

type room struct {
	kinds    int32
	free     []int64 // by node and kind
	shapeOf  []int32 // by container
	start    []int32 // where each container is when the problem is posed
	needs    []need
	needsOf  []int32 // by shape, where its needs begin; one more
	eligible [][]bool

	devices   []int64 // what is left of each, by node and device
	devicesOf []int32 // by node, where its devices begin; one more
	device    []cluster.DeviceNeeds
	held      []cluster.DeviceSet // by container
	owned     []cluster.DeviceSet // those that it holds where it is when the problem is posed

	quotas   []quota
	quotasOf [][2]int32 // by shape: those of its application
	together [][]int32  // by shape, of its application, by node: how many stand there; nil without a quota
}

func newRoom(p *constraint.Problem) room {
	r := room{kinds: int32(len(p.Kinds)), held: make([]cluster.DeviceSet, len(p.Containers))}
	for n := range p.Nodes {
		r.free = append(r.free, p.Nodes[n].Free...)
		r.devicesOf = append(r.devicesOf, int32(len(r.devices)))
		r.devices = append(r.devices, p.Nodes[n].Devices...)
	}
	r.devicesOf = append(r.devicesOf, int32(len(r.devices)))
	for shape := range p.Shapes {
		of := &p.Shapes[shape]
		r.needsOf = append(r.needsOf, int32(len(r.needs)))
		for k, q := range of.Demand {
			if q > 0 {
				r.needs = append(r.needs, need{int32(k), q})
			}
		}
		r.eligible = append(r.eligible, of.Eligible)
		r.device = append(r.device, of.Needs)
	}
	r.needsOf = append(r.needsOf, int32(len(r.needs)))
	for c := range p.Containers {
		of := &p.Containers[c]
		r.shapeOf = append(r.shapeOf, of.Shape)
		r.start = append(r.start, of.At)
		r.owned = append(r.owned, of.Devices)
	}
	r.limit(p)
	return r
}

// limit makes the quotas.
func (r *room) limit(p *constraint.Problem) {
	of := make([][]int32, len(p.Applications)) // the shapes of each
	for shape := range p.Shapes {
		app := p.Shapes[shape].Application
		of[app] = append(of[app], int32(shape))
	}
	r.quotasOf = make([][2]int32, len(p.Shapes))
	r.together = make([][]int32, len(p.Shapes))
	for _, shapes := range of {
		first := int32(len(r.quotas))
		for _, shape := range shapes {
			if most := p.Shapes[shape].PerNode; most > 0 {
				r.quotas = append(r.quotas, quota{shape, most, make([]int32, len(p.Nodes))})
			}
		}
		end := int32(len(r.quotas))
		if first == end {
			continue
		}
		together := make([]int32, len(p.Nodes))
		for _, shape := range shapes {
			r.quotasOf[shape], r.together[shape] = [2]int32{first, end}, together
		}
	}
}

// HasRoom is Fits without constraints: the container is eligible, and there is room.
func (r *room) HasRoom(container, node int32) bool {
	shape := r.shapeOf[container]
	if !holds(r.free[node*r.kinds:], r.needsOfShape(shape)) {
		return false
	}
	// Where it runs it may stay, whatever may have changed.
	if e := r.eligible[shape]; e != nil && !e[node] && r.start[container] != node {
		return false
	}
	if r.together[shape] != nil && !r.quotasHold(shape, node) {
		return false
	}
	if len(r.device[shape]) == 0 {
		return true
	}
	_, enough := r.pick(container, node)
	return enough
}

// holds reports whether so much is free.
func holds(free []int64, needs []need) bool {
	for i := range needs {
		if needs[i].quantity > free[needs[i].kind] {
			return false
		}
	}
	return true
}

func (r *room) needsOfShape(shape int32) []need {
	return r.needs[r.needsOf[shape]:r.needsOf[shape+1]]
}

// boundByRoom reports whether vectors alone say where the shape fits.
func (r *room) boundByRoom(shape int32) bool {
	return r.eligible[shape] == nil && r.together[shape] == nil && len(r.device[shape]) == 0
}

// quotasHold reports whether one more container of the shape may stand on the node.
func (r *room) quotasHold(shape, node int32) bool {
	would := r.together[shape][node] + 1
	of := r.quotasOf[shape]
	for i := of[0]; i < of[1]; i++ {
		if q := &r.quotas[i]; would > q.most && (q.shape == shape || q.on[node] > 0) {
			return false
		}
	}
	return true
}

// pick chooses devices: where the container runs those that it holds there, else the fullest
// that suffice, and of equal ones the first. It returns false if there are not enough.
func (r *room) pick(container, node int32) (cluster.DeviceSet, bool) {
	needs := r.device[r.shapeOf[container]]
	devices := r.devices[r.devicesOf[node]:r.devicesOf[node+1]]
	if r.start[container] == node {
		set, enough := r.owned[container], true
		for i, share := range needs.On(set) {
			enough = enough && (i >= len(devices) || devices[i] >= share || devices[i] < constraint.NoDevice/2)
		}
		return set, enough
	}
	return needs.Pick(devices)
}

// occupy is take for a container that is there when the problem is posed: what is free is free
// beside it.
func (r *room) occupy(container, node int32, devices cluster.DeviceSet) {
	r.held[container] = devices
	r.stand(r.shapeOf[container], node, 1)
}

// take takes the container's room on the node, whether there is so much or not.
func (r *room) take(container, node int32, devices cluster.DeviceSet) {
	shape := r.shapeOf[container]
	r.add(shape, node, -1)
	if len(r.device[shape]) > 0 {
		r.held[container] = devices
		r.hold(container, node, -1)
	}
	r.stand(shape, node, 1)
}

// give gives it back.
func (r *room) give(container, node int32) {
	shape := r.shapeOf[container]
	r.add(shape, node, 1)
	if len(r.device[shape]) > 0 {
		r.hold(container, node, 1)
		r.held[container] = 0
	}
	r.stand(shape, node, -1)
}

func (r *room) add(shape, node int32, sign int64) {
	free := r.free[node*r.kinds:]
	for _, n := range r.needsOfShape(shape) {
		free[n.kind] += sign * n.quantity
	}
}

// hold adds sign times its share to what is left of each of the devices that the container
// holds.
func (r *room) hold(container, node int32, sign int64) {
	r.device[r.shapeOf[container]].Give(r.devices[r.devicesOf[node]:r.devicesOf[node+1]], r.held[container], sign)
}

func (r *room) stand(shape, node, sign int32) {
	if r.together[shape] == nil {
		return
	}
	r.together[shape][node] += sign
	of := r.quotasOf[shape]
	at := slices.IndexFunc(r.quotas[of[0]:of[1]], func(q quota) bool { return q.shape == shape })
	if at >= 0 {
		r.quotas[int(of[0])+at].on[node] += sign
	}
}

// Free is what is left of the node; valid until the next change.
func (r *room) Free(node int32) cluster.Vector {
	return cluster.Vector(r.free[node*r.kinds : (node+1)*r.kinds])
}

// Devices are those that the container holds on its node.
func (r *room) Devices(container int32) cluster.DeviceSet { return r.held[container] }
