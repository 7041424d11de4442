package queue

import (
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
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
			From: "baseline of FGD, USENIX ATC 2023", Ties: always(Random), make: newGPURandom,
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
	}
}

const (
	mostCPU     = 128_000 // millicores
	mostDevices = 8_000   // thousandths of a device
)

// gpus knows which kinds cpu and devices are, and in which units they count.
type gpus struct {
	cpu, devices       int // kinds; -1 if there is none
	perCore, perDevice int64
	free               []int64 // scratch: what is left of each device
}

// learn finds the kinds, which stay as they are.
func (g *gpus) learn(s *cluster.View, c *sched.Changed, _ func(cluster.NodeID)) bool {
	if !c.All {
		return false
	}
	kinds := s.Kinds()
	g.cpu = slices.IndexFunc(kinds, func(k cluster.Kind) bool { return k.Name == "cpu" })
	g.devices = s.DeviceKind()
	if g.cpu >= 0 {
		g.perCore = max(kinds[g.cpu].PerUnit, 1)
	}
	if g.devices >= 0 {
		g.perDevice = kinds[g.devices].PerUnit
	}
	return false
}

// need is what the shape asks of devices.
func (g *gpus) need(s *cluster.View, shape *cluster.Shape) cluster.DeviceNeed {
	if g.devices < 0 {
		return cluster.DeviceNeed{}
	}
	return s.Kinds()[g.devices].Need(shape.Demand[g.devices])
}

// millicores is what the node has left of cpu.
func (g *gpus) millicores(s *cluster.View, n cluster.NodeID) int64 {
	if g.cpu < 0 {
		return 0
	}
	return (s.Limit(n)[g.cpu] - s.Used(n)[g.cpu]) * 1000 / g.perCore
}

// thousandths is what the node has left of all its devices.
func (g *gpus) thousandths(s *cluster.View, n cluster.NodeID) int64 {
	if g.devices < 0 {
		return 0
	}
	return (s.Limit(n)[g.devices] - s.Used(n)[g.devices]) * 1000 / g.perDevice
}

// left lists what is left of each device, in quantities.
func (g *gpus) left(s *cluster.View, n cluster.NodeID) []int64 {
	g.free = s.FreeDevices(n, g.free[:0])
	return g.free
}

// bestFit is gpu-bestfit: the node that is left with the least cpu and GPU, each
// as a share of the largest node's; below 0 on a node that is larger still. Their
// simulator then stretches the scores of the nodes that fit to 0 to 100, which
// changes neither the best nor its ties.
func (g *gpus) bestFit(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	cpu, gpu := g.millicores(s, n), g.thousandths(s, n)
	if g.cpu >= 0 {
		cpu -= shape.Demand[g.cpu] * 1000 / g.perCore
	}
	if g.devices >= 0 {
		gpu -= shape.Demand[g.devices] * 1000 / g.perDevice
	}
	const whole = mostCPU * mostDevices
	return (100*whole - 50*(cpu*mostDevices+gpu*mostCPU)) / whole
}

// packing is gpu-packing: rather a device that is shared already than an idle
// one, and rather an idle one of a busy node than of an idle node.
func (g *gpus) packing(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	need := g.need(s, shape)
	if need.Count == 0 {
		return 0
	}
	free, limit := g.left(s, n), s.DeviceLimit(n)
	idle := func(q int64) bool { return q == limit }
	if !slices.ContainsFunc(free, func(q int64) bool { return !idle(q) }) {
		return max(33-int64(len(free)), int64(len(free)))
	}
	slices.Sort(free)
	taken, rest, fresh := 0, int64(0), int64(0)
	for _, q := range free {
		if q < need.Share || taken == need.Count {
			continue
		}
		taken++
		rest += q * 100 / g.perDevice
		if idle(q) {
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
	need := g.need(s, shape)
	if need.Count == 0 {
		return 0
	}
	ours, others := false, false
	for _, t := range s.TasksOn(n) {
		switch held := s.DeviceNeed(s.Task(t).Shape); {
		case held.Count == 0:
		case g.asked(held) == g.asked(need):
			ours = true
		default:
			others = true
		}
	}
	score := 25 * (mostDevices - g.thousandths(s, n)) / mostDevices
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

// asked is what makes tasks alike in clustering: 0 if they share a device, and
// else how many they have.
func (g *gpus) asked(need cluster.DeviceNeed) int {
	if need.Share < g.perDevice {
		return 0
	}
	return need.Count
}

// anyDevice is the choice of gpu-random: a share comes from any device that has
// it left.
func (g *gpus) anyDevice(source *rand.Rand) DeviceChoice {
	return func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) cluster.DeviceSet {
		need := g.need(s, shape)
		if need.Count != 1 || need.Share == g.perDevice {
			return 0
		}
		chosen, seen := cluster.DeviceSet(0), 0
		for i, q := range g.left(s, n) {
			if q < need.Share {
				continue
			}
			if seen++; source.IntN(seen) == 0 {
				chosen = 1 << i
			}
		}
		return chosen
	}
}

// onDevices makes a policy of a score. It leaves the choice of devices to
// commit, which takes the fullest that suffice.
func onDevices(score func(*gpus, *cluster.View, *cluster.Shape, cluster.NodeID) int64) func(Options) sched.Policy {
	return func(o Options) sched.Policy {
		known := &gpus{}
		g := newGreedy(firstCome, func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
			return score(known, s, shape, n)
		}, o)
		g.measure = known
		return g
	}
}

func newGPURandom(o Options) sched.Policy {
	known := &gpus{}
	g := newGreedy(firstCome, anyScore, o)
	g.measure, g.devices = known, known.anyDevice(rand.New(rand.NewPCG(o.Seed, 0x69b5)))
	return g
}
