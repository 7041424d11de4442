package moves_test

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/capacity/moves"
	"fairlead.dev/fairlead/cluster"
)

// This file is the independent checker: it knows plain numbers and loops, and none of the state's. It
// replays a plan move by move, and after each holds all nodes against what they held before.

type checkedTask struct {
	node, zone, perNode int
	job                 cluster.JobID
	demand              []int64
	tag                 string
	may                 moves.May
}

type checkedNode struct {
	zone  int
	limit []int64
}

// rule is a hard constraint: beside each task with the subject's tag, from min to max others with the target's in
// the same group of nodes.
type rule struct {
	subject, target string
	min, max        int
	byZone          bool
}

// rules are those that worlds with constraints have.
func rules() []rule {
	return []rule{
		{"app0", "app1", 0, 0, false},
		{"app2", "app2", 0, 2, false},
		{"app1", "app1", 0, 5, true},
		{"app3", "app0", 1, 1 << 30, true},
	}
}

func (r rule) constraint(i int) cluster.Constraint {
	group := cluster.EachNode
	if r.byZone {
		group = "zone"
	}
	most := cluster.Unbounded
	if r.max < 1<<30 {
		most = int32(r.max)
	}
	return cluster.Constraint{Name: fmt.Sprint("rule", i), Hard: true, Any: [][]cluster.Bound{{{
		Subject: []string{r.subject}, Target: []string{r.target}, Min: int32(r.min), Max: most, Group: group,
	}}}}
}

type checker struct {
	nodes []checkedNode
	tasks []checkedTask
	rules []rule
}

// checkerOf writes the world down as it is.
func checkerOf(w *world, rules []rule) *checker {
	c := &checker{rules: rules}
	for n := range cluster.NodeID(w.state.NodeRows()) {
		zone := -1
		for z := 1; z <= zoneSets; z++ {
			if w.state.Eligible(cluster.SetID(z), n) {
				zone = z
			}
		}
		c.nodes = append(c.nodes, checkedNode{zone, slices.Clone(w.state.Limit(n))})
	}
	for i, may := range w.may {
		task := w.state.Task(cluster.TaskID(i))
		shape := w.state.Shape(task.Shape)
		tag := ""
		if len(shape.Tags) > 0 {
			tag = shape.Tags[0]
		}
		c.tasks = append(c.tasks, checkedTask{int(task.Node), int(shape.Eligible), int(shape.PerNode), task.Job, slices.Clone(shape.Demand), tag, may})
	}
	return c
}

// wrong is all that is wrong with the cluster, with how much: what a node is over, who is where he may not be.
func (c *checker) wrong() map[string]int {
	wrong := map[string]int{}
	held := make([][]checkedTask, len(c.nodes))
	for i, t := range c.tasks {
		held[t.node] = append(held[t.node], t)
		if t.zone > 0 && c.nodes[t.node].zone != t.zone {
			wrong[fmt.Sprint("task ", i, " is not eligible")]++
		}
	}
	for n, tasks := range held {
		c.wrongOn(n, tasks, wrong)
	}
	for i, r := range c.rules {
		wrong[fmt.Sprint("rule ", i)] = c.violating(r)
	}
	return wrong
}

func (c *checker) wrongOn(n int, tasks []checkedTask, wrong map[string]int) {
	var gpus []int64
	ofJob := map[cluster.JobID]int{}
	for k, most := range c.nodes[n].limit {
		sum := int64(0)
		for _, t := range tasks {
			sum += t.demand[k]
		}
		if sum > most {
			wrong[fmt.Sprint("node ", n, " kind ", k)] = int(sum - most)
		}
	}
	for _, t := range tasks {
		ofJob[t.job]++
		if len(t.demand) == 4 && t.demand[3] > 0 {
			for left := t.demand[3]; left > 0; left -= 1000 {
				gpus = append(gpus, min(left, 1000))
			}
		}
	}
	for _, t := range tasks {
		if t.perNode > 0 && ofJob[t.job] > t.perNode {
			wrong[fmt.Sprint("node ", n, " job ", t.job)] = ofJob[t.job]
		}
	}
	if len(gpus) > 0 {
		slices.Sort(gpus)
		slices.Reverse(gpus)
		if !packs(gpus, make([]int64, c.nodes[n].limit[3]/1000)) {
			wrong[fmt.Sprint("node ", n, " devices")]++
		}
	}
}

// packs reports whether the shares, the largest first, can lie on the devices.
func packs(shares, used []int64) bool {
	if len(shares) == 0 {
		return true
	}
	for i := range used {
		if used[i]+shares[0] > 1000 || slices.Contains(used[:i], used[i]) {
			continue
		}
		used[i] += shares[0]
		ok := packs(shares[1:], used)
		used[i] -= shares[0]
		if ok {
			return true
		}
	}
	return false
}

// violating is how many subjects violate the rule.
func (c *checker) violating(r rule) (count int) {
	targets := map[int]int{}
	group := func(t checkedTask) int {
		if r.byZone {
			return c.nodes[t.node].zone
		}
		return t.node
	}
	for _, t := range c.tasks {
		if t.tag == r.target {
			targets[group(t)]++
		}
	}
	for _, t := range c.tasks {
		if t.tag != r.subject {
			continue
		}
		others := targets[group(t)]
		if r.subject == r.target {
			others--
		}
		if others < r.min || others > r.max {
			count++
		}
	}
	return count
}

// replay makes the moves one by one and says what the first wrong one is.
func (c *checker) replay(list []moves.One) error {
	before := c.wrong()
	for i, m := range list {
		t := &c.tasks[m.Task]
		switch {
		case t.may != moves.Move:
			return fmt.Errorf("move %d: task %d may not move", i, m.Task)
		case t.node != int(m.From):
			return fmt.Errorf("move %d: task %d is on node %d, not on %d", i, m.Task, t.node, m.From)
		case m.To == m.From:
			return fmt.Errorf("move %d: task %d stays on node %d", i, m.Task, m.To)
		}
		t.node = int(m.To)
		after := c.wrong()
		for _, what := range slices.Sorted(maps.Keys(after)) {
			if after[what] > before[what] {
				return fmt.Errorf("after move %d (task %d from %d to %d): %s is %d, was %d", i, m.Task, m.From, m.To, what, after[what], before[what])
			}
		}
		before = after
	}
	return nil
}

// busy reports whether the node holds a task that is not its own.
func (c *checker) busy(n cluster.NodeID) bool {
	return slices.ContainsFunc(c.tasks, func(t checkedTask) bool { return t.node == int(n) && t.may != moves.Go })
}

// hot reports whether the node holds more than so many thousandths of its cores or memory.
func (c *checker) hot(n int, share int64) bool {
	for k := range 2 {
		sum := int64(0)
		for _, t := range c.tasks {
			if t.node == n {
				sum += t.demand[k]
			}
		}
		if sum > c.nodes[n].limit[k]/1000*share+c.nodes[n].limit[k]%1000*share/1000 {
			return true
		}
	}
	return false
}
