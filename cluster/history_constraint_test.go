package cluster

import (
	"fmt"
	"strings"
)

// This file makes constraints up for histories, and prints what is counted for them.

func (h *history) constraint() ConstraintID { return ConstraintID(h.row(historyConstraints)) }

// tagsOf are some of three tags, a bit for each.
func tagsOf(bits int) []string {
	var tags []string
	for i, tag := range []string{"a", "b", "c"} {
		if bits>>i&1 != 0 {
			tags = append(tags, tag)
		}
	}
	return tags
}

// rackOf puts nodes into one of two racks, or into none.
func rackOf(i int) []Label {
	if i%3 == 2 {
		return nil
	}
	return []Label{{"rack", fmt.Sprintf("r%d", i%3)}}
}

func (h *history) groups() []Label { return rackOf(int(h.byte())) }

// constraintSpec makes a constraint up, and now and then one that cannot be.
func (h *history) constraintSpec() Constraint {
	how := h.byte()
	c := Constraint{Name: fmt.Sprint(how), Hard: how&1 != 0, Lenient: how&0x50 == 0x40}
	if !c.Hard {
		c.Weight = DefaultWeight
	}
	if c.Arriving = how&0x30 == 0x30; c.Arriving {
		how &^= 2
	}
	for range 1 + how>>1&1 {
		var bounds []Bound
		for range 1 + how>>2&1 {
			b := Bound{
				Subject: tagsOf(int(h.byte())), Target: tagsOf(int(h.byte())), Min: int32(h.byte() % 3), Max: Unbounded,
				Group: []string{EachNode, "rack", "zone"}[h.byte()%3],
			}
			if most := h.byte(); most < 200 {
				b.Max = int32(most % 4)
			}
			b.SelfCounted = h.byte()&1 != 0 && len(b.Subject) > 0
			if c.Arriving {
				h.arriving(&b)
			}
			bounds = append(bounds, b)
		}
		c.Any = append(c.Any, bounds)
	}
	return c
}

// arriving makes the bound one that binds who comes, and now and then one that cannot be.
func (h *history) arriving(b *Bound) {
	switch how := h.byte(); {
	case how&1 != 0:
		b.Min, b.Max, b.OverFewest, b.LeastSets = 0, 1+int32(how>>1&1), true, int32(how>>2&3)
	case b.Min > 0 || how&2 != 0:
		b.OrFirst = true
	}
}

// dumpConstraints prints all that is kept of constraints. How long tables are means
// nothing.
func dumpConstraints(s *State) string {
	t := s.constraints
	if t == nil {
		return ""
	}
	var b strings.Builder
	for c := range t.row {
		row := &t.row[c]
		if !row.live() {
			continue
		}
		fmt.Fprintf(&b, "\nconstraint %d %+v far %v", c, *row.spec, row.far)
		for i := range row.bound {
			r := &row.bound[i]
			fmt.Fprintf(&b, "\n  bound %d of %d in group %d: %d subjects, %v violate, miss %d;", i, r.alternative, r.group, r.subjects, r.violating, r.misses)
			if r.arriving {
				fmt.Fprintf(&b, " of who comes %v, %d sets, fewest %d;", r.arrivals.targets, r.arrivals.sets, r.arrivals.fewest)
			}
			r.sets.each(func(set int32, count [tenses]Count) {
				if count != ([tenses]Count{}) {
					fmt.Fprintf(&b, " %d %v", set, count)
				}
			})
		}
	}
	for i := range t.group {
		g := &t.group[i]
		fmt.Fprintf(&b, "\ngroup %s %v", g.key, g.number)
		for n, set := range g.of {
			if set != outside {
				fmt.Fprintf(&b, " %d:%d", n, set)
			}
		}
	}
	fmt.Fprint(&b, "\ntallies ", nonEmpty(t.tally), "\nstances")
	for id, st := range t.stances {
		if st.counted {
			fmt.Fprint(&b, " ", id, st)
		}
	}
	return b.String()
}
