// Package chosen is a policy as people choose it: one value, under the same field names in specs of
// runs and in profiles of Kubernetes, which is checked here and becomes a lane. A lane is what recordings
// have of a policy, and the policy is made of it alone, whether a run is simulated, a cluster is
// scheduled, or either is replayed:
//
//	mistakes := chosen.Check(known)
//	lane, err := chosen.Lane(known, seed, classes)
//	policy, err := chosen.Make(known, &lane, policies.Options{})
//	core, err := sched.New(state, lane.Of(policy))
package chosen

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue/promethee"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// DefaultSeed is where random numbers of a policy start unless told otherwise, in simulations as in profiles: with another
// one other nodes are taken of those that are as good.
const DefaultSeed = 1

// Policy is a policy with what is chosen about it.
type Policy struct {
	Name    string            `json:"name"`
	Options policies.Settings `json:"options,omitempty"` // what is not there is the policy's own
	// Heartbeat and Watchdog are nil for the policy's own.
	Heartbeat *Time `json:"heartbeat,omitempty"`
	Watchdog  *Time `json:"watchdog,omitempty"`
}

// UnmarshalText reads a policy of which nothing else is chosen: its name.
func (p *Policy) UnmarshalText(text []byte) error {
	*p = Policy{Name: string(text)}
	return nil
}

// UnmarshalJSON reads a name, or fields, each of which must be known.
func (p *Policy) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) == nil {
		return p.UnmarshalText([]byte(name))
	}
	type fields Policy // without this method
	into := json.NewDecoder(bytes.NewReader(text))
	into.DisallowUnknownFields()
	return into.Decode((*fields)(p))
}

// Mistake is what is wrong with a field of a policy: name, or options.solver.
type Mistake struct {
	Field string
	Value string
	Err   error
}

// Check says what is wrong with the policy, of those that there are. If nothing is, its options are from
// then on all that it is made of.
func (p *Policy) Check(known policies.List) []Mistake {
	info, err := known.Find(p.Name)
	if err != nil {
		return []Mistake{{"name", p.Name, err}}
	}
	var o policies.Options
	var mistakes []Mistake
	for _, r := range info.Choose(p.Options, &o) {
		mistakes = append(mistakes, Mistake{"options." + r.Option, p.Options[r.Option], r.Err})
	}
	if len(mistakes) == 0 {
		p.Options = info.Chosen(o)
	}
	return mistakes
}

// Trigger is what starts the rounds of the policy; nothing of one that there is not.
func (p *Policy) Trigger(known policies.List) sched.Trigger {
	info, err := known.Find(p.Name)
	if err != nil {
		return sched.Trigger{}
	}
	when := info.When
	if p.Heartbeat != nil {
		when.Heartbeat = cluster.Time(*p.Heartbeat)
	}
	if p.Watchdog != nil {
		when.Watchdog = cluster.Time(*p.Watchdog)
	}
	return when
}

// Lane is the lane of the policy, called by its name, which owns every job. By the weights of the table of
// classes, of which there may be none, the policy sla goes. The error is the first of Check.
func (p *Policy) Lane(known policies.List, seed uint64, classes *class.Table) (recording.Lane, error) {
	made := *p
	for _, m := range made.Check(known) {
		return recording.Lane{}, fmt.Errorf("%s: %w", m.Field, m.Err)
	}
	when := made.Trigger(known)
	l := recording.Lane{
		Name: made.Name, Policy: made.Name, Seed: seed, Options: made.Options,
		Heartbeat: when.Heartbeat, Watchdog: when.Watchdog, IgnoreOutcomes: when.IgnoreOutcomes,
	}
	if classes == nil {
		return l, nil
	}
	for _, c := range classes.Criteria {
		l.Criteria = append(l.Criteria, recording.Criterion{Weight: c.Weight, Function: c.Function.String(), Indifference: c.Indifference, Preference: c.Preference})
	}
	return l, nil
}

// Make makes the policy of a lane. Of the options it takes what is nobody's choice, and no recording
// has: Typical, Racer, Programs and Stop.
func Make(known policies.List, l *recording.Lane, outside policies.Options) (sched.Policy, error) {
	o := policies.Options{Seed: l.Seed, Typical: outside.Typical, Racer: outside.Racer, Programs: outside.Programs, Beside: l.Beside, Stop: outside.Stop}
	for _, c := range l.Criteria {
		function, err := promethee.ParseFunction(c.Function)
		if err != nil {
			return nil, err
		}
		o.SLA.Criteria = append(o.SLA.Criteria, promethee.Criterion{Weight: c.Weight, Function: function, Indifference: c.Indifference, Preference: c.Preference})
	}
	return known.NewChosen(l.Policy, l.Options, o)
}
