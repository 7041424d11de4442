package class

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file reads a table as people write it, in YAML. What the fields mean,
// docs/classes.md says and Encode writes.

// Decode reads a table; errors call the text name.
func Decode(name string, text []byte) (*Table, error) {
	r, top, err := document.Open(name, text)
	if errors.Is(err, document.ErrEmpty) {
		return nil, fmt.Errorf("%w; 'fairlead classes google' prints one to start from", err)
	}
	if err != nil {
		return nil, err
	}
	t := Read(r, top)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Read reads a table that is a value of a document. It is right if nothing was complained of.
func Read(r *document.Reader, v document.Value) *Table {
	d, before := &decoder{r}, r.Mistakes()
	t := d.table(v)
	if r.Mistakes() == before {
		for _, p := range t.problems() {
			r.Complain(v.At(p.path), "%s", p.what)
		}
	}
	return t
}

// decoder reads a table, and the values in it.
type decoder struct{ *document.Reader }

func (d *decoder) table(v document.Value) *Table {
	t := &Table{Credits: Credits()}
	var restart cluster.Time
	var again, rows document.Value
	given := d.Fields(v, []document.Field{
		{Name: "classes", Read: func(v document.Value) { rows = v }},
		{Name: "restart", Read: func(v document.Value) { restart, again = d.time(v), v }},
		{Name: "weights", Read: func(v document.Value) { t.Criteria = d.weights(v) }},
		{Name: "priced", Read: func(v document.Value) { t.Priced = d.Text(v) }},
		{Name: "credits", Read: func(v document.Value) { t.Credits = d.credits(v) }},
	})
	if !given["classes"] && v.Node.Kind == yaml.MappingNode {
		d.Complain(v, "has no classes; 'fairlead classes google' prints a table to start from")
	}
	if rows.Given() { // last, as they need the restart
		d.List(rows, "classes", func(v document.Value) { t.Classes = append(t.Classes, d.class(v, len(t.Classes), restart)) })
	}
	if n := len(t.Classes); n > 0 && t.Classes[n-1].From == NoPriority {
		t.Classes[n-1].From = math.MinInt32
	}
	promises := func(c Class) bool { return c.Promises() }
	if again.Given() && len(t.Classes) > 0 && !slices.ContainsFunc(t.Classes, promises) {
		d.Complain(again, useless)
	}
	return t
}

// class reads the row at a place of the table.
func (d *decoder) class(v document.Value, place int, restart cluster.Time) Class {
	c := Class{From: NoPriority, Class: cluster.Class{Importance: int32(place)}}
	level := func(into *cluster.Level) func(document.Value) {
		return func(v document.Value) { *into = d.level(v, Levels()) }
	}
	var price document.Value
	given := d.Fields(v, []document.Field{
		{Name: "name", Read: func(v document.Value) { c.Name = d.Text(v) }},
		{Name: "priority", Read: func(v document.Value) { c.From = int32(d.Whole(v, math.MinInt32, int64(NoPriority)-1)) }},
		{Name: "importance", Read: func(v document.Value) { c.Importance = int32(d.Whole(v, math.MinInt32, math.MaxInt32)) }},
		{Name: "availability", Read: func(v document.Value) { c.Availability = d.share(v, 1, cluster.Whole) }},
		{Name: "margin", Read: func(v document.Value) { c.Margin = d.time(v) }},
		{Name: "restart", Read: func(v document.Value) { c.Restart = d.time(v) }},
		{Name: "overhead_budget", Read: func(v document.Value) { c.Budget = d.share(v, 0, cluster.Whole) }},
		{Name: "evicted", Read: func(v document.Value) { c.KeepsWork = d.kept(v) }},
		{Name: "least_run", Read: func(v document.Value) { c.LeastRun = d.time(v) }},
		{Name: "urgency", Read: level(&c.Urgency)},
		{Name: "tier", Read: func(v document.Value) { c.Tier = d.level(v, append(Levels(), Tiers()...)) }},
		{Name: "size", Read: level(&c.Size)},
		{Name: "redundancy", Read: level(&c.Redundancy)},
		{Name: "replicas", Read: func(v document.Value) { c.Replicas = int32(d.Whole(v, 1, MostReplicas)) }},
		{Name: "price", Read: func(v document.Value) { price = v }},
	})
	if v.Node.Kind == yaml.MappingNode && !given["name"] {
		d.Complain(v, "has no name")
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
	if price.Given() {
		d.price(price, &c.Price)
	}
	return c
}

// useless is what is wrong with a field that is about an availability, where there is none.
const useless = "is of no use without availability; give one, or remove the line"

// checkUse complains of the fields of a class that are useless.
func (d *decoder) checkUse(v document.Value, given map[string]bool) {
	for _, name := range []string{"margin", "restart", "overhead_budget"} {
		if given[name] {
			d.Complain(v.At(name), useless)
		}
	}
}

// price reads a price list over the one that goes with the class.
func (d *decoder) price(v document.Value, p *Price) {
	share := func(into *cluster.Share) func(document.Value) {
		return func(v document.Value) { *into = d.share(v, 0, mostShare) }
	}
	d.Fields(v, []document.Field{
		{Name: "unit_hour", Read: func(v document.Value) { p.UnitHour = d.money(v) }},
		{Name: "urgency", Read: share(&p.Urgency)},
		{Name: "tier", Read: share(&p.Tier)},
		{Name: "copy", Read: share(&p.Copy)},
	})
}

// credits reads the table of credits.
func (d *decoder) credits(v document.Value) (credits []Credit) {
	d.List(v, "credits, such as {attained: 99%, back: 10%}", func(v document.Value) {
		var c Credit
		given := d.Fields(v, []document.Field{
			{Name: "attained", Read: func(v document.Value) { c.Attained = d.share(v, 0, cluster.Whole) }},
			{Name: "back", Read: func(v document.Value) { c.Back = d.share(v, 0, cluster.Whole) }},
		})
		if v.Node.Kind == yaml.MappingNode && (!given["attained"] || !given["back"]) {
			d.Complain(v, "wants both attained and back")
		}
		credits = append(credits, c)
	})
	return credits
}

// weights reads how much each criterion counts.
func (d *decoder) weights(v document.Value) []promethee.Criterion {
	if v.Node.Kind == yaml.ScalarNode {
		switch v.Node.Value {
		case "equal":
			return nil
		case "safc":
			return SAFC()
		}
		d.Complain(v, "%q, want equal, safc, or a weight for each of %s", v.Node.Value, strings.Join(Criteria(), ", "))
		return nil
	}
	criteria := make([]promethee.Criterion, len(Criteria()))
	var known []document.Field
	for i, name := range Criteria() {
		known = append(known, document.Field{Name: name, Read: func(v document.Value) { d.criterion(v, &criteria[i]) }})
	}
	d.Fields(v, known)
	return criteria
}

// criterion reads a weight, or all of a criterion.
func (d *decoder) criterion(v document.Value, c *promethee.Criterion) {
	if v.Node.Kind == yaml.ScalarNode {
		c.Weight = d.number(v)
		return
	}
	given := d.Fields(v, []document.Field{
		{Name: "weight", Read: func(v document.Value) { c.Weight = d.number(v) }},
		{Name: "function", Read: func(v document.Value) {
			f, err := promethee.ParseFunction(d.Text(v))
			if err != nil {
				d.Complain(v, "%q is no preference function; %s", v.Node.Value, document.Meant(v.Node.Value, promethee.Functions()))
			}
			c.Function = f
		}},
		{Name: "indifference", Read: func(v document.Value) { c.Indifference = d.Whole(v, 0, int64(cluster.Levels)) }},
		{Name: "preference", Read: func(v document.Value) { c.Preference = d.Whole(v, 0, int64(cluster.Levels)) }},
	})
	if v.Node.Kind == yaml.MappingNode && !given["weight"] {
		d.Complain(v, "wants a weight")
	}
}

// join is the path of what stands at a path within another.
func join(base, path string) string {
	if base == "" || path == "" {
		return base + path
	}
	return base + "." + path
}
