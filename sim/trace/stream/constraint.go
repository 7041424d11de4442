package stream

import (
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file reads and writes constraints and tags.

// readTags appends tags to an empty list, sorted.
func (r *Reader) readTags(tags []string) []string {
	s := &r.scan
	for more := s.open('[', "a list of tags"); more; more = s.more(']') {
		tag := r.text(s.string("a tag, which is not empty"))
		at, found := slices.BinarySearch(tags, tag)
		if found || tag == "" {
			s.fail("each tag once, and none empty")
		}
		tags = slices.Insert(tags, at, tag)
	}
	return tags
}

// constraint reads a constraint that is added.
func (r *Reader) constraint(c *cluster.Constraint) {
	s := &r.scan
	for more := s.open('{', `{"name":...,"any":[[...]]}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "name":
			c.Name = string(s.string("the name of the constraint"))
		case "owner":
			c.Owner = string(s.string("the application that brought it"))
		case "any":
			c.Any = nil
			for more := s.open('[', "a list of alternatives, each a list of bounds"); more; more = s.more(']') {
				var bounds []cluster.Bound
				for more := s.open('[', "a list of bounds"); more; more = s.more(']') {
					bounds = append(bounds, r.bound())
				}
				c.Any = append(c.Any, bounds)
			}
		case "hard":
			c.Hard = s.bool()
		case "weight":
			c.Weight = s.int("a weight in thousandths", 1, cluster.MaxWeight)
		case "arriving":
			c.Arriving = s.bool()
		default:
			s.failName("a field of a constraint", name, "name", "owner", "any", "hard", "weight", "arriving")
		}
	}
	if !c.Hard && c.Weight == 0 {
		c.Weight = cluster.DefaultWeight
	}
	switch err := cluster.CheckConstraint(c); {
	case s.failed():
	case c.Name == "":
		s.fail("a name in the constraint that ends here")
	case err != nil:
		s.fail(fmt.Sprintf("a constraint that can be (%v)", err))
	}
}

func (r *Reader) bound() cluster.Bound {
	s := &r.scan
	b := cluster.Bound{Max: cluster.Unbounded}
	for more := s.open('{', `a bound {"target":[...],"group":...}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "subject":
			b.Subject = r.readTags(nil)
		case "target":
			b.Target = r.readTags(nil)
		case "min":
			b.Min = int32(s.int("how many there shall be at least", 0, int64(cluster.MaxBound)))
		case "max":
			b.Max = int32(s.int("how many there may be at most", 0, int64(cluster.MaxBound)))
		case "group":
			b.Group = r.text(s.string("node, or a group of nodes"))
		case "self_counted":
			b.SelfCounted = s.bool()
		case "or_first":
			b.OrFirst = s.bool()
		case "over_fewest":
			b.OverFewest = s.bool()
		case "least_sets":
			b.LeastSets = int32(s.int("how many sets must have nodes", 1, int64(cluster.MaxBound)))
		default:
			s.failName("a field of a bound", name, "subject", "target", "min", "max", "group", "self_counted", "or_first", "over_fewest", "least_sets")
		}
	}
	return b
}

// release reads which constraint is no more.
func (r *Reader) release(c *cluster.Constraint) {
	s := &r.scan
	for more := s.open('{', `{"name":...}`); more; more = s.more('}') {
		if name := s.name(); string(name) != "name" {
			s.failName("a field of release", name, "name")
		}
		c.Name = string(s.string("the name of the constraint"))
	}
	if c.Name == "" {
		s.fail("name in the object that ends here")
	}
}

// constraint writes a constraint that is added.
func (w *Writer) constraint(c *cluster.Constraint) error {
	if err := cluster.CheckConstraint(c); err != nil {
		return fmt.Errorf("trace stream: %w", err)
	}
	if c.Name == "" {
		return errors.New("trace stream: a constraint without a name")
	}
	w.open("constrain", '{')
	w.string("name", c.Name)
	if c.Owner != "" {
		w.string("owner", c.Owner)
	}
	w.open("any", '[')
	for _, bounds := range c.Any {
		w.open("", '[')
		for i := range bounds {
			w.bound(&bounds[i])
		}
		w.close(']')
	}
	w.close(']')
	if c.Hard {
		w.flag("hard")
	} else {
		w.int("weight", c.Weight)
	}
	if c.Arriving {
		w.flag("arriving")
	}
	return nil
}

func (w *Writer) bound(b *cluster.Bound) {
	w.open("", '{')
	w.tags("subject", b.Subject)
	w.tags("target", b.Target)
	if b.Min > 0 {
		w.int("min", int64(b.Min))
	}
	if b.Max != cluster.Unbounded {
		w.int("max", int64(b.Max))
	}
	w.string("group", b.Group)
	if b.SelfCounted {
		w.flag("self_counted")
	}
	if b.OrFirst {
		w.flag("or_first")
	}
	if b.OverFewest {
		w.flag("over_fewest")
	}
	if b.LeastSets > 0 {
		w.int("least_sets", int64(b.LeastSets))
	}
	w.close('}')
}

func (w *Writer) tags(name string, tags []string) {
	if len(tags) == 0 {
		return
	}
	w.open(name, '[')
	for _, tag := range tags {
		w.string("", tag)
	}
	w.close(']')
}
