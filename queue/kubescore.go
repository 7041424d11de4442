package queue

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// This file is the scores of kube-scheduler's default plugins for the nodes that take a task, weighted and added up as it does it: whole
// numbers from 0 to 100 each. What the task itself prefers is in kubewishes.go.
//
//   - NodeResourcesFit, weight 1: the mean of what is left of cpu and memory. A task that asks for none of one counts as if it asked for
//     a tenth of a core and 200 MiB.
//   - NodeResourcesBalancedAllocation, weight 1: by how much nearer to each other the shares of cpu and memory come. Not for
//     tasks that ask for neither.
//   - PodTopologySpread, weight 2, as it is by default, of tasks that say nothing of spread themselves: of tasks of the same job few on
//     the node, and few in the zone. Kubernetes does not spread the pods of a Job, which the model does not tell from those of a ReplicaSet.

const (
	fullScore    = 100
	spreadWeight = 2
	// What is on a node, and in a zone, counts from these differences on (maxSkew of the defaults, less 1).
	hostSkew, zoneSkew = 2, 4
	// weightBits are behind the point of the weights of counts.
	weightBits = 30
)

// kubeScores keeps what scores are made of.
type kubeScores struct {
	kinds  [2]int    // cpu and memory; -1: there is none
	usual  [2]int64  // what counts for who asks for none
	nodes  []counted // by row
	count  map[tally]int32
	wishes kubeWishes
	// Scratch.
	sums, spread []int64
}

// counted is what counts of those on a node.
type counted struct {
	zone int32    // 0: it is in none
	more [2]int64 // beside what they ask for, as they ask for none
	jobs []cluster.JobID
}

// tally is the tasks of a job on a node, or in a zone.
type tally struct {
	job  cluster.JobID
	node cluster.NodeID // NoNode: in the zone
	zone int32
}

func newKubeScores(s *cluster.View) kubeScores {
	k := kubeScores{kinds: [2]int{-1, -1}, count: map[tally]int32{}}
	for i, kind := range s.Kinds() {
		switch kind.Name {
		case "cpu":
			k.kinds[0] = i
			if kind.PerUnit > 1 {
				k.usual[0] = kind.PerUnit / 10
			}
		case "memory":
			k.kinds[1] = i
			if kind.Unit == "GiB" {
				k.usual[1] = kind.PerUnit * 200 / 1024
			}
		}
	}
	return k
}

// learn counts anew who is on the nodes that changed, which are in those zones.
func (k *kubeScores) learn(s *cluster.View, nodes []cluster.NodeID, zones *book.Zones) {
	for len(k.nodes) < s.NodeRows() {
		k.nodes = append(k.nodes, counted{})
	}
	for _, n := range nodes {
		own := &k.nodes[n]
		for _, job := range own.jobs {
			k.add(job, n, -1)
		}
		*own = counted{jobs: own.jobs[:0]}
		if !s.NodeLive(n) {
			continue
		}
		own.zone = zones.Of(n)
		for _, t := range s.TasksOn(n) {
			k.placed(s, t)
		}
	}
}

// placed counts one more task on its node. Who is leaving does not count for those of its job.
func (k *kubeScores) placed(s *cluster.View, t cluster.TaskID) {
	task, demand := s.Task(t), s.Demand(t)
	own := &k.nodes[task.Node]
	for i, kind := range k.kinds {
		if kind >= 0 && demand[kind] == 0 {
			own.more[i] += k.usual[i]
		}
	}
	if task.Phase != cluster.Leaving {
		own.jobs = append(own.jobs, task.Job)
		k.add(task.Job, task.Node, 1)
	}
}

func (k *kubeScores) add(job cluster.JobID, n cluster.NodeID, sign int32) {
	for _, key := range []tally{{job, n, 0}, {job, cluster.NoNode, k.nodes[n].zone}} {
		if k.count[key] += sign; k.count[key] == 0 {
			delete(k.count, key)
		}
	}
}

