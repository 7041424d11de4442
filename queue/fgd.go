package queue

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// gradient is Fragmentation Gradient Descent (Weng et al., ATC 2023): a task
// goes where what is free of devices becomes least useless to the tasks that are
// typical of the workload. The change, in devices, is squeezed by the logistic
// function into whole points from 0 to 100, as in the authors' simulator: what
// differs by less than a point is a tie, and the fixed order of nodes then acts
// as first-fit. With exact scores the policy is worse by five points.
type gradient struct {
	gpus
	typical []cluster.Typical
	mix     *cluster.Mix
	logits  []float64
	admits  [][]bool // per node, which typical tasks may use it
	after   []int64  // scratch
}

func newFGD(o Options) sched.Policy {
	known := &gradient{typical: o.Typical, logits: logits()}
	g := newGreedy(firstCome, known.score, o)
	g.measure, g.devices = known, known.device
	return g
}

// logits are the changes at which the score becomes 1, 2, … 99 points: the
// inverse of the logistic function, ln(p/(100-p)), by the series of the inverse
// hyperbolic tangent, as logarithms differ between machines.
func logits() []float64 {
	table := make([]float64, 99)
	for i := range table {
		z := float64(i+1-50) / 50
		power := z
		for k := 1; k < 2000; k += 2 {
			table[i] += power / float64(k)
			power *= z * z
		}
		table[i] *= 2
	}
	return table
}

// learn counts the tasks that were submitted, unless the typical ones are given.
// A node that came into the set of a typical task, or left it, scores otherwise
// for all tasks.
func (g *gradient) learn(s *cluster.View, c *sched.Changed, note func(cluster.NodeID)) bool {
	g.gpus.learn(s, c, note)
	if c.All {
		g.mix = cluster.NewMix(s.Kinds(), g.typical)
	}
	anew := false
	for _, t := range c.Tasks {
		anew = g.mix.Learn(s, t) || anew
	}
	for len(g.admits) < s.NodeRows() {
		g.admits = append(g.admits, nil)
	}
	if anew {
		for n := range g.admits {
			g.admit(s, cluster.NodeID(n))
		}
		return true
	}
	for _, n := range c.Nodes {
		g.admit(s, n)
	}
	for _, m := range c.Members {
		g.admit(s, m.Node)
		note(m.Node)
	}
	return false
}

// admit notes which typical tasks may use the node.
func (g *gradient) admit(s *cluster.View, n cluster.NodeID) {
	g.admits[n] = g.mix.Admits(s, n, g.admits[n][:0])
}

// score is what the best choice of devices on the node scores.
func (g *gradient) score(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	score, _ := g.best(s, shape, n)
	return score
}

// device is the device that a share comes from: the best, and of equal ones the
// first. Of whole devices commit takes the fullest that suffice.
func (g *gradient) device(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) cluster.DeviceSet {
	_, set := g.best(s, shape, n)
	return set
}

// best tries the task on the node, for a share on each device that has it left.
// The set is empty where the choice is left to commit.
func (g *gradient) best(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) (score int64, set cluster.DeviceSet) {
	need := g.need(s, shape)
	free := g.left(s, n)
	cpu := g.mix.FreeCPU(s, n)
	before := g.mix.Waste(g.admits[n], cpu, free)
	if g.cpu >= 0 {
		cpu -= shape.Demand[g.cpu]
	}
	g.after = append(g.after[:0], free...)
	if need.Count != 1 || need.Share == g.perDevice {
		devices, _ := s.PickDevices(n, need) // as commit does; there are enough
		for i := range g.after {
			if devices.Has(i) {
				g.after[i] -= need.Share
			}
		}
		return g.points(before - g.mix.Waste(g.admits[n], cpu, g.after)), 0
	}
	score = -1
	for i, left := range free {
		if left < need.Share || slices.Contains(free[:i], left) {
			continue // too little, or the same as a device before it
		}
		g.after[i] -= need.Share
		if points := g.points(before - g.mix.Waste(g.admits[n], cpu, g.after)); points > score {
			score, set = points, 1<<i
		}
		g.after[i] = left
	}
	return score, set
}

// points are 100 × the logistic function of the waste saved in devices, rounded
// down. The quotient is rounded once, the same everywhere, and compared with
// constants.
func (g *gradient) points(saved int64) int64 {
	devices := float64(saved) / float64(max(g.mix.Tasks()*g.perDevice, 1))
	points, exact := slices.BinarySearch(g.logits, devices)
	if exact {
		points++
	}
	return int64(points)
}
