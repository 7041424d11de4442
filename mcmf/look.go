package mcmf

import (
	"math"
	"math/bits"
)

// This file chooses the algorithm of a graph of which nothing is known yet, by one
// look at it that takes a small part of what the solve does.
//
// Network simplex is the fastest on most graphs, and where it is not the fastest it
// is not far from it, but for two kinds:
//
//   - Scheduling networks in which most leaves find a place. Auction seats a leaf
//     that nobody disturbs with one look at its slots, simplex has a pivot for it at
//     the least. So seat all leaves as they come, each at the cheapest of its slots,
//     and count those that find it full. Up to a fifth of them auction is the
//     faster one; above that its prices climb one bid after another, and it takes
//     two to ten times as long. Dense assignment is the extreme: all containers of
//     ECSched want the same few machines. A node with room for an eighth of all leaves does
//     not count as full: one price turns away all who are too many there. Graphs in
//     which units end at more than one node have a core that an auction does not
//     contract, and are simplex's.
//   - Deep networks that are full, such as GOTO's. Each level of nodes, counted in
//     arcs from the nodes that give, can let hardly more through than has to pass.
//     Simplex falls behind there as networks grow, presumably as trees are deep and
//     a pivot moves much of one; cost scaling does not. Levels alone mean as much
//     where there are a quarter as many as nodes.
//
// Seconds of CPU, the least of some solves on a machine in use (trust no tenth);
// the first column is the share of leaves that find their slot full:
//
//	                                          auction  simplex  scaling
//	uniform80, 12,500 machines          3 %     0.040    3.12
//	hot80, 1,250 machines               9 %     0.062    0.13
//	hot105, 1,250 machines             15 %     0.20     0.31
//	loadspread, 4,000 tasks on 1,000    0 %     0.0008   0.064   0.0043
//	loadspread, 12,000 tasks on 1,000   0 %     0.0030   0.56    0.015
//	sparse assignment, 15,000 x 5,000  44 %     0.24     0.060
//	ecsched, 300 x 500                 98 %     0.031    0.0061  0.019
//	1,000 persons, 300 arcs each       37 %     0.12     0.059   0.12
//	GOTO-8, 512 nodes                             –      0.0083  0.0077
//	GOTO-8, 1,024 nodes                           –      0.093   0.022
//	GOTO-8, 4,096 nodes                           –      1.08    0.13
//	GOTO-8, 1,024 nodes, half the supply          –      0.042   0.019
//	grid of 16 x 128, capacity 1,000              0.10   0.010   0.017
//	grid of 16 x 128, capacity 1                  0.017  0.0088  0.0028
//	NETGEN-8, 4,096 nodes                         0.12   0.015   0.040
//	road, 2,048 nodes, 204 pairs                  0.052  0.0023  0.011
//
// Over 1,190 graphs of 20 families, of 50 to 6,000 nodes, the algorithm that is
// chosen takes 1.05 times as long as the best of these three, in the geometric mean,
// and 4.2 times at most. Network simplex alone takes 1.28 times as long, and what was
// here before, auction wherever a quarter of the nodes are leaves, 1.56 times. On 630
// graphs of the same families and another seed, which had no part in the choice of
// the bounds below, it is 1.06 times.
//
// The look costs 2 % of the solve or less, but 7 % of the easiest one (uniform80),
// where all is done with about one look at each arc.
//
// Tried and dropped: bounds of a tenth to two fifths of the leaves in place of a
// fifth, which are worse on both sides; auctions where units end at many nodes; full
// networks from half of what arcs can carry on, which takes in grids that are
// simplex's, and from the greatest supply beside the mean capacity, which does so too.
// The incremental algorithm from nothing takes half as long as both others where a
// tenth to a half of the leaves are turned away on some hundred nodes, but four times
// as long as an auction on hot80 and hot95 with 12,500 machines. An eighth of the leaves
// in place of a quarter would be a cheaper sample, but rooms of a unit or two say
// little: twice as many seem to be turned away.

const (
	// crowd: one leaf of so many that finds its slot full makes a crowd of more.
	crowd = 5
	// wide: who has room for one leaf of so many is never too full. One price of it
	// turns away all who are too many.
	wide = 8
	// fewestLevels and fewestNodes have what is full and smaller: there simplex is
	// as fast.
	fewestLevels = 4
	fewestNodes  = 512
	// mostWide is how many nodes a level has at most that no narrow arc leads to, if
	// there are to be many levels.
	mostWide = 64
	// sampleAbove is of how many leaves each is looked at. Of more it is one of two,
	// of three times as many one of three, and so on to one of four, in runs, as
	// arcs of leaves beside each other are beside each other in memory.
	sampleAbove = 1 << 15
	sampleRun   = 64
)

// look is the algorithm for a graph of which nothing is known.
func (g *Graph) look() Algorithm {
	leaves, takers := 0, 0
	for v := range g.nodes {
		switch row := &g.nodes[v]; {
		case row.looksLeaf():
			leaves++
		case row.supply < 0:
			takers++
		}
	}
	switch {
	case 4*leaves < len(g.nodes):
		if len(g.nodes) >= fewestNodes && g.scalable() && g.full() {
			return CostScaling
		}
	case takers == 1 && !g.crowded(leaves):
		return Auction
	}
	return NetworkSimplex
}

