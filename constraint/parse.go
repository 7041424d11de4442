package constraint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
)

// This file reads the text form of a constraint:
//
//	constraint  = conjunction { "|" conjunction } [ ":" option { option } ]
//	conjunction = bound { "&" bound }
//	bound       = "{" ( "*" | tags ) "," "{" tags "," min "," max "}" "," group [ "," word { word } ] "}"
//	word        = "counted" | "or-first" | "over-fewest" | "least-sets-" number
//	tags        = tag { "&" tag }
//	max         = number | "inf"
//	option      = "hard" | "arriving" | weight | "counted"
//
// such as {storm, {hb & mem, 1, inf}, node}: 2.5. It is Medea's (§4.2), with the options
// behind it. ∧, ∨ and ∞ may stand for &, | and inf. What is arriving, and the words that go with it, say Kubernetes' rules:
// they are read where dumps are, and not from who plans for all at once.

// example is what hints show where nothing better is known.
const example = "{storm, {hb & mem, 1, inf}, node}: hard"

const starAlone = "* stands alone, as the subject, and means every set of the group"

// Parse reads a constraint. Its name is the constraint as Format writes it. An error is
// a *SyntaxError.
func Parse(text string) (cluster.Constraint, error) { return parse(&parser{source: text}) }

// ParseArriving is Parse for constraints that may bind who comes.
func ParseArriving(text string) (cluster.Constraint, error) {
	return parse(&parser{source: text, arriving: true})
}

func parse(p *parser) (cluster.Constraint, error) {
	p.advance()
	c := cluster.Constraint{Weight: cluster.DefaultWeight}
	c.Any = [][]cluster.Bound{p.conjunction()}
	for p.take('|') {
		c.Any = append(c.Any, p.conjunction())
	}
	if p.take(':') {
		p.options(&c)
	}
	if p.here.kind != endOfText {
		p.wanted(`"&", "|", ":" or the end`, "one constraint stands in a text")
	}
	if err := cluster.CheckConstraint(&c); err != nil && p.wrong == nil && p.arriving {
		p.fail(0, err.Error(), "")
	}
	if p.wrong != nil {
		return cluster.Constraint{}, p.wrong
	}
	c.Name = Format(&c)
	return c, nil
}

// parser reads a text from its beginning to its first mistake, behind which it sees
// nothing but the end.
type parser struct {
	source   string
	arriving bool  // what binds who comes may be said
	here     token // the next one
	end      int   // of the one before it
	wrong    error
}

func (p *parser) advance() {
	p.end = p.here.start + len(p.here.text)
	p.here = nextToken(p.source, p.end)
}

// fail notes the first mistake, and shows the parser the end of the text.
func (p *parser) fail(at int, problem, hint string) {
	if p.wrong == nil {
		p.wrong = &SyntaxError{Text: p.source, Offset: at, Problem: problem, Hint: hint}
		p.here = token{start: len(p.source)}
	}
}

// wanted fails at the next token, which is not what was expected.
func (p *parser) wanted(what, hint string) {
	found := strconv.Quote(p.here.text)
	at := p.here.start
	switch p.here.kind {
	case endOfText:
		found, at = "the end", p.end
	case bareWord, inQuotes:
		found = p.here.text
	case strange:
		switch p.here.text {
		case `"`:
			found, hint = "a quote that is not closed", `a tag in quotes ends with ", and has \" and \\ for " and \`
		case "'", "`":
			hint = `only double quotes are quotes: "a tag"`
		}
	default: // a sign is told from a word by its quotes
	}
	p.fail(at, fmt.Sprintf("expected %s, found %s", what, found), hint)
}

// take reads a sign if it is the next token.
func (p *parser) take(kind tokenKind) bool {
	if p.here.kind != kind || p.wrong != nil {
		return false
	}
	p.advance()
	return true
}

// expect reads a sign that must be there.
func (p *parser) expect(kind tokenKind, what, hint string) {
	if !p.take(kind) {
		p.wanted(what, hint)
	}
}

func (p *parser) conjunction() []cluster.Bound {
	bounds := []cluster.Bound{p.bound()}
	for p.take('&') {
		bounds = append(bounds, p.bound())
	}
	return bounds
}

