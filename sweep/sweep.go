// Package sweep is many runs as one experiment: policies × parameters × seeds, as a file says it. The file
// becomes a list of runs in an order that is always the same, each with a key by which what came of it is kept and
// found again. Who does the runs is nobody's business here: one process, or many that know nothing of each other,
// each with its shard of the list. What is kept of all of them is gathered into one set.
//
//	s, err := sweep.Read("study.yaml", text, os.ReadFile)
//	list, err := s.Plan(policies.All(), "v1.0")
//	for i := range list.Runs { // perhaps of a shard alone
//		store.Write(ctx, list.Runs[i].File(), ...)
//	}
//	missing, err := sweep.Gather(ctx, list, sources, out)
//
// The files of a sweep, in a folder or wherever a Store keeps them:
//
//	sweep.json       the list: keys, and what was chosen of each axis
//	runs/KEY.json    what came of one run, with a checksum and how long it took
//	results.jsonl    the set: a line a run, in the order of the list, the same bytes whoever did the runs, and when
package sweep

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/setup"
)

// This file reads a sweep.

// Version is that of sweeps and of the files that are kept of them.
const Version = 1

// MostRuns keeps a slip of the finger from being a sweep without end.
const MostRuns = 100_000

// Sweep says which runs there are: each policy with each combination of values and with each seed, but for what is excepted.
type Sweep struct {
	Base     setup.Spec     // what all runs have in common; its policies and seeds do not count
	Policies []setup.Policy // the same name may stand there twice, with other options
	Seeds    setup.Seeds
	Vary     []Axis
	Lists    bool // series, curves, heat maps and samples of tasks are kept

	name   string // what errors call it
	in     *document.Reader
	text   []byte // with the base within it
	except []exception
}

// Axis is a field of the spec, by its path, and the values that it takes.
type Axis struct {
	Path   string
	Values []Value
}

// Value is a value of an axis.
type Value struct {
	Text string // on one line
	at   document.Value
}

// reader reads a sweep.
type reader struct {
	*Sweep

	open    func(path string) ([]byte, error)
	base    document.Value // the spec, if the sweep names a file
	excepts []document.Value
	wrong   error // with the file of the spec
}

