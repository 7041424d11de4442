package queue

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// lessUrgent knows who runs where, as far as it takes to say which nodes cannot have
// enough tasks that are less urgent than another. Slacks of the running tasks of a
// class rise at one rate, so the one with most slack on a node stays that for as long
// as the node does not change, and its slack, less what a task has gained that has run
// from the beginning of time, is a number that does not change either, but for
// rounding. A tournament over the nodes holds that number, class by class.
//
// A run that has yet to begin stands with the number that it would have if it had
// begun: it has no more than that. What may never be evicted is left out. So it
// says too much, never too little; the last word has the look at the node itself.
type lessUrgent struct {
	kinds int
	rows  int           // of nodes, that there is memory for
	most  []*book.Index // by class: per node row, the largest number
	held  []int64       // by node row and class: the demand of those that could be evicted
	// numbers are the leaves of most, which are read more often than anything else here.
	numbers [][]int64
	have    []int64 // by kind, scratch: the demand of those on a node that are less urgent

	gain []cluster.Time // by class: of a task that has run from the beginning of time
	need []int64        // by class, scratch: the least number that is less urgent than somebody
}

// rounding is by how much gains may be off, in microseconds.
const rounding = 4

// mostGain is where gains come near the end of what slacks can be, as with a target of
// a millionth after weeks. Nothing is said of such a class.
const mostGain = cluster.Never / 4

// learn takes in changed nodes.
func (c *lessUrgent) learn(s *cluster.View, changed *sched.Changed) {
	classes := len(s.Classes())
	c.kinds = len(s.Kinds())
	if c.gain == nil {
		c.gain, c.need = make([]cluster.Time, classes), make([]int64, classes)
	}
	c.begin(s)
	if rows := s.NodeRows(); rows > c.rows {
		c.grow(s, max(rows, 2*c.rows, 8))
		return
	}
	for _, n := range changed.Nodes {
		c.look(s, n)
	}
}

// grow makes room for more nodes, and looks at all.
func (c *lessUrgent) grow(s *cluster.View, rows int) {
	classes := len(s.Classes())
	c.most, c.numbers, c.have = make([]*book.Index, classes), make([][]int64, classes), make([]int64, c.kinds)
	for i := range c.most {
		c.most[i] = book.NewIndex(rows, book.Lowest)
		c.most[i].Fill(func(int) int64 { return book.None })
		c.numbers[i] = c.most[i].Leaves()
	}
	c.held = make([]int64, rows*classes*c.kinds)
	c.rows = rows
	for n := range s.NodeRows() {
		c.look(s, cluster.NodeID(n))
	}
}

// begin fixes what gains are now.
func (c *lessUrgent) begin(s *cluster.View) {
	for i := range s.Classes() {
		class := &s.Classes()[i]
		c.gain[i] = 0
		if class.Promises() {
			c.gain[i] = class.Slack(cluster.Account{Running: s.Now()}) + class.Margin + class.Restart
		}
	}
}

// mayEver reports whether tasks of the class can be evicted at all.
func mayEver(class *cluster.Class) bool { return !class.Promises() || class.Budget > 0 }

// look takes in one node.
func (c *lessUrgent) look(s *cluster.View, n cluster.NodeID) {
	classes := len(s.Classes())
	held := c.held[int(n)*classes*c.kinds : (int(n)+1)*classes*c.kinds]
	clear(held)
	for i := range c.need {
		c.need[i] = book.None
	}
	if s.NodeLive(n) {
		for _, t := range s.TasksOn(n) {
			task := s.Task(t)
			class := &s.Classes()[task.Class]
			if s.Evictable(t).Refused() || !mayEver(class) {
				continue
			}
			number := int64(math.MaxInt64)
			if class.Promises() {
				number = int64(class.Slack(task.Account.At(s.Now(), task.Phase)) - c.gain[task.Class])
			}
			c.need[task.Class] = max(c.need[task.Class], number)
			for k, q := range s.Demand(t) {
				held[int(task.Class)*c.kinds+k] += q
			}
		}
	}
	for i, number := range c.need {
		c.most[i].Set(int(n), number)
	}
}

// seek fills in the least number of each class that may be less urgent than u.
func (c *lessUrgent) seek(classes []cluster.Class, u urgency) {
	for i := range classes {
		least := cluster.Time(0) // what is not critical is less urgent than what is
		switch importance := int64(classes[i].Importance); {
		case u.slack == cluster.Never:
			c.need[i] = math.MaxInt64
			continue
		case c.gain[i] > mostGain || u.rank != calm && importance > u.rank:
			c.need[i] = book.None + 1 // anybody
			continue
		case u.rank == calm || importance == u.rank:
			least = u.slack
		}
		c.need[i] = int64(least) - int64(c.gain[i]) - rounding
	}
}

// below reports whether anybody anywhere may be less urgent than u.
func (c *lessUrgent) below(classes []cluster.Class, u urgency) bool {
	if u.slack == cluster.Never || len(c.most) == 0 {
		return false
	}
	c.seek(classes, u)
	for i, x := range c.most {
		if x.Most() >= c.need[i] {
			return true
		}
	}
	return false
}

// could reports whether the demand may fit on the node once all have left who may be
// less urgent than whom was sought, of whom there is one at least.
func (c *lessUrgent) could(s *cluster.View, demand cluster.Vector, n cluster.NodeID) bool {
	classes, have := len(c.most), c.have
	held := c.held[int(n)*classes*c.kinds : (int(n)+1)*classes*c.kinds]
	clear(have)
	found := false
	for i, numbers := range c.numbers {
		if numbers[n] < c.need[i] {
			continue
		}
		found = true
		for k, q := range held[i*c.kinds : (i+1)*c.kinds] {
			have[k] += q
		}
	}
	if !found {
		return false
	}
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	for k, need := range demand {
		if need > have[k]+limit[k]-used[k]+leaving[k] && need > 0 {
			return false
		}
	}
	return true
}