func (p *parser) bound() cluster.Bound {
	var b cluster.Bound
	hint := "a constraint looks like " + example
	if p.here.kind == '&' || p.here.kind == '|' {
		hint = "a single & or | stands between two bounds"
	}
	p.expect('{', `"{"`, hint)
	if p.here.kind == '}' {
		p.wanted("the tags of those who are bound, or *", "a constraint looks like "+example)
	}
	if !p.take('*') {
		b.Subject = p.tags(`, or *`)
	}
	p.expect(',', `","`, betweenTags(p.here))
	p.expect('{', `"{"`, "what is counted stands in braces of its own: {storm, {hb, 1, inf}, node}")
	b.Target = p.tags("")
	p.expect(',', `"," and the least count`, betweenTags(p.here))
	b.Min = p.least()
	p.expect(',', `"," and the most, a number or inf`, "both the least and the most are given: {hb, 1, inf}, {hb, 0, 0}")
	b.Max = p.most(b.Min)
	p.expect('}', `"}"`, "behind the most, the braces of what is counted end: {hb, 1, inf}")
	p.expect(',', `"," and the group of nodes`, "each bound names a group: node, rack or another family of node sets")
	b.Group = p.word("a group of nodes", "groups are node, rack and other families of node sets; in quotes they may have any character")
	if p.take(',') {
		p.arrivingInside(&b)
		if p.here.kind != '}' {
			p.countedInside(&b)
		}
	}
	p.expect('}', `"}"`, "a bound looks like {storm, {hb & mem, 1, inf}, node}; options such as hard stand behind it, after a colon")
	return b
}

// arrivingInside reads what a single bound that binds who comes says.
func (p *parser) arrivingInside(b *cluster.Bound) {
	for p.arriving && p.here.kind == bareWord {
		sets, isSets := strings.CutPrefix(p.here.value, leastSets)
		switch {
		case p.here.value == orFirst:
			b.OrFirst = true
		case p.here.value == overFewest:
			b.OverFewest = true
		case isSets:
			n, err := strconv.ParseInt(sets, 10, 32)
			if err != nil {
				p.fail(p.here.start, "expected "+leastSets+"N, found "+p.here.text, "")
				return
			}
			b.LeastSets = int32(n)
		default:
			return
		}
		p.advance()
	}
}

// countedInside reads the option of a single bound.
func (p *parser) countedInside(b *cluster.Bound) {
	switch {
	case p.here.kind != bareWord || p.here.value != counted:
		p.wanted(counted, "behind the group, only counted may stand; hard and weights stand behind the constraint, after a colon")
	case len(b.Subject) == 0:
		p.fail(p.here.start, "a bound of * binds whole sets, in which nobody is there to count itself", "remove "+counted)
	}
	b.SelfCounted = true
	p.advance()
}

// betweenTags is the hint where neither & nor a comma follows on a tag.
func betweenTags(found token) string {
	switch found.kind {
	case bareWord, inQuotes:
		return "tags are joined by &: hb & mem"
	case '&':
		return starAlone
	case '|':
		return "tags are joined by & alone; alternatives are whole bounds: {a, {b, 1, inf}, node} | {a, {c, 1, inf}, node}"
	case strange:
		return `a tag with other characters than letters, digits and ` + tagMarks + ` stands in quotes: "a tag"`
	case endOfText, infinity:
	}
	return "a constraint looks like " + example
}

// tags reads a conjunction of tags, and sorts them.
func (p *parser) tags(orElse string) []string {
	var tags []string
	for {
		at := p.here.start
		hint := "a constraint looks like " + example
		if p.here.kind == '*' {
			hint = starAlone
		}
		tag := p.word("a tag"+orElse, hint)
		if p.wrong != nil {
			return nil
		}
		if slices.Contains(tags, tag) {
			p.fail(at, fmt.Sprintf("tag %s stands here twice", word(tag)), "keep one")
			return nil
		}
		tags = append(tags, tag)
		if !p.take('&') {
			slices.Sort(tags)
			return tags
		}
	}
}

// word reads a tag or the name of a group.
func (p *parser) word(what, hint string) string {
	switch p.here.kind {
	case bareWord, inQuotes:
	default:
		if p.here.kind == strange {
			hint = betweenTags(p.here)
		}
		p.wanted(what, hint)
		return ""
	}
	value := p.here.value
	if value == "" {
		p.fail(p.here.start, "expected "+what+", found nothing between the quotes", "")
		return ""
	}
	p.advance()
	return value
}

