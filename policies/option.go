package policies

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// This file is what people may choose about policies. An option is declared once, by a function
// such as tieBreak beside what has a use for it, and listed by each policy that takes it. Flags of
// the command, specs, Kubernetes profiles and recordings know options by their names alone.

// Option is something that may be chosen about some policies: by name from Values, or a number.
type Option struct {
	Name    string   // in specs and recordings, such as tie_break
	Help    string   // what a flag of that name says
	Default string   // what it is unless chosen
	Values  []string // what may be chosen; nil is any whole number from 0
	Several bool     // of Values several may be chosen, with + between them
	// Useless ends the sentence "none of the policies a, b …" where it was chosen, and none of
	// them takes it; empty where that is no mistake.
	Useless string
	// get and set are where Options keep it; nil keeps it in Options.Own.
	get func(*Options) string
	set func(*Options, string)
}

// Flag is the name of the option as a flag, such as tie-break.
func (x *Option) Flag() string { return strings.ReplaceAll(x.Name, "_", "-") }

// Check says why the text cannot be chosen; the empty text is the default.
func (x *Option) Check(text string) error {
	if text == "" || text == x.Default {
		return nil
	}
	if x.Values != nil {
		names := []string{text}
		if x.Several {
			names = strings.Split(text, "+")
		}
		for _, name := range names {
			if !slices.Contains(x.Values, name) {
				return nearest.Unknown(x.Flag(), name, x.Values)
			}
		}
		return nil
	}
	if n, err := strconv.Atoi(text); err != nil || n < 0 {
		return fmt.Errorf("%s, want a number from 0", text)
	}
	return nil
}

// of is what the options say of it; empty where that is nothing.
func (x *Option) of(o *Options) string {
	if x.get == nil {
		return o.Own[x.Name]
	}
	return x.get(o)
}

// put has the options say so of it, which was checked.
func (x *Option) put(o *Options, text string) {
	text = cmp.Or(text, x.Default)
	switch {
	case x.set != nil:
		x.set(o, text)
	case text != "":
		o.Own = maps.Clone(o.Own)
		if o.Own == nil {
			o.Own = Settings{}
		}
		o.Own[x.Name] = text
	default:
		o.Own = maps.Clone(o.Own)
		delete(o.Own, x.Name)
	}
}

// Settings are what was chosen, by the names of options.
type Settings map[string]string

// MarshalJSON writes whole numbers as numbers.
func (s Settings) MarshalJSON() ([]byte, error) {
	values := map[string]any{}
	for name, text := range s {
		values[name] = text
		if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
			values[name] = n
		}
	}
	return json.Marshal(values)
}

// UnmarshalJSON reads texts and numbers.
func (s *Settings) UnmarshalJSON(text []byte) error {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*s = Settings{}
	for name, value := range values {
		var is string
		var n json.Number
		if json.Unmarshal(value, &is) != nil {
			if err := json.Unmarshal(value, &n); err != nil {
				return fmt.Errorf("%s: want a text or a number, found %s", name, value)
			}
			is = n.String()
		}
		(*s)[name] = is
	}
	return nil
}

// Refusal says which option cannot be chosen so, and why.
type Refusal struct {
	Option string
	Err    error
}

// option returns the policy's option of that name, and false if it does not take it.
func (p *Info) option(name string) (Option, bool) {
	at := slices.IndexFunc(p.Options, func(x Option) bool { return x.Name == name })
	if at < 0 {
		return Option{}, false
	}
	return p.Options[at], true
}

// Takes reports whether the policy has a use for the option of that name.
func (p *Info) Takes(name string) bool {
	_, takes := p.option(name)
	return takes
}

// Choose has the options say what the settings do, and returns what the policy refuses of them: each
// option is tried by making a policy of it alone.
func (p *Info) Choose(s Settings, o *Options) (refused []Refusal) {
	var names []string
	for _, x := range p.Options {
		names = append(names, x.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		x, takes := p.option(name)
		err := x.Check(s[name])
		if near, ok := nearest.Of(name, names); !takes && ok {
			err = fmt.Errorf("the policy %s has no use for it; did you mean %s?", p.Name, near)
		} else if !takes {
			err = fmt.Errorf("the policy %s has no use for it; leave it out", p.Name)
		}
		if err == nil {
			x.put(o, s[name])
			if honoured := p.Honoured(*o); x.of(&honoured) != x.of(o) {
				err = fmt.Errorf("the policy %s is defined by %s; leave it out", p.Name, x.of(&honoured))
			}
		}
		if err == nil {
			_, err = p.tried(&x, s[name])
		}
		if err != nil {
			refused = append(refused, Refusal{name, err})
		}
	}
	return refused
}

// NewChosen makes the named policy of what is chosen about it, and of options that are nobody's choice.
func (l List) NewChosen(name string, s Settings, o Options) (sched.Policy, error) {
	p, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	for _, refused := range p.Choose(s, &o) {
		return nil, fmt.Errorf("%s: %w", refused.Option, refused.Err)
	}
	return l.New(name, o)
}

// tried is a policy that nobody uses. Any solver will do to see whether there may be one that races.
func (p *Info) tried(x *Option, text string) (sched.Policy, error) {
	o := Options{Racer: func(g *mcmf.Graph) flow.Solver { return mcmf.NewSolver(g) }}
	x.put(&o, text)
	return p.Make(p.Honoured(o))
}

// With is what is chosen about the policy if an option is, too, as the policy honours it.
func (p *Info) With(s Settings, x *Option, text string) Settings {
	var o Options
	x.put(&o, text)
	o = p.Honoured(o)
	s = maps.Clone(s)
	if s == nil {
		s = Settings{}
	}
	if s[x.Name] = x.of(&o); s[x.Name] == "" {
		delete(s, x.Name)
	}
	return s
}

// Chosen are the options as the policy takes them: what a result or a recording says of them.
func (p *Info) Chosen(o Options) Settings {
	o = p.Honoured(o)
	s := Settings{}
	for _, x := range p.Options {
		if text := x.of(&o); text != "" {
			s[x.Name] = text
		}
	}
	return s
}
