// Package mcmf finds minimum-cost flows: whole numbers in, whole numbers out,
// and the same for the same, always. It solves from nothing, and again after
// changes in time that goes with what has changed. It knows no clock, starts no
// goroutine and imports nothing but the standard library.
//
// # A problem
//
// A [Graph] has nodes that give (a positive supply) or take units (a negative
// one), and arcs that carry them: at least a lower bound, at most a capacity, at
// a cost each, or along a curve where each unit costs no less than the one
// before. A flow is wanted that leaves at each node what it gives, and costs the
// least. Supplies have to sum to zero. Lower bounds and costs may be negative,
// arcs may be parallel or lead back to where they begin.
//
// A [Solver] belongs to one Graph. The graph may be changed between two solves
// in any way: the solver sees what was touched, keeps the flow that is still
// possible, and mends the rest.
//
// # Prices
//
// Beside the flow there is a price for each node, what one more unit given there
// would cost in all, up to a number that is the same for all nodes. The reduced
// cost of an arc is
//
//	Cost - Price(From) + Price(To)
//
// A flow is the cheapest if no arc with room left has a negative one, and none
// with flow above its lower bound a positive one (complementary slackness). So
// prices prove it: [Solver.Certificate] looks at each arc once, whatever found
// them. On an arc with a curve, Cost is that of the next unit for the first
// half, of the last one for the second. Where there is no flow,
// [Result] has a cut that proves that: nodes to which more is given than can
// leave them.
//
// All arithmetic is in int64 and exact. Where it could not be, the status is
// Overflow, never a wrong answer. Ties are broken by ids and by the history of
// changes, never by chance or map order.
//
// # The contracted network
//
// In the networks of schedulers most nodes are tasks: they give one unit, and
// nothing enters them. The incremental solver and the auction do not count these
// among the nodes that they search. Such a leaf is a unit that sits at the head
// of one of its arcs, and can move to the head of another; the other nodes are
// the core. With 12,500 machines and 150,000 tasks it has 24,500 nodes of 174,500.
// contracted.go has the picture, and what holds at all times.
//
// # Files
//
// What a caller sees:
//
//	graph.go            nodes, arcs, and the notes of what changed
//	curves.go           the steps of arcs whose units cost more and more
//	solver.go           which algorithm runs, and from where
//	look.go             the choice between them, for a graph that is new
//	result.go           options, statuses, ticks
//	certificate.go      the proof that a flow is the cheapest
//	paths.go            a flow taken apart into paths
//	transfer.go         a second solver beside the first, for package race
//
// From the last answer, or from nothing, on the contracted network:
//
//	contracted.go       the network, compile.go makes it, seats.go has where leaves sit
//	sync.go             changes of the graph, taken over
//	incremental.go      what has to be routed, in which order
//	search.go           the way of one unit, by Dijkstra's algorithm from either end
//	shortcut.go         forward searches under contention, met half-way
//	auction.go          all at once, with prices that prove it in most cases
//
// From nothing, on the residual network:
//
//	residual.go         that network, without lower bounds, curves and loops
//	simplex.go          network simplex
//	costscaling.go      cost scaling
//	relaxation.go       relaxation
//	successivepaths.go  successive shortest paths, an oracle
//	cyclecancelling.go  cycle cancelling, another
//
// Each of the algorithms opens with what it does, what holds while it does, where
// it is from, and what was tried and dropped. Beside them stand loop.go (arcs
// from a node to itself), totals.go (what is hopeless without a search, exact
// sums), queue.go and slab.go (data structures), and invariants.go, which with
// the build tag of that name compares everything with everything after each solve.
//
// Package dimacs reads and writes problems and changes as text, mcmftest makes
// problems and tests whatever solves them, race runs two algorithms at once.
package mcmf