// of are the scores of the nodes for the task. They are good until it is called again.
func (k *kubeScores) of(s *cluster.View, t cluster.TaskID, nodes []cluster.NodeID) []int64 {
	demand := s.Shape(s.Task(t).Shape).Demand
	k.sums = k.sums[:0]
	for _, n := range nodes {
		k.sums = append(k.sums, k.left(s, demand, n)+k.balance(s, demand, n))
	}
	if id := s.Task(t).Shape; !k.wishes.score(s, id, nodes, k.sums) {
		for i, score := range k.apart(s.Task(t).Job, nodes) {
			k.sums[i] += spreadWeight * score
		}
	}
	return k.sums
}

// left is the score of NodeResourcesFit.
func (k *kubeScores) left(s *cluster.View, demand cluster.Vector, n cluster.NodeID) int64 {
	limit, used, sum, kinds := s.Limit(n), s.Used(n), int64(0), int64(0)
	for i, kind := range k.kinds {
		if kind < 0 || limit[kind] == 0 {
			continue
		}
		need := demand[kind]
		if need == 0 {
			need = k.usual[i]
		}
		if asked := used[kind] + k.nodes[n].more[i] + need; asked <= limit[kind] {
			sum += hundredths(limit[kind]-asked, limit[kind])
		}
		kinds++
	}
	if kinds == 0 {
		return 0
	}
	return sum / kinds
}

// hundredths is 100 a/b, rounded down.
func hundredths(a, b int64) int64 {
	if a <= math.MaxInt64/fullScore {
		return a * fullScore / b
	}
	return a / (b / fullScore)
}

// balance is the score of NodeResourcesBalancedAllocation.
func (k *kubeScores) balance(s *cluster.View, demand cluster.Vector, n cluster.NodeID) int64 {
	if !slices.ContainsFunc(k.kinds[:], func(kind int) bool { return kind >= 0 && demand[kind] > 0 }) {
		return 0
	}
	limit, used := s.Limit(n), s.Used(n)
	var with, without [2]float64
	kinds := 0
	for _, kind := range k.kinds {
		if kind >= 0 && limit[kind] > 0 {
			with[kinds] = min(float64(used[kind]+demand[kind])/float64(limit[kind]), 1)
			without[kinds] = min(float64(used[kind])/float64(limit[kind]), 1)
			kinds++
		}
	}
	return fullScore/2 + (fullScore/2+even(with, kinds)-even(without, kinds))/2
}

// even is how near to each other two shares are.
func even(share [2]float64, kinds int) int64 {
	if kinds < 2 {
		return fullScore
	}
	return int64((1 - math.Abs((share[0]-share[1])/2)) * fullScore)
}

// apart are the scores of PodTopologySpread.
func (k *kubeScores) apart(job cluster.JobID, nodes []cluster.NodeID) []int64 {
	k.spread = k.spread[:0]
	zones := map[int32]bool{}
	for _, n := range nodes {
		zones[k.nodes[n].zone] = true
	}
	onNode, inZone := weightOf(len(nodes)), weightOf(len(zones))
	least, most := int64(math.MaxInt64), int64(0)
	for _, n := range nodes {
		sum, skew := int64(k.count[tally{job, n, 0}])*onNode, int64(hostSkew)
		if zone := k.nodes[n].zone; zone != 0 {
			sum, skew = sum+int64(k.count[tally{job, cluster.NoNode, zone}])*inZone, skew+zoneSkew
		}
		score := (sum+1<<(weightBits-1))>>weightBits + skew
		k.spread = append(k.spread, score)
		least, most = min(least, score), max(most, score)
	}
	for i, score := range k.spread {
		k.spread[i] = fullScore * (most + least - score) / most
	}
	return k.spread
}

// weightOf is how much one more counts where there are so many places: the logarithm, rounded, so that it is the same on every machine.
func weightOf(places int) int64 {
	return int64(math.Round(math.Log(float64(places+2)) * (1 << weightBits)))
}
