package class

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file reads a table as people write it, in YAML. It walks the document by
// itself, as a decoder into Go types stops at the first mistake and says neither the
// line nor the path of some: here every mistake is reported, each with file, line, path
// and what was expected. What the fields mean, docs/classes.md says and Encode writes.

// Decode reads a table; errors call the text name.
func Decode(name string, text []byte) (*Table, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF), err == nil && (len(document.Content) == 0 || isNull(document.Content[0])):
		return nil, fmt.Errorf("%s: the file says nothing; 'fairlead classes google' prints one to start from", name)
	case err != nil:
		return nil, fmt.Errorf("%s: not YAML: %w", name, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more than one YAML document; keep one and remove the line ---", name)
	}
	return DecodeNode(name, "", document.Content[0])
}

// DecodeNode reads a table that is a part of a larger document, and stands at the path
// in it; errors call the document name.
func DecodeNode(name, path string, node *yaml.Node) (*Table, error) {
	d := &decoder{name: name, lines: map[string]int{}}
	t := d.table(value{node, path})
	if len(d.wrong) == 0 {
		for _, p := range t.problems() {
			line := d.line(path, p.path)
			d.wrong = append(d.wrong, mistake{line, fmt.Errorf("%s: %w", d.at(line), p.under(path))})
		}
	}
	if len(d.wrong) > 0 {
		return nil, d.mistakes()
	}
	return t, nil
}

// decoder collects what is wrong with a text.
type decoder struct {
	name  string
	lines map[string]int // of each field that was given, by its path
	wrong []mistake
}

// mistake is what is wrong on a line, 0 if it is on none.
type mistake struct {
	line int
	err  error
}

