package mcmf

// Status says how a solve ended.
type Status uint8

const (
	// Optimal says that the flow meets every supply, demand and bound, at the least cost.
	Optimal Status = iota
	// Infeasible says that no flow does. Result.Cut shows why, or Result.Arc.
	Infeasible
	// Unbalanced says that the supplies do not sum to zero.
	Unbalanced
	// Overflow says that numbers are so big that exact arithmetic in int64 could fail.
	Overflow
	// Cancelled says that Options.Stop was true.
	Cancelled
	// Exhausted says that Options.Budget was spent.
	Exhausted
)

func (s Status) String() string {
	return [...]string{"optimal", "infeasible", "unbalanced", "overflow", "cancelled", "exhausted"}[s]
}

// Algorithm names a way to solve; each has a file of its own.
type Algorithm string

// The algorithms; all but Automatic have a file of their own that explains them.
const (
	Automatic       Algorithm = "" // chosen by the graph's shape and by what is known: see Solver.Solve
	Incremental     Algorithm = "incremental"
	Auction         Algorithm = "auction"
	CostScaling     Algorithm = "cost-scaling"
	NetworkSimplex  Algorithm = "network-simplex"
	Relaxation      Algorithm = "relaxation"
	SuccessivePaths Algorithm = "successive-shortest-paths"
	CycleCancelling Algorithm = "cycle-cancelling"
)

// Options of one solve; the zero value is right for most.
type Options struct {
	Algorithm Algorithm
	// Budget is the most ticks to spend; 0 means no limit. A tick is one look at
	// an arc, on any machine the same.
	Budget int64
	// Stop is asked now and then; when it is true, the solve ends as Cancelled.
	Stop func() bool
}

// Result of one solve.
type Result struct {
	Status    Status
	Cost      int64 // of all flow; only where Optimal
	Ticks     int64
	Algorithm Algorithm // that made the result
	// Cut, where Infeasible: nodes that together give more than the arcs that
	// leave them can carry beyond the lower bounds of those that enter them.
	Cut []Node
	// Arc, where Infeasible for its own bounds (lower above capacity); else None.
	Arc Arc
	// Unrouted, where Cancelled or Exhausted: units of supply that have no way
	// yet. The flow is feasible for the rest.
	Unrouted int64
}

// solution is what an algorithm from scratch makes of a graph.
type solution struct {
	status   Status
	flow     []int64 // by Arc
	price    []int64 // by Node; see Solver.Price
	cut      []Node
	arc      Arc
	unrouted int64
}

// meter counts effort and says when to stop.
type meter struct {
	ticks, limit, check int64
	stop                func() bool
	ended               Status // Cancelled or Exhausted, once out says true
}

// checkEvery is how many ticks go by between two questions to Options.Stop.
const checkEvery = 1 << 14

func newMeter(o Options) *meter {
	m := &meter{limit: o.Budget, stop: o.Stop}
	if m.limit <= 0 {
		m.limit = 1<<63 - 1
	}
	m.check = min(m.limit, checkEvery)
	return m
}

// spend counts ticks and reports whether to go on.
func (m *meter) spend(ticks int64) bool {
	m.ticks += ticks
	return m.ticks < m.check || m.look()
}

func (m *meter) look() bool {
	if m.ticks >= m.limit {
		m.ended = Exhausted
		return false
	}
	if m.stop != nil && m.stop() {
		m.ended = Cancelled
		return false
	}
	m.check = min(m.limit, m.ticks+checkEvery)
	return true
}

// costOf is the cost of a flow, and whether it fits.
func (g *Graph) costOf(flow []int64) (int64, bool) {
	var total sum
	for a, units := range flow {
		if units != 0 {
			total.addFlow(&g.arcs[a], g.curves.of(Arc(a)), units)
		}
	}
	return total.int64()
}
