package constraint

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file says in English what a constraint means. A bound counts others, and people
// think in totals: where every subject is counted by the others, a set that holds
// subjects holds one more in all than the bound says, and the words say that number.

// Explain says what a constraint means, in sentences.
func Explain(c *cluster.Constraint) string {
	alternatives := make([]string, len(c.Any))
	for i, bounds := range c.Any {
		sentences := make([]string, len(bounds))
		for j := range bounds {
			sentences[j] = explainBound(&bounds[j])
		}
		alternatives[i] = strings.Join(sentences, ", and ")
	}
	text := alternatives[0]
	if len(alternatives) > 1 {
		text = "one of these holds, the same one for all: "
		for i, alternative := range alternatives {
			if i > 0 {
				text += "; or "
			}
			text += fmt.Sprintf("(%d) %s", i+1, alternative)
		}
	}
	text = strings.ToUpper(text[:1]) + text[1:] + ". "
	if c.Hard {
		return text + "Hard: nothing is placed that violates it."
	}
	return text + "Soft: each violation costs " + FormatWeight(c.Weight) + "."
}

// explainBound is a sentence without its beginning and end.
func explainBound(b *cluster.Bound) string {
	where, subjects, targets := set(b.Group), tags(b.Subject), tags(b.Target)
	holder := fmt.Sprintf("each %s that holds %s holds ", where, subjects)
	switch least, most, known := totals(b); {
	case b.Min == 0 && b.Max == cluster.Unbounded:
		return fmt.Sprintf("how many %s a %s holds does not matter", targets, where)
	case len(b.Subject) == 0 && b.Max == 0:
		return fmt.Sprintf("no %s holds %s", where, targets)
	case len(b.Subject) == 0:
		return fmt.Sprintf("each %s holds %s %s", where, amount(b.Min, b.Max), targets)
	case known && most == 0:
		return fmt.Sprintf("no %s may hold %s, as each counts itself", where, subjects)
	case known && len(b.Subject) == len(b.Target) && least == 1 && most != cluster.Unbounded:
		return fmt.Sprintf("no %s holds more than %d %s", where, most, subjects) + reading(b)
	case known && len(b.Subject) == len(b.Target):
		return holder + amount(least, most) + " of them" + reading(b)
	case known:
		return holder + amount(least, most) + " " + targets + ", itself among them" + reading(b)
	case b.SelfCounted:
		return holder + amount(b.Min, b.Max) + " " + targets + ", counting also those that are both"
	case b.Max == 0:
		return fmt.Sprintf("no %s that holds %s holds another %s", where, subjects, targets)
	}
	return holder + amount(b.Min, b.Max) + " other " + targets
}

// totals is how many targets a set holds in all where a subject is and the bound holds, a
// subject being one of them; not known where subjects need not be targets. It is 0 to 0
// where nobody can be a subject.
func totals(b *cluster.Bound) (least, most int32, known bool) {
	if len(b.Subject) == 0 || !includes(b.Subject, b.Target) {
		return 0, 0, false
	}
	least, most = b.Min, b.Max
	if !b.SelfCounted {
		least++
		if most != cluster.Unbounded {
			most++
		}
	}
	return min(max(least, 1), most), most, true
}

// reading says behind a total what the bound itself says, and what it would mean if it was
// read the other way.
func reading(b *cluster.Bound) string {
	numbers, others := amount(b.Min, b.Max), "others"
	if strings.HasSuffix(numbers, " 1") {
		others = "other"
	}
	switch {
	case b.SelfCounted:
		return " (each counts itself)"
	case b.Max == 0:
		return " (no others beside each)"
	}
	return fmt.Sprintf(" (%s %s beside each; counted, it would be %s in all)", numbers, others, numbers)
}

// amount is a range of numbers.
func amount(least, most int32) string {
	switch {
	case most == cluster.Unbounded:
		return fmt.Sprintf("at least %d", least)
	case least == most:
		return fmt.Sprintf("exactly %d", least)
	case least == 0:
		return fmt.Sprintf("at most %d", most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// set is one set of a group.
func set(group string) string {
	if group == "" || strings.Trim(group, "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return "set of " + word(group)
	}
	return group
}

// includes reports whether sorted tags hold all of others.
func includes(tags, others []string) bool {
	i := 0
	for _, other := range others {
		for i < len(tags) && tags[i] < other {
			i++
		}
		if i == len(tags) || tags[i] != other {
			return false
		}
	}
	return true
}
