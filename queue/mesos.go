package queue

import (
	"cmp"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// mesos is the two-level scheduler of Hindman et al., "Mesos: A Platform for
// Fine-Grained Resource Sharing in the Data Center", NSDI 2011, with one
// framework for each user. The master offers the free room of one node at a
// time to the framework with the lowest dominant share (Ghodsi et al.,
// "Dominant Resource Fairness", NSDI 2011), among equals to the one that
// submitted first. The framework takes its waiting tasks in the order of
// submission, as many as fit; what is left is offered on.
//
// Nodes are offered in rotation. A framework that can use nothing of a node
// declines it, and its filter keeps the node away from it until the node gains
// room or the framework has tasks of another kind. Here a filter is not kept
// but looked up: the rotation goes on to the next node that fits a group of the
// framework that is awake, and a group that no node fits sleeps until one
// changes.
//
// Ours: decisions come one offer after the other, where the master of the
// paper has many offers out at once; shares are measured by the limits of the
// live nodes; a task counts from the decision to the moment when it has left.
//
// Cost: an offer looks at the awake groups of its user, and in the tree of
// rooms for the nodes that fit them.
type mesos struct {
	waiting book.Waiting[offer]
	rooms   book.Rooms
	users   []user
	names   book.Users
	active  []int32 // users with groups awake
	claims  heap.Heap[claim]
	line    book.Line[offer] // scratch: one user's groups during an offer
	held    [][]holding      // per node, what is counted for whom; whoever placed it: another lane, or somebody else
	total   cluster.Vector   // limits of the live nodes
	counted []int64          // per node, what total counts of it
	cursor  uint64           // how many nodes the rotation has passed
	pass    uint64
	ticks   int64
	company sched.Company
}

// user is a framework of the paper.
type user struct {
	first  cluster.Seq // its earliest task that waited
	used   cluster.Vector
	awake  []*book.Group[offer]
	active bool
}

// offer is the next node of the rotation for a group.
type offer struct {
	pass uint64 // in which it was found
	at   uint64 // how many nodes the rotation will have passed before it
}

// claim is a user's place in the line for the next offer.
type claim struct {
	share int64 // dominant share, as a cluster.Fraction
	first cluster.Seq
	user  int32
}

// Before puts the lowest dominant share first.
func (a claim) Before(b claim) bool {
	return cmp.Or(cmp.Compare(a.share, b.share), cmp.Compare(a.first, b.first), cmp.Compare(a.user, b.user)) < 0
}

func newMesos() *mesos { return &mesos{} }

// Why says why the task is not placed.
func (m *mesos) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return explained{}.Why(t, task)
}

// Plan makes offers until none is of use. However small the budget, it makes
// one.
func (m *mesos) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	m.learn(s, c)
	for _, u := range m.active {
		m.claim(u)
	}
	for len(m.claims) > 0 {
		u := m.claims.Pop().user
		if n, ok := m.nextOffer(s, u); ok {
			m.take(t, u, n, out)
			m.claim(u)
		}
		if budget > 0 && m.ticks+m.rooms.Looks >= budget {
			break
		}
	}
	if len(m.claims) > 0 {
		out.Wake = s.Now() // the budget ended the pass
	}
	m.claims = m.claims[:0]
	m.cursor %= uint64(max(m.rooms.Rows(), 1))
	m.retire()
	out.Ticks, m.ticks, m.rooms.Looks = m.ticks+m.rooms.Looks, 0, 0
	m.company.Plan(t, c, budget, out)
}

// claim puts the user into the line for the next offer.
func (m *mesos) claim(u int32) {
	share := int64(0)
	for k, q := range m.users[u].used {
		share = max(share, cluster.Fraction(q, m.total[k]))
	}
	m.claims.Push(claim{share, m.users[u].first, u})
}

// retire forgets the users that have no group awake.
func (m *mesos) retire() {
	kept := m.active[:0]
	for _, u := range m.active {
		m.users[u].active = len(m.users[u].awake) > 0
		if m.users[u].active {
			kept = append(kept, u)
		}
	}
	m.active = kept
}

// learn takes in what changed since the last round.
func (m *mesos) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*m = mesos{total: make(cluster.Vector, len(s.Kinds()))}
	}
	m.rooms.Learn(s, c.Nodes)
	for _, n := range c.Nodes {
		m.measure(s, n)
		m.recount(s, n)
	}
	m.waiting.Forget(s, c)
	for _, t := range c.Tasks {
		if s.Task(t).Phase == cluster.Waiting {
			m.note(s, t)
		}
	}
	m.ticks += m.waiting.Wake(s, c, func(g *book.Group[offer], n cluster.NodeID) bool { return m.waiting.Fits(s, g, n) }, m.wake)
	m.pass++
}

// measure brings the total up to date with one node.
func (m *mesos) measure(s *cluster.View, n cluster.NodeID) {
	kinds := len(m.total)
	for (int(n)+1)*kinds > len(m.counted) {
		m.counted = append(m.counted, 0)
	}
	counted := m.counted[int(n)*kinds : (int(n)+1)*kinds]
	for k := range counted {
		m.total[k] -= counted[k]
		counted[k] = 0
		if s.NodeLive(n) {
			counted[k] = s.Limit(n)[k]
		}
		m.total[k] += counted[k]
	}
}