func (p *parser) least() int32 {
	if p.here.kind == infinity || p.here.value == "inf" {
		p.fail(p.here.start, "the least count cannot be inf", "only the most can: {hb, 1, inf}")
		return 0
	}
	return p.count("the least count")
}

// most reads the second number of a bound; the first is known.
func (p *parser) most(least int32) int32 {
	at := p.here.start
	if p.take(infinity) {
		return cluster.Unbounded
	}
	if p.here.kind == bareWord && p.here.value == "inf" {
		p.advance()
		return cluster.Unbounded
	}
	most := p.count("the most, a number or inf")
	if most < least {
		p.fail(at, fmt.Sprintf("the most, %d, is less than the least, %d", most, least), "the least comes first")
	}
	return most
}

func (p *parser) count(what string) int32 {
	if p.here.kind != bareWord || strings.Trim(p.here.value, "0123456789") != "" {
		hint := fmt.Sprintf("counts are whole numbers from 0 to %d", cluster.MaxBound)
		if _, near := nearest.Of(p.here.value, []string{"inf", "infinity", "unbounded"}); near {
			hint = "without a limit is written inf"
		}
		p.wanted(what, hint)
		return 0
	}
	n, err := strconv.ParseInt(p.here.value, 10, 32)
	if err != nil || n > int64(cluster.MaxBound) {
		p.fail(p.here.start, fmt.Sprintf("%s is more than %d", p.here.value, cluster.MaxBound), "without a limit is written inf")
		return 0
	}
	p.advance()
	return int32(n)
}

// The words among the options.
const (
	hard       = "hard"
	counted    = "counted"
	arriving   = "arriving"
	orFirst    = "or-first"
	overFewest = "over-fewest"
	leastSets  = "least-sets-"
)

// options reads what stands behind the colon.
func (p *parser) options(c *cluster.Constraint) {
	strength, self := "", false
	for p.here.kind == bareWord || strength == "" && !self && !c.Arriving {
		at, option := p.here.start, p.here.value
		switch {
		case p.here.kind != bareWord:
			p.wanted("hard, a weight or counted", "a constraint looks like "+example)
			return
		case option == counted && self, option == arriving && c.Arriving, option != counted && option != arriving && strength != "":
			p.fail(at, fmt.Sprintf("%s is one option too many", option), "a constraint is hard or has one weight, and is counted or not")
			return
		case option == counted:
			self = true
			if !countSelf(c) {
				p.fail(at, "bounds of * bind whole sets, in which nobody is there to count itself", "remove "+counted)
				return
			}
		case option == hard:
			strength, c.Hard, c.Weight = hard, true, 0
		case option == arriving && p.arriving:
			c.Arriving = true
		default:
			weight, err := ParseWeight(option)
			if err != nil {
				p.fail(at, err.Error(), optionHint(option))
				return
			}
			strength, c.Weight = option, weight
		}
		p.advance()
	}
	if c.Arriving && strength == "" {
		c.Hard, c.Weight = true, 0
	}
}

// countSelf makes all bounds that have a subject count it; false if there are none.
func countSelf(c *cluster.Constraint) bool {
	some := false
	for _, bounds := range c.Any {
		for i := range bounds {
			if len(bounds[i].Subject) > 0 {
				bounds[i].SelfCounted, some = true, true
			}
		}
	}
	return some
}

func optionHint(option string) string {
	if near, ok := nearest.Of(option, []string{hard, counted}); ok {
		return "did you mean " + near + "?"
	}
	return "behind the colon stand hard, a weight such as 2.5, or counted"
}

// ParseWeight reads a weight, such as 2.5, in thousandths.
func ParseWeight(text string) (int64, error) {
	whole, part, point := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && !digits(part) {
		return 0, fmt.Errorf("%q is not a weight, which is a number such as 2.5", text)
	}
	part = strings.TrimRight(part, "0")
	if len(part) > 3 {
		return 0, fmt.Errorf("%s is finer than a thousandth", text)
	}
	n, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
	if err != nil || n == 0 || n > cluster.MaxWeight {
		return 0, fmt.Errorf("weight %s, want 0.001 to %d", text, cluster.MaxWeight/1000)
	}
	return n, nil
}
