package exact

import "fairlead.dev/fairlead/ilp"

// This file is what an operator asks of nodes: few with little left, few in use, none much
// fuller than it must be.

// addNodes adds what the objective says of nodes.
func (b *builder) addNodes() {
	for n := range b.p.Nodes {
		b.addFragmented(int32(n))
		b.addUsed(int32(n))
	}
	if b.p.Objective.Peak > 0 {
		b.addPeak()
	}
}

// addFragmented charges for the node if less is left of a kind than is asked for.
func (b *builder) addFragmented(node int32) {
	price, candidate := b.p.Objective.Fragmented, b.where[node]
	if price == 0 {
		return
	}
	column := absent
	for k, least := range b.p.Objective.Least {
		if b.room[int(node)*len(b.p.Kinds)+k] < least {
			b.Constant += price
			return
		}
	}
	if candidate == absent {
		return
	}
	for k, least := range b.p.Objective.Least {
		unit := b.unitOfKind(candidate, k, least)
		spare := (b.left(candidate, k) - least) / unit
		most := b.load(candidate, k, unit)
		if most <= spare {
			b.terms = b.terms[:0]
			continue
		}
		if column == absent {
			column = b.addColumn(1, price, ilp.Integer, smallest)
		}
		b.add(column, spare-most)
		b.atMost(spare, column)
	}
}

// addUsed charges for the node if a container is on it.
func (b *builder) addUsed(node int32) {
	price, candidate := b.p.Objective.Used, b.where[node]
	switch {
	case price == 0:
		return
	case b.standing[node] > 0:
		b.Constant += price
		return
	case candidate == absent:
		return
	}
	used := absent
	for u := range b.units {
		column := b.at(int32(u), candidate)
		if column == absent {
			continue
		}
		if used == absent {
			used = b.addColumn(1, price, ilp.Integer, smallest)
		}
		b.add(column, 1)
		b.add(used, -b.most(column))
		b.atMost(0, used)
	}
}

// addPeak charges for the fullest node: the price times the share that is taken of it, rounded
// down, which is the least whole number that is more than that less 1.
func (b *builder) addPeak() {
	price, kinds, highest := b.p.Objective.Peak, len(b.p.Kinds), int64(0)
	for n := range b.p.Nodes {
		for k, capacity := range b.p.Nodes[n].Capacity {
			if capacity > 0 {
				highest = max(highest, share(price, capacity-b.room[n*kinds+k], capacity))
			}
		}
	}
	b.Constant += highest
	peak := absent // what is added to the highest
	for i := range b.nodes {
		for k, capacity := range b.p.Nodes[b.nodes[i]].Capacity {
			if capacity <= 0 {
				continue
			}
			unit := b.unitOfKind(int32(i), k, capacity)
			// price·(taken + load) − (capacity − 1) ≤ capacity·(highest + peak)
			whole := capacity / unit
			limit := whole*highest + whole - 1 - price*(whole-b.left(int32(i), k)/unit)
			from := len(b.terms)
			most := b.load(int32(i), k, unit)
			if price*most <= limit {
				b.terms = b.terms[:from]
				continue
			}
			for t := range b.terms {
				b.terms[t].Value *= float64(price)
			}
			if peak == absent {
				peak = b.addColumn(0, 1, ilp.Integer, smallest)
			}
			b.Upper[peak] = max(b.Upper[peak], float64((price*most-limit+whole-1)/whole))
			b.add(peak, -whole)
			b.atMost(limit, peak)
		}
	}
}
