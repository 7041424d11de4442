package ecsched

import (
	"math/bits"

	"fairlead.dev/fairlead/cluster"
)

// Score says how nodes are priced for a request with the demand D, by what they
// have left, F.
type Score uint8

const (
	// DotProduct prices a node at −Σ D·F, both in shares of the largest node: a
	// node that has much left of what the request asks for.
	DotProduct Score = iota
	// MostLoaded prices a node at −Σ D/F: a node that is filled by the request.
	MostLoaded
)

// unit is a price of 1. Prices are rounded to a millionth, as the last step of
// arithmetic in fixed point, so that they are the same on every machine.
const unit = 1_000_000

// The terms of a price are kept with so many more binary digits behind the
// point; there is room for the sum of 127 of them, each at most 1. A term is at
// most three units of its last digit too small, so that the price is the exact
// sum rounded to a millionth, unless a millionth has to be split within 2⁻²⁷ of
// its middle (for up to 127 kinds).
const (
	guardBits = 36
	termOne   = unit << guardBits
)

// prices is what all nodes have left, measured for one score.
type prices struct {
	score Score
	kinds int
	nodes []cluster.NodeID // the live ones
	most  []uint64         // per kind, the largest limit of a node
	left  []int64          // per node row and kind; negative where it holds too much
	share []uint64         // of DotProduct: left/most, with 63 binary digits
}

// measure looks at all nodes.
func (p *prices) measure(s *cluster.View, score Score) {
	p.score, p.kinds = score, len(s.Kinds())
	p.nodes = p.nodes[:0]
	p.most = append(p.most[:0], make([]uint64, p.kinds)...)
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) {
			continue
		}
		p.nodes = append(p.nodes, n)
		for k, q := range s.Limit(n) {
			p.most[k] = max(p.most[k], uint64(q))
		}
	}
	if size := s.NodeRows() * p.kinds; size > len(p.left) {
		p.left = append(p.left, make([]int64, size-len(p.left))...)
		p.share = append(p.share, make([]uint64, size-len(p.share))...)
	}
	for _, n := range p.nodes {
		p.update(s, n)
	}
}

// update looks at one node again.
func (p *prices) update(s *cluster.View, n cluster.NodeID) {
	limit, used := s.Limit(n), s.Used(n)
	from := int(n) * p.kinds
	for k := range limit {
		p.left[from+k] = limit[k] - used[k]
		if p.score == DotProduct && p.most[k] > 0 {
			free := uint64(max(limit[k]-used[k], 0))
			p.share[from+k], _ = bits.Div64(free>>1, free<<63, p.most[k])
		}
	}
}

// fits reports whether the node has the demand left.
func (p *prices) fits(demand []int64, n cluster.NodeID) bool {
	left := p.left[int(n)*p.kinds:][:len(demand)]
	for k, need := range demand {
		if need > left[k] && need > 0 {
			return false
		}
	}
	return true
}

// weigh turns a demand into the weights that of takes, and reports whether some
// node is so large.
func (p *prices) weigh(demand []int64, weights []uint64) ([]uint64, bool) {
	weights = weights[:0]
	for k, need := range demand {
		if uint64(need) > p.most[k] {
			return weights, false
		}
		weight := uint64(0)
		switch high, low := bits.Mul64(uint64(need), termOne); {
		case need == 0:
		case p.score == DotProduct:
			weight, _ = bits.Div64(high, low, p.most[k])
		default:
			weight = uint64(need)
		}
		weights = append(weights, weight)
	}
	return weights, true
}

// preference is more than the prices of two nodes can differ by, given the weights of a demand: the price of a preference of the
// largest weight.
func (p *prices) preference(weights []uint64) int64 {
	sum := uint64(0)
	for _, w := range weights {
		if p.score == MostLoaded {
			w = min(w, 1) * termOne // a node that is filled costs 1 for each kind that is asked for
		}
		sum += w
	}
	return 1 + int64(sum>>guardBits)
}

// of is the price of a node that the demand fits, given its weights.
func (p *prices) of(weights []uint64, n cluster.NodeID) int64 {
	from := int(n) * p.kinds
	sum := uint64(0)
	if p.score == DotProduct {
		share := p.share[from:][:len(weights)]
		for k, w := range weights {
			high, low := bits.Mul64(w, share[k])
			sum += high<<1 | low>>63
		}
	} else {
		left := p.left[from:][:len(weights)]
		for k, w := range weights {
			if w > 0 {
				high, low := bits.Mul64(w, termOne)
				term, _ := bits.Div64(high, low, uint64(left[k]))
				sum += term
			}
		}
	}
	return -int64((sum + 1<<(guardBits-1)) >> guardBits)
}