// note takes in a task that waits.
func (m *mesos) note(s *cluster.View, t cluster.TaskID) {
	task, u := s.Task(t), m.userOf(s, t)
	m.users[u].first = min(m.users[u].first, task.Seq)
	id := book.ID{User: u, Shape: task.Shape, Job: book.JobOf(s, task)}
	if g, joined := m.waiting.Join(s, t, id, 0); joined && g.Len() == 1 {
		m.wake(g)
	}
}

func (m *mesos) userOf(s *cluster.View, t cluster.TaskID) int32 {
	u := m.names.Of(s, s.Task(t).Job)
	if int(u) == len(m.users) {
		m.users = append(m.users, user{first: math.MaxUint64, used: make(cluster.Vector, len(s.Kinds()))})
	}
	return u
}

func (m *mesos) wake(g *book.Group[offer]) {
	u := &m.users[g.User]
	u.awake = append(u.awake, g)
	if !u.active {
		u.active = true
		m.active = append(m.active, g.User)
	}
}

// nextOffer returns the next node of the rotation that the user can use, and
// moves the rotation behind it. Groups that no node fits fall asleep.
func (m *mesos) nextOffer(s *cluster.View, u int32) (cluster.NodeID, bool) {
	user := &m.users[u]
	kept, at := 0, uint64(math.MaxUint64)
	for i := 0; i < len(user.awake); i++ { // seek may append
		if g := user.awake[i]; m.seek(s, g) {
			user.awake[kept] = g
			kept++
			at = min(at, g.Own.at)
		}
	}
	clear(user.awake[kept:])
	user.awake = user.awake[:kept]
	if kept == 0 {
		return 0, false
	}
	m.cursor = at + 1
	return cluster.NodeID(at % uint64(m.rooms.Rows())), true
}

// seek finds the next node of the rotation that fits the group's first task,
// or puts the group to sleep. Room only shrinks during a pass, so that the
// search goes on where the last one ended.
func (m *mesos) seek(s *cluster.View, g *book.Group[offer]) bool {
	for g.Len() > 0 {
		task := m.waiting.First(g)
		beside := false
		takes := func(n cluster.NodeID) bool {
			if !s.RoomNow(g.Shape, n) {
				return false
			}
			refusal := s.Admits(task, n)
			beside = beside || refusal.Code == cluster.NotApart
			return !refusal.Refused()
		}
		from := m.cursor
		if g.Own.pass == m.pass && g.Own.at >= from {
			from = g.Own.at
		}
		m.ticks++
		rows := uint64(m.rooms.Rows())
		n, ok := m.rooms.Next(s.Shape(g.Shape).Demand, int(from%max(rows, 1)), takes)
		switch {
		case beside && g.Job == book.NoJob:
			m.separate(s, g)
		case ok:
			g.Own = offer{m.pass, from + (uint64(n)+rows-from%rows)%rows}
			return true
		default:
			m.waiting.Sleep(s, g)
			return false
		}
	}
	return false
}

// separate moves the group's first task to its job's own group.
func (m *mesos) separate(s *cluster.View, g *book.Group[offer]) {
	if own := m.waiting.Separate(s, g); own.Len() == 1 {
		m.wake(own)
	}
}

// take lets the user place what fits of its waiting tasks on the node, in the
// order of submission.
func (m *mesos) take(t *sched.Trial, u int32, n cluster.NodeID, out *sched.Plan) {
	s := t.View()
	for _, g := range m.users[u].awake {
		m.line.Enter(&m.waiting, g, 0)
	}
	for g := m.line.Next(&m.waiting); g != nil; g = m.line.Next(&m.waiting) {
		m.ticks++
		task := m.waiting.First(g)
		if !s.RoomNow(g.Shape, n) {
			continue
		}
		if refusal := s.Admits(task, n); refusal.Refused() {
			if g.Job == book.NoJob && refusal.Code == cluster.NotApart {
				m.separate(s, g)
				m.again(g)
			}
			continue
		}
		place(t, sched.Action{Task: task, Node: n}, out)
		m.waiting.Leave(task)
		m.again(g)
	}
	m.rooms.Set(s, n)
	m.recount(s, n)
}

// again puts the group back into the line if it has more tasks.
func (m *mesos) again(g *book.Group[offer]) {
	if g.Len() > 0 {
		m.line.Enter(&m.waiting, g, 0)
	}
}

// holding is what one task takes of a node.
type holding struct {
	user   int32
	demand cluster.Vector
}

// recount looks at one node again.
func (m *mesos) recount(s *cluster.View, n cluster.NodeID) {
	m.held = book.Grown(m.held, n, nil)
	parts := m.held[n]
	for _, p := range parts {
		m.users[p.user].hold(p.demand, -1)
	}
	parts = parts[:0]
	for _, t := range s.TasksOn(n) {
		p := holding{m.userOf(s, t), s.DemandOn(t, n)}
		m.users[p.user].hold(p.demand, 1)
		parts = append(parts, p)
	}
	m.held[n] = parts
}

func (u *user) hold(demand cluster.Vector, sign int64) {
	for k, q := range demand {
		u.used[k] += sign * q
	}
}
