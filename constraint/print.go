package constraint

import (
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file writes a constraint in its canonical form, of which Parse makes the same
// constraint again.

// Format writes a constraint without its owner.
func Format(c *cluster.Constraint) string {
	all := selfCounted(c)
	var b strings.Builder
	for i, bounds := range c.Any {
		if i > 0 {
			b.WriteString(" | ")
		}
		for j := range bounds {
			if j > 0 {
				b.WriteString(" & ")
			}
			formatBound(&b, &bounds[j], bounds[j].SelfCounted && !all)
		}
	}
	var options []string
	if c.Arriving {
		options = append(options, arriving)
	}
	switch {
	case c.Hard && !c.Arriving:
		options = append(options, hard)
	case !c.Hard && (c.Arriving || c.Weight != cluster.DefaultWeight):
		options = append(options, FormatWeight(c.Weight))
	}
	if all {
		options = append(options, counted)
	}
	if len(options) > 0 {
		b.WriteString(": " + strings.Join(options, " "))
	}
	return b.String()
}

// FormatBound writes a single bound.
func FormatBound(bound *cluster.Bound) string {
	var b strings.Builder
	formatBound(&b, bound, bound.SelfCounted)
	return b.String()
}

// FormatWeight writes a weight, which is in thousandths.
func FormatWeight(weight int64) string {
	text := strconv.FormatInt(weight/1000, 10)
	if part := weight % 1000; part > 0 {
		text += "." + strings.TrimRight(strconv.FormatInt(1000+part, 10)[1:], "0")
	}
	return text
}

// selfCounted reports whether all bounds count their subjects that have one, and some
// have.
func selfCounted(c *cluster.Constraint) bool {
	some := false
	for _, bounds := range c.Any {
		for i := range bounds {
			if len(bounds[i].Subject) > 0 && !bounds[i].SelfCounted {
				return false
			}
			some = some || bounds[i].SelfCounted
		}
	}
	return some
}

func formatBound(b *strings.Builder, bound *cluster.Bound, self bool) {
	b.WriteString("{" + subject(bound) + ", {" + tags(bound.Target) + ", " + strconv.Itoa(int(bound.Min)) + ", ")
	if bound.Max == cluster.Unbounded {
		b.WriteString("inf")
	} else {
		b.WriteString(strconv.Itoa(int(bound.Max)))
	}
	b.WriteString("}, " + word(bound.Group))
	var words []string
	if bound.OrFirst {
		words = append(words, orFirst)
	}
	if bound.OverFewest {
		words = append(words, overFewest)
	}
	if bound.LeastSets > 0 {
		words = append(words, leastSets+strconv.Itoa(int(bound.LeastSets)))
	}
	if self {
		words = append(words, counted)
	}
	if len(words) > 0 {
		b.WriteString(", " + strings.Join(words, " "))
	}
	b.WriteString("}")
}

func subject(b *cluster.Bound) string {
	if len(b.Subject) == 0 {
		return "*"
	}
	return tags(b.Subject)
}

// tags writes a conjunction of tags.
func tags(list []string) string {
	words := make([]string, len(list))
	for i, tag := range list {
		words[i] = word(tag)
	}
	return strings.Join(words, " & ")
}

// word writes a tag or the name of a group, in quotes where it needs them.
func word(text string) string {
	if text != "" && bareLength(text) == len(text) {
		return text
	}
	return strconv.Quote(text)
}