// looksLeaf is isLeaf without a look at arcs.
func (row *nodeRow) looksLeaf() bool { return row.supply == 1 && row.first[entering] == None }

// crowded reports whether more than a fifth of the leaves find the cheapest of
// their slots full, if they are seated as they come.
func (g *Graph) crowded(leaves int) bool {
	// Of a sample, each node has its share of the room.
	each := min(1+leaves/sampleAbove, 4)
	room, rest := make([]int32, len(g.nodes)), int64(0)
	for v := range g.nodes {
		row := &g.nodes[v]
		if row.looksLeaf() {
			continue
		}
		sum := min(max(-row.supply, 0), int64(leaves))
		for a := row.first[leaving]; a != None && sum < int64(leaves); a = g.beside[a].next[leaving] {
			sum += max(min(g.arcs[a].Capacity, int64(leaves)), 0)
		}
		switch {
		case sum == 0:
			room[v] = -1
		case wide*sum >= int64(leaves):
			room[v] = math.MaxInt32
		default:
			sum += rest
			room[v], rest = int32(sum/int64(each)), sum%int64(each)
		}
	}
	turn, turned := 0, 0
	for v := range g.nodes {
		row := &g.nodes[v]
		if !row.looksLeaf() {
			continue
		}
		if turn++; turn/sampleRun%each != 0 {
			continue
		}
		to := g.cheapest(Node(v), room)
		if to != None && room[to] > 0 {
			room[to]--
		} else if turned++; crowd*turned*each > leaves {
			return true
		}
	}
	return false
}

// cheapest is the head of the cheapest of a leaf's slots, or None. Of several that
// cost the same it is one with room left; where there was none to begin with, which
// room has as -1, there is no slot.
func (g *Graph) cheapest(v Node, room []int32) Node {
	to := Node(None)
	for _, all := range [...]bool{true, false} {
		least := int64(0)
		to = None
		for a := g.nodes[v].first[leaving]; a != None; a = g.beside[a].next[leaving] {
			arc := &g.arcs[a]
			if !all && room[arc.To] < 0 {
				continue
			}
			if to == None || arc.Cost < least || arc.Cost == least && room[to] <= 0 {
				least, to = arc.Cost, arc.To
			}
		}
		if to == None || room[to] >= 0 {
			break
		}
	}
	return to
}

// scalable reports whether numbers are so small that cost scaling is sure to have
// room for them: it multiplies costs by the number of nodes.
func (g *Graph) scalable() bool {
	nodes := uint64(len(g.nodes) + 1)
	volume, fits := g.totals.volume.int64()
	return fits && bits.Len64(uint64(g.totals.costliest))+2*bits.Len64(nodes) < 60 &&
		bits.Len64(uint64(volume))+bits.Len64(uint64(len(g.arcs))) < 60
}

// full reports whether in half of the levels of nodes or more, and in some at least,
// what has to pass takes three quarters of what narrow arcs to the next level can
// carry, or up to half as much again, which goes another way then. Narrow is what
// cannot carry all supply. It is also true where there are a quarter as many levels
// as nodes. Most graphs are neither, which the first levels show.
func (g *Graph) full() bool {
	l := newLevels(g)
	tight := int32(0)
	for begin, end := 0, len(l.queue); begin < end; begin, end = end, len(l.queue) {
		narrow := l.reach(l.queue[begin:end])
		switch {
		case l.passing <= 0: // all is there
		case narrow == 0 && len(l.queue)-end > mostWide, 2*l.passing < narrow:
			return false // neither deep, nor full
		case 4*l.passing >= 3*narrow && 2*l.passing <= 3*narrow:
			tight++
		}
	}
	return tight >= fewestLevels && 2*tight >= l.count || 4*int(l.count) >= len(g.nodes)
}

// levels are the nodes by how many arcs they are from one that gives.
type levels struct {
	graph   *Graph
	of      []int32 // by Node, counted from one; 0 is not reached
	queue   []Node  // in their order
	count   int32
	total   int64 // supply of all nodes that give
	passing int64 // that goes on from the last level
}

func newLevels(g *Graph) *levels {
	l := &levels{graph: g, of: make([]int32, len(g.nodes)), queue: make([]Node, 0, len(g.nodes))}
	for v := range g.nodes {
		if supply := g.nodes[v].supply; supply > 0 {
			l.of[v], l.total, l.queue = 1, l.total+supply, append(l.queue, Node(v))
		}
	}
	return l
}

// reach goes on from the nodes of a level to those of the next, and is what narrow
// arcs between the two can carry, or as much of that as is ample.
func (l *levels) reach(level []Node) (narrow int64) {
	g := l.graph
	l.count++
	for _, v := range level {
		row := &g.nodes[v]
		l.passing += row.supply
		for a := row.first[leaving]; a != None; a = g.beside[a].next[leaving] {
			arc := &g.arcs[a]
			if arc.Capacity <= 0 {
				continue
			}
			if l.of[arc.To] == 0 {
				l.of[arc.To], l.queue = l.count+1, append(l.queue, arc.To)
			}
			if l.of[arc.To] > l.count && arc.Capacity < l.total {
				narrow += arc.Capacity
			}
		}
		if l.passing > 0 && narrow > 2*l.total {
			break
		}
	}
	return narrow
}