// Read reads a sweep, YAML or JSON; errors call it name, and have the place of each mistake. The file of a
// spec that it names is opened by open.
func Read(name string, text []byte, open func(path string) ([]byte, error)) (*Sweep, error) {
	in, top, err := document.Open(name, text)
	if err != nil {
		return nil, err
	}
	r := reader{Sweep: &Sweep{Base: setup.Default(), Lists: true, name: name, in: in}, open: open}
	r.Policies, r.Seeds = r.Base.Policies, r.Base.Seeds
	var policies, seeds document.Value
	in.Fields(top, []document.Field{
		{Name: "version", Read: r.version},
		{Name: "spec", Read: r.spec},
		{Name: "policies", Read: func(v document.Value) { policies = v }},
		{Name: "seeds", Read: func(v document.Value) { seeds = v }},
		{Name: "vary", Read: r.vary},
		{Name: "except", Read: func(v document.Value) {
			in.List(v, "exceptions", func(item document.Value) { r.excepts = append(r.excepts, item) })
		}},
		{Name: "lists", Read: func(v document.Value) { r.Lists = in.Bool(v) }},
	})
	if policies.Given() { // after the spec, wherever that stands
		r.policies(policies)
	}
	if seeds.Given() {
		r.seeds(seeds)
	}
	if r.wrong != nil {
		return nil, r.wrong
	}
	if !in.Failed() {
		r.texts()
		for _, item := range r.excepts {
			r.exception(item)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if r.base.Given() {
		top = top.With("spec", r.base)
	}
	r.text, err = top.YAML()
	return r.Sweep, err
}

// Text is the sweep as a file that names no other one for its spec.
func (s *Sweep) Text() []byte { return s.text }

func (r *reader) version(v document.Value) {
	if text := r.in.Text(v); text != "" && text != fmt.Sprint(Version) {
		r.in.Complain(v, "a sweep of version %s; this program reads version %d", text, Version)
	}
}

// spec reads the spec, which may be a file.
func (r *reader) spec(v document.Value) {
	if !v.Single() {
		r.in.Decode(v, &r.Base)
		if r.Base.Version != setup.Version {
			r.in.Complain(v, "a spec of version %d; this program reads version %d", r.Base.Version, setup.Version)
		}
		r.Policies, r.Seeds = r.Base.Policies, r.Base.Seeds
		return
	}
	path := r.in.Text(v)
	if path == "" {
		return
	}
	text, err := r.open(path)
	if err != nil {
		r.in.Complain(v, "%v; want a file as fairlead simulate --print-spec prints it, or its fields", err)
		return
	}
	if r.Base, r.wrong = setup.Read(path, text); r.wrong != nil {
		return
	}
	r.Policies, r.Seeds = r.Base.Policies, r.Base.Seeds
	_, r.base, r.wrong = document.Open(path, text)
	if r.wrong == nil && r.base.At("runs").Node != r.base.Node { // results, which carry a spec
		r.base = r.base.At("spec")
	}
}

func (r *reader) policies(v document.Value) {
	r.Policies = nil
	r.in.Decode(v, &r.Policies)
	if len(r.Policies) == 0 && !r.in.Failed() {
		r.in.Complain(v, "there is none; name one, such as kube, or remove the line")
	}
}

// seeds reads spans, as a spec has them, or a list.
func (r *reader) seeds(v document.Value) {
	if v.Single() {
		r.in.Decode(v, &r.Seeds)
		return
	}
	var list []string
	before := r.in.Mistakes()
	r.in.List(v, "seeds", func(item document.Value) { list = append(list, r.in.Text(item)) })
	if r.in.Mistakes() > before {
		return
	}
	if err := r.Seeds.UnmarshalText([]byte(strings.Join(list, ","))); err != nil {
		r.in.Complain(v, "%v", err)
	}
}

// vary reads the axes. Each value is tried at once, so that what is wrong with it is said with its place.
func (r *reader) vary(v document.Value) {
	r.in.Pairs(v, "world.overcommit.cpu", func(key, value document.Value) {
		axis := Axis{Path: key.Node.Value}
		try := setup.Default()
		if err := set(&try, axis.Path, func(any) {}); err != nil {
			r.in.Complain(key, "%v", err)
			return
		}
		r.in.List(value, "values", func(item document.Value) {
			_ = set(&try, axis.Path, func(into any) { r.in.Decode(item, into) }) // the path is one
			axis.Values = append(axis.Values, Value{at: item})
		})
		if len(axis.Values) == 0 && !r.in.Failed() {
			r.in.Complain(value, "there is no value; give one or remove the line")
		}
		r.Vary = append(r.Vary, axis)
	})
}

// texts gives each value its text, by which it is known.
func (r *reader) texts() {
	for a := range r.Vary {
		seen := map[string]bool{}
		for i := range r.Vary[a].Values {
			value := &r.Vary[a].Values[i]
			var err error
			if value.Text, err = value.at.Line(); err != nil {
				r.in.Complain(value.at, "cannot be written on one line: %v", err)
			}
			if seen[value.Text] {
				r.in.Complain(value.at, "%s stands there twice; keep one", value.Text)
			}
			seen[value.Text] = true
		}
	}
}

// exception is runs that are left out: those that have all of it.
type exception struct {
	at    document.Value
	wants []want
}

// want is a value of an axis, or a policy or a seed, by its name.
type want struct{ axis, text string }

// The names of what is no field of the spec, in exceptions.
const (
	policyName = "policy"
	seedName   = "seed"
)

// exception reads what runs are left out.
func (r *reader) exception(v document.Value) {
	names := []string{policyName, seedName}
	values := map[string][]string{}
	for i := range r.Policies {
		values[policyName] = append(values[policyName], r.Policies[i].Name, label(&r.Policies[i]))
	}
	for _, seed := range r.Seeds {
		values[seedName] = append(values[seedName], fmt.Sprint(seed))
	}
	for _, axis := range r.Vary {
		names = append(names, axis.Path)
		for _, value := range axis.Values {
			values[axis.Path] = append(values[axis.Path], value.Text)
		}
	}
	e := exception{at: v}
	r.in.Pairs(v, policyName, func(key, value document.Value) {
		axis := key.Node.Value
		known, is := values[axis]
		if !is {
			r.in.Complain(key, "%v", nearest.Unknown("axis", axis, names))
			return
		}
		text, err := value.Line()
		if err != nil {
			r.in.Complain(value, "cannot be written on one line: %v", err)
			return
		}
		if slices.Contains(known, text) {
			e.wants = append(e.wants, want{axis, text})
			return
		}
		r.in.Complain(value, "%v", nearest.Unknown("value", text, known))
	})
	if len(e.wants) == 0 && !r.in.Failed() {
		r.in.Complain(v, "says nothing, which would leave out every run; name what a run is to have")
	}
	r.except = append(r.except, e)
}