// mistakes are all that were found, in the order in which they stand in the text: the
// classes are read after all else, as they need the restart of the table.
func (d *decoder) mistakes() error {
	slices.SortStableFunc(d.wrong, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var all []error
	for _, m := range d.wrong {
		all = append(all, m.err)
	}
	return errors.Join(all...)
}

// value is a value, and where it stands.
type value struct {
	node *yaml.Node
	path string
}

// field is a field that may be given, and what reads it.
type field struct {
	name string
	read func(value)
}

func (d *decoder) complain(at value, format string, args ...any) {
	path := ""
	if at.path != "" {
		path = at.path + ": "
	}
	line := at.node.Line
	d.wrong = append(d.wrong, mistake{line, fmt.Errorf("%s: %s%s", d.at(line), path, fmt.Sprintf(format, args...))})
}

// at is the name of the text with the line, if there is one.
func (d *decoder) at(line int) string {
	if line == 0 {
		return d.name
	}
	return fmt.Sprintf("%s:%d", d.name, line)
}

// line is that of the field at the path, or of what it would stand in if it was given; 0
// if there is none.
func (d *decoder) line(base, path string) int {
	path = join(base, path)
	for path != "" {
		if line, given := d.lines[path]; given {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// fields reads the fields of a mapping, and returns which there were.
func (d *decoder) fields(v value, known []field) map[string]bool {
	given := map[string]bool{}
	if v.node.Kind != yaml.MappingNode {
		d.complain(v, "expected fields, each on a line of its own such as \"%s: ...\"", known[0].name)
		return given
	}
	for n := 0; n+1 < len(v.node.Content); n += 2 {
		key := v.node.Content[n]
		at := value{key, join(v.path, key.Value)}
		f := slices.IndexFunc(known, func(f field) bool { return f.name == key.Value })
		switch {
		case key.ShortTag() == "!!merge":
			d.complain(value{key, v.path}, "merging by << is not read; write the fields out")
		case key.Kind != yaml.ScalarNode:
			d.complain(value{key, v.path}, "expected the name of a field")
		case f < 0:
			d.complain(at, "unknown field; %s", meant(key.Value, names(known)))
		case given[key.Value]:
			d.complain(at, "given twice, first on line %d; keep one", d.lines[at.path])
		default:
			given[key.Value] = true
			d.lines[at.path] = key.Line
			d.read(value{v.node.Content[n+1], at.path}, known[f].read)
		}
	}
	return given
}

// read reads a value, unless it is none.
func (d *decoder) read(v value, read func(value)) {
	switch {
	case v.node.Kind == yaml.AliasNode:
		d.complain(v, "is written as an alias, *%s; write it out", v.node.Value)
	case isNull(v.node):
		d.complain(v, "has no value; give one or remove the line")
	default:
		read(v)
	}
}

func (d *decoder) table(v value) *Table {
	t := &Table{Credits: Credits()}
	restart, again, rows := cluster.Time(0), value{}, value{}
	d.read(v, func(v value) {
		given := d.fields(v, []field{
			{"classes", func(v value) { rows = v }},
			{"restart", func(v value) { restart, again = d.time(v), v }},
			{"weights", func(v value) { t.Criteria = d.weights(v) }},
			{"priced", func(v value) { t.Priced = d.text(v) }},
			{"credits", func(v value) { t.Credits = d.credits(v) }},
		})
		if !given["classes"] && v.node.Kind == yaml.MappingNode {
			d.complain(v, "has no classes; 'fairlead classes google' prints a table to start from")
		}
	})
	switch {
	case rows.node == nil:
	case rows.node.Kind != yaml.SequenceNode || len(rows.node.Content) == 0:
		d.complain(rows, "expected a list of classes, each of which begins with \"- name: ...\"")
	default:
		for i, node := range rows.node.Content {
			at := value{node, fmt.Sprintf("%s[%d]", rows.path, i)}
			d.lines[at.path] = node.Line
			d.read(at, func(v value) {
				t.Classes = append(t.Classes, d.class(v, i, restart))
			})
		}
		if n := len(t.Classes); n > 0 && t.Classes[n-1].From == NoPriority {
			t.Classes[n-1].From = math.MinInt32
		}
	}
	promises := func(c Class) bool { return c.Promises() }
	if again.node != nil && len(t.Classes) > 0 && !slices.ContainsFunc(t.Classes, promises) {
		d.complain(again, useless)
	}
	return t
}

// class reads the row at a place of the table.
func (d *decoder) class(v value, place int, restart cluster.Time) Class {
	c := Class{From: NoPriority, Class: cluster.Class{Importance: int32(place)}}
	level := func(into *cluster.Level) func(value) { return func(v value) { *into = d.level(v, Levels()) } }
	price := value{}
	given := d.fields(v, []field{
		{"name", func(v value) { c.Name = d.text(v) }},
		{"priority", func(v value) { c.From = int32(d.whole(v, math.MinInt32, int64(NoPriority)-1)) }},
		{"importance", func(v value) { c.Importance = int32(d.whole(v, math.MinInt32, math.MaxInt32)) }},
		{"availability", func(v value) { c.Availability = d.share(v, 1, cluster.Whole) }},
		{"margin", func(v value) { c.Margin = d.time(v) }},
		{"restart", func(v value) { c.Restart = d.time(v) }},
		{"overhead_budget", func(v value) { c.Budget = d.share(v, 0, cluster.Whole) }},
		{"urgency", level(&c.Urgency)},
		{"tier", func(v value) { c.Tier = d.level(v, append(Levels(), Tiers()...)) }},
		{"size", level(&c.Size)},
		{"redundancy", level(&c.Redundancy)},
		{"replicas", func(v value) { c.Replicas = int32(d.whole(v, 1, MostReplicas)) }},
		{"price", func(v value) { price = v }},
	})
	if v.node.Kind == yaml.MappingNode && !given["name"] {
		d.complain(v, "has no name")
	}
	switch promises := given["availability"]; {
	case promises && !given["overhead_budget"]:
		c.Budget = budgetOf(&c.Class)
		fallthrough
	case promises:
		if !given["restart"] {
			c.Restart = restart
		}
	default:
		d.checkUse(v, given)
	}
	c.Price = PriceOf(&c.Class)
	if price.node != nil {
		d.price(price, &c.Price)
	}
	return c
}

// useless is what is wrong with a field that is about an availability, where there is none.
const useless = "is of no use without availability; give one, or remove the line"

// checkUse complains of the fields of a class that are useless.
func (d *decoder) checkUse(v value, given map[string]bool) {
	for _, name := range []string{"margin", "restart", "overhead_budget"} {
		if given[name] {
			d.complain(value{v.node, join(v.path, name)}, useless)
		}
	}
}

// price reads a price list over the one that goes with the class.
func (d *decoder) price(v value, p *Price) {
	share := func(into *cluster.Share) func(value) { return func(v value) { *into = d.share(v, 0, mostShare) } }
	d.fields(v, []field{
		{"unit_hour", func(v value) { p.UnitHour = d.money(v) }},
		{"urgency", share(&p.Urgency)},
		{"tier", share(&p.Tier)},
		{"copy", share(&p.Copy)},
	})
}

// credits reads the table of credits.
func (d *decoder) credits(v value) []Credit {
	if v.node.Kind != yaml.SequenceNode {
		d.complain(v, "expected a list of credits, each such as {attained: 99%%, back: 10%%}")
		return nil
	}
	var credits []Credit
	for i, node := range v.node.Content {
		at, c := value{node, fmt.Sprintf("%s[%d]", v.path, i)}, Credit{}
		d.lines[at.path] = node.Line
		d.read(at, func(v value) {
			given := d.fields(v, []field{
				{"attained", func(v value) { c.Attained = d.share(v, 0, cluster.Whole) }},
				{"back", func(v value) { c.Back = d.share(v, 0, cluster.Whole) }},
			})
			if v.node.Kind == yaml.MappingNode && (!given["attained"] || !given["back"]) {
				d.complain(v, "wants both attained and back")
			}
		})
		credits = append(credits, c)
	}
	return credits
}

// weights reads how much each criterion counts.
func (d *decoder) weights(v value) []promethee.Criterion {
	if v.node.Kind == yaml.ScalarNode {
		switch v.node.Value {
		case "equal":
			return nil
		case "safc":
			return SAFC()
		}
		d.complain(v, "%q, want equal, safc, or a weight for each of %s", v.node.Value, strings.Join(Criteria(), ", "))
		return nil
	}
	criteria := make([]promethee.Criterion, len(Criteria()))
	var known []field
	for i, name := range Criteria() {
		known = append(known, field{name, func(v value) { d.criterion(v, &criteria[i]) }})
	}
	d.fields(v, known)
	return criteria
}

// criterion reads a weight, or all of a criterion.
func (d *decoder) criterion(v value, c *promethee.Criterion) {
	if v.node.Kind == yaml.ScalarNode {
		c.Weight = d.number(v)
		return
	}
	given := d.fields(v, []field{
		{"weight", func(v value) { c.Weight = d.number(v) }},
		{"function", func(v value) {
			f, err := promethee.ParseFunction(d.text(v))
			if err != nil {
				d.complain(v, "%q is no preference function; %s", v.node.Value, meant(v.node.Value, promethee.Functions()))
			}
			c.Function = f
		}},
		{"indifference", func(v value) { c.Indifference = d.whole(v, 0, int64(cluster.Levels)) }},
		{"preference", func(v value) { c.Preference = d.whole(v, 0, int64(cluster.Levels)) }},
	})
	if v.node.Kind == yaml.MappingNode && !given["weight"] {
		d.complain(v, "wants a weight")
	}
}

// meant says which of the known words a word may have been meant to be, or else which
// there are.
func meant(word string, known []string) string {
	if near, ok := nearest.Of(word, known); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "there are " + strings.Join(known, ", ")
}

func names(fields []field) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	return list
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// join is the path of what stands at a path within another.
func join(base, path string) string {
	if base == "" || path == "" {
		return base + path
	}
	return base + "." + path
}
