package queue

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sched"
)

// gradient is Fragmentation Gradient Descent (Weng et al., ATC 2023): a task
// goes where what is free of devices becomes least useless to the tasks that are
// typical of the workload. The change, in devices of all kinds that come in such, is squeezed by the logistic
// function into whole points from 0 to 100, as in the authors' simulator: what
// differs by less than a point is a tie, and the fixed order of nodes then acts
// as first-fit. With exact scores the policy is worse by five points.
type gradient struct {
	gpus
	typical []fragmentation.Typical
	mix     *fragmentation.Mix
	logits  []float64
	admits  [][]bool // per node, which typical tasks may use it
	trial   trial
}

// trial is a task that is tried on a node: scratch of best.
type trial struct {
	shape  *cluster.Shape
	node   cluster.NodeID
	before []int64 // waste, by kind
	left   fragmentation.Left
	score  int64 // of the best devices so far
	set    cluster.DeviceSet
}

func newFGD(o Options) sched.Policy {
	known := &gradient{typical: o.Typical, logits: logits()}
	return Rules{Score: known.score, Devices: known.device}.greedy(o, known)
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
		g.mix = fragmentation.NewMix(s.Kinds(), g.typical)
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

// device is, of each kind, the device that a share comes from: the best, and of equal ones
// the first. Of whole devices commit takes the fullest that suffice.
func (g *gradient) device(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) cluster.DeviceSet {
	_, set := g.best(s, shape, n)
	return set
}

// best tries the task on the node, for a share on each device that has it left.
// The set is empty where the choice is left to commit.
func (g *gradient) best(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) (score int64, set cluster.DeviceSet) {
	t := &g.trial
	g.mix.Left(s, n, &t.left)
	t.before = append(t.before[:0], g.mix.Waste(g.admits[n], &t.left)...)
	if g.cpu >= 0 {
		t.left.CPU -= shape.Demand[g.cpu]
	}
	t.shape, t.node, t.score, t.set = shape, n, -1, 0
	g.try(s, 0, 0)
	return t.score, t.set
}

// try tries devices of the kinds from i on, beside those of the set: each choice for one kind
// with each for another, as what is left of one may be of use only with the other.
func (g *gradient) try(s *cluster.View, i int, set cluster.DeviceSet) {
	t := &g.trial
	if i == len(g.kinds) {
		if score := g.points(t.before, g.mix.Waste(g.admits[t.node], &t.left)); score > t.score {
			t.score, t.set = score, set
		}
		return
	}
	of, free := &g.kinds[i], t.left.Devices[i]
	need := of.Need(t.shape.Demand[of.Kind])
	if need.Count != 1 || need.Share == of.Size {
		devices, _ := s.PickDevices(t.node, cluster.DeviceNeeds{need}) // as commit does; there are enough
		take(free, devices>>of.First, need.Share)
		g.try(s, i+1, set)
		take(free, devices>>of.First, -need.Share)
		return
	}
	for d, left := range free {
		if left < need.Share || slices.Contains(free[:d], left) {
			continue // too little, or the same as a device before it
		}
		free[d] -= need.Share
		g.try(s, i+1, set|1<<(of.First+d))
		free[d] = left
	}
}

// take takes a share of each device of the set.
func take(free []int64, devices cluster.DeviceSet, share int64) {
	for d := range free {
		if devices.Has(d) {
			free[d] -= share
		}
	}
}

// points are 100 × the logistic function of the waste saved in devices, rounded
// down. A device counts as one of whatever kind it is. Each quotient is rounded once, the
// same everywhere, and the sum compared with constants.
func (g *gradient) points(before, after []int64) int64 {
	devices := 0.0
	for i, of := range g.kinds {
		devices += float64(float64(before[i]-after[i]) / float64(max(g.mix.Tasks()*of.Size, 1)))
	}
	points, exact := slices.BinarySearch(g.logits, devices)
	if exact {
		points++
	}
	return int64(points)
}
