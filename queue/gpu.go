package queue

import (
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// The policies of Weng et al. (Beware of Fragmentation: Scheduling GPU-Sharing
// Workloads with Fragmentation Gradient Descent, USENIX ATC 2023) for nodes with
// several GPUs, which tasks share or have whole: FGD and the baselines that it is
// compared with. Each scores nodes in whole points from 0 to 100, as their
// simulator does; between nodes of equal score the tie-break decides, which
// makes points of difference here. Devices are measured in thousandths, cpu in
// millicores, and the constants are those of the largest node of their trace.
//
// Tasks come first come, first served, and one that fits nowhere waits.

// onGPUs are the policies for devices.
func onGPUs() []Info {
	return []Info{
		{
			Name: "gpu-random", What: "first come, first served; any node and devices that fit",
			From: "baseline of FGD, USENIX ATC 2023", Ties: always(book.Random), make: newGPURandom,
		},
		{
			Name: "gpu-bestfit", What: "the node left with least cpu and GPU",
			From: "baseline of FGD, USENIX ATC 2023", make: onDevices((*gpus).bestFit),
		},
		{
			Name: "gpu-packing", What: "shared GPUs first, then idle ones of busy nodes",
			From: "MLaaS in the Wild, NSDI 2022; as FGD compares with it", make: onDevices((*gpus).packing),
		},
		{
			Name: "gpu-clustering", What: "nodes whose tasks ask for as many GPUs as this one",
			From: "Gandiva, OSDI 2018; as FGD compares with it", make: onDevices((*gpus).clustering),
		},
		{
			Name: "fgd", What: "the node and GPU whose waste grows least for the typical tasks",
			From: "Fragmentation Gradient Descent, USENIX ATC 2023", make: newFGD,
		},
		{
			Name: "pwr", What: "the node that draws the fewest watts more",
			From: "PWR, CCGrid 2025", Ties: neverDrawn, make: newPowered(MostPowerWeight),
		},
		{
			Name: "pwr-fgd", What: "watts and waste, by a weight",
			From: "PWR with FGD, CCGrid 2025", Ties: neverDrawn, WeighsPower: true, make: newPowered(-1),
		},
	}
}

const (
	mostCPU     = 128_000 // millicores
	mostDevices = 8_000   // thousandths of a device
)

// gpus knows which kinds cpu and devices are, and in which units they count. Several kinds
// may come in devices, such as network cards beside GPUs, where the paper has GPUs alone:
// what it says of a GPU holds of a device of each, and a node counts by the mean.
type gpus struct {
	cpu     int                  // kind; -1 if there is none
	kinds   []cluster.DeviceKind // that come in devices
	perCore int64
	free    []int64 // scratch: what is left of each device
}

// learn finds the kinds, which stay as they are.
func (g *gpus) learn(s *cluster.View, c *sched.Changed, _ func(cluster.NodeID)) bool {
	if !c.All {
		return false
	}
	kinds := s.Kinds()
	g.cpu = slices.IndexFunc(kinds, func(k cluster.Kind) bool { return k.Name == "cpu" })
	if g.cpu >= 0 {
		g.perCore = max(kinds[g.cpu].PerUnit, 1)
	}
	g.kinds = s.DeviceKinds()
	return false
}

// millicores is what the node has left of cpu.
func (g *gpus) millicores(s *cluster.View, n cluster.NodeID) int64 {
	if g.cpu < 0 {
		return 0
	}
	return (s.Limit(n)[g.cpu] - s.Used(n)[g.cpu]) * 1000 / g.perCore
}

// thousandths is what the node has left of all its devices of a kind.
func thousandths(s *cluster.View, n cluster.NodeID, of *cluster.DeviceKind) int64 {
	return (s.Limit(n)[of.Kind] - s.Used(n)[of.Kind]) * 1000 / of.Size
}

// left lists what is left of each device of a kind, in quantities.
func (g *gpus) left(s *cluster.View, n cluster.NodeID, of *cluster.DeviceKind) []int64 {
	g.free = s.FreeDevices(n, *of, g.free[:0])
	return g.free
}

// bestFit is gpu-bestfit: the node that is left with the least cpu and GPU, each
// as a share of the largest node's; below 0 on a node that is larger still. Their
// simulator then stretches the scores of the nodes that fit to 0 to 100, which
// changes neither the best nor its ties. Devices count as much as cpu, and their kinds
// as much as one another.
func (g *gpus) bestFit(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	cpu, devices := g.millicores(s, n), int64(0)
	if g.cpu >= 0 {
		cpu -= shape.Demand[g.cpu] * 1000 / g.perCore
	}
	for i := range g.kinds {
		of := &g.kinds[i]
		devices += thousandths(s, n, of) - shape.Demand[of.Kind]*1000/of.Size
	}
	kinds := int64(max(len(g.kinds), 1))
	whole := mostCPU * mostDevices * kinds
	return (100*whole - 50*(cpu*mostDevices*kinds+devices*mostCPU)) / whole
}

// packing is gpu-packing: rather a device that is shared already than an idle
// one, and rather an idle one of a busy node than of an idle node. A node is idle if all
// its devices are, of whatever kind.
func (g *gpus) packing(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	if !g.asks(shape) {
		return 0
	}
	busy := false
	for i := range g.kinds {
		of := &g.kinds[i]
		whole := wholeDevice(s, n, of)
		busy = busy || slices.ContainsFunc(g.left(s, n, of), func(q int64) bool { return q != whole })
	}
	score, asked := int64(0), int64(0)
	for i := range g.kinds {
		of := &g.kinds[i]
		if need := of.Need(shape.Demand[of.Kind]); need.Count > 0 {
			score += g.packed(s, n, of, need, busy)
			asked++
		}
	}
	return score / asked
}

// wholeDevice is how much of a device of the kind may be used.
func wholeDevice(s *cluster.View, n cluster.NodeID, of *cluster.DeviceKind) int64 {
	return s.Limit(n)[of.Kind] / int64(max(of.Count(s.Capacity(n)), 1))
}

// packed is packing by one kind of devices.
func (g *gpus) packed(s *cluster.View, n cluster.NodeID, of *cluster.DeviceKind, need cluster.DeviceNeed, busy bool) int64 {
	free, whole := g.left(s, n, of), wholeDevice(s, n, of)
	if !busy {
		return max(33-int64(len(free)), int64(len(free)))
	}
	slices.Sort(free)
	taken, rest, fresh := 0, int64(0), int64(0)
	for _, q := range free {
		if q < need.Share || taken == need.Count {
			continue
		}
		taken++
		rest += q * 100 / of.Size
		if q == whole {
			fresh++
		}
	}
	if fresh > 0 {
		return max(50-fresh, 33)
	}
	return max(100-rest/10, 50)
}

// clustering is gpu-clustering: a node whose tasks all ask for as many GPUs as
// this one, rather than one with others, and of such the fullest.
func (g *gpus) clustering(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	if !g.asks(shape) {
		return 0
	}
	ours, others := false, false
	for _, t := range s.TasksOn(n) {
		switch held := s.Shape(s.Task(t).Shape); {
		case !g.asks(held):
		case g.alike(held, shape):
			ours = true
		default:
			others = true
		}
	}
	left := int64(0)
	for i := range g.kinds {
		left += thousandths(s, n, &g.kinds[i])
	}
	most := mostDevices * int64(len(g.kinds))
	score := 25 * (most - left) / most
	switch {
	case ours && !others:
		return score + 75
	case ours:
		return score + 50
	case !others:
		return score + 25
	}
	return score
}

// asks reports whether the shape asks for devices.
func (g *gpus) asks(shape *cluster.Shape) bool {
	return slices.ContainsFunc(g.kinds, func(of cluster.DeviceKind) bool { return shape.Demand[of.Kind] > 0 })
}

// alike reports whether two shapes are alike in clustering: of each kind both share a
// device, or have as many.
func (g *gpus) alike(a, b *cluster.Shape) bool {
	for i := range g.kinds {
		of := &g.kinds[i]
		x, y := of.Need(a.Demand[of.Kind]), of.Need(b.Demand[of.Kind])
		if x.Count != y.Count || (x.Share < of.Size) != (y.Share < of.Size) {
			return false
		}
	}
	return true
}

// anyDevice is the choice of gpu-random: a share comes from any device that has
// it left.
func (g *gpus) anyDevice(source *rand.Rand) DeviceChoice {
	return func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) cluster.DeviceSet {
		set := cluster.DeviceSet(0)
		for i := range g.kinds {
			of := &g.kinds[i]
			need := of.Need(shape.Demand[of.Kind])
			if need.Count != 1 || need.Share == of.Size {
				continue
			}
			chosen, seen := cluster.DeviceSet(0), 0
			for d, q := range g.left(s, n, of) {
				if q < need.Share {
					continue
				}
				if seen++; source.IntN(seen) == 0 {
					chosen = 1 << (of.First + d)
				}
			}
			set |= chosen
		}
		return set
	}
}

// onDevices makes a policy of a score. It leaves the choice of devices to
// commit, which takes the fullest that suffice.
func onDevices(score func(*gpus, *cluster.View, *cluster.Shape, cluster.NodeID) int64) func(Options) sched.Policy {
	return func(o Options) sched.Policy {
		known := &gpus{}
		return Rules{Score: func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
			return score(known, s, shape, n)
		}}.greedy(o, known)
	}
}

func newGPURandom(o Options) sched.Policy {
	known := &gpus{}
	return Rules{Devices: known.anyDevice(rand.New(rand.NewPCG(o.Seed, 0x69b5)))}.greedy(o, known)
}
