package board

// This file makes soft constraints dearer than they are, for solvers that do not come away from
// a plan, and likewise what is moved, loose or not placed, lest all of these give way to a
// constraint. The score is the same; estimates go by what is charged.

const (
	quarters = 4
	// mostQuarters keeps sums of weights from overflow, but for the largest that an objective and a constraint
	// may have both: there what is charged guides nobody, and the score is as it is.
	mostQuarters = 100 * quarters
)

// levy works out the constraint's surcharge anew.
func (c *counts) levy(s *standing) {
	surcharge := s.dearer * s.cost / quarters
	c.surcharges += surcharge - s.surcharge
	s.surcharge = surcharge
}

// Surcharge makes the constraint of that row dearer by a quarter of what it costs; a hundred times
// as dear is the most. Hard ones come before all else as it is.
func (b *Board) Surcharge(row int32) {
	if of := &b.constraints[row]; !of.hard && of.dearer < mostQuarters {
		b.charge(row, of.dearer+1)
	}
}

// SurchargeParts makes dearer what is moved, loose or not placed, as Surcharge does a constraint.
func (t *tally) SurchargeParts() { t.dearer = min(t.dearer+1, mostQuarters) }

// Relieve takes all surcharges back.
func (b *Board) Relieve() {
	b.dearer = 0
	for row := range b.constraints {
		if b.constraints[row].dearer > 0 {
			b.charge(int32(row), 0)
		}
	}
}

// charge makes the constraint dearer by so many quarters, and makes stale what estimates know of it.
func (b *Board) charge(row int32, dearer int64) {
	of := &b.constraints[row]
	of.dearer = dearer
	b.levy(of)
	for _, i := range b.sharesIn[row] {
		b.shares[i].stale = true
	}
}

// Surcharges are what the plan costs beyond the score.
func (b *Board) Surcharges() int64 {
	w := &b.weights
	parts := w.Unplaced*b.unplaced + w.Loose*b.loose + w.Moved*b.moved
	return b.surcharges + b.dearer*parts/quarters
}

// charged is what the price is with so many quarters of it as surcharge.
func charged(price, dearer int64) int64 { return price + price*dearer/quarters }
