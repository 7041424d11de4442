package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

// This file is what a profile says: whose pods they are, by which policy they
// are placed, and whether pods of it may be evicted. The policy is the value that specs
// of simulated runs have, read, checked and made as there.

// Profile makes the pods of one spec.schedulerName ours.
type Profile struct {
	SchedulerName string `json:"schedulerName"`
	// Policy is a name, or what else is chosen about it besides, as a spec of `fairlead simulate` has
	// it; `fairlead policies` lists names, and `fairlead simulate --help` options, as flags.
	Policy chosen.Policy `json:"policy"`
	// Seed is where the policy's random numbers start; 0 is chosen.DefaultSeed, as of simulations.
	Seed uint64 `json:"seed,omitempty"`
	// Mode is Schedule, or Shadow; empty is Schedule.
	Mode string `json:"mode,omitempty"`
	// LearnReputation has nodes be known by how often they fail, so that the tier of a ServiceClass may ask for that: nodes have the label fairlead.dev/reputation for all
	// pods, high, average or low, as soon as one profile says so.
	LearnReputation bool `json:"learnReputation,omitempty"`

	Evictions Evictions `json:"evictions"`
}

// What Profile.Mode may be.
const (
	// Schedule places the pods.
	Schedule = "schedule"
	// Shadow decides for the pods, which another scheduler places, and carries nothing out.
	Shadow = "shadow"
)

// Evictions say whether pods of a profile may be evicted, how fast, and what a PodDisruptionBudget has to say in it.
type Evictions struct {
	// Enabled is so for whoever does not say that it is not, as with kube-scheduler.
	Enabled bool `json:"enabled"`
	Pace         // of those that make room
	// Moves is that of pods that leave for their own sake, to come to another node.
	Moves Pace `json:"moves"`
	// Budgets says what becomes of a PodDisruptionBudget that an eviction to make room would violate: Hard or BestEffort.
	Budgets string `json:"budgets"`
	// ExemptSystem keeps pods of the system's priorities, 2,000,000,000 and above, from being evicted for anybody.
	ExemptSystem bool `json:"exemptSystem"`
}

// Pace is how fast pods may be evicted.
type Pace struct {
	// AtOnce is how many pods may be on their way out at the same time, from the
	// request until they are gone.
	AtOnce int `json:"atOnce"`
	// PerMinute is how many may be asked to go in a minute.
	PerMinute int `json:"perMinute"`
}

// What Evictions.Budgets may be.
const (
	// Hard asks the Eviction API, which a budget may have refuse.
	Hard = "hard"
	// BestEffort is kube-scheduler's way: the pod is deleted. Pods go first whose eviction violates no budget.
	BestEffort = "bestEffort"
)

// silent is a profile that says nothing.
func silent() Profile { return Profile{Evictions: Evictions{Enabled: true}} }

// complete fills in what the profile leaves out.
func (p *Profile) complete(known policies.List) {
	if p.SchedulerName == "" {
		p.SchedulerName = DefaultSchedulerName
	}
	if p.Policy.Name == "" {
		p.Policy.Name = DefaultPolicy
	}
	if p.Seed == 0 {
		p.Seed = chosen.DefaultSeed
	}
	p.Policy.Check(known) // so that it says what it is made of; what is wrong Validate says
	if p.Evictions.Budgets == "" {
		p.Evictions.Budgets = Hard
		if p.SchedulerName == corev1.DefaultSchedulerName { // who takes kube-scheduler's place is to place what it would place
			p.Evictions.Budgets = BestEffort
		}
	}
	// Others make room as fast as with kube-scheduler, which has no limit. Moves are so few that one which is wrong does little
	// harm before somebody looks.
	p.Evictions.complete(mostAtOnce, mostPerMinute)
	p.Evictions.Moves.complete(16, 60)
}

// complete fills in what the pace leaves out.
func (p *Pace) complete(atOnce, perMinute int) {
	if p.AtOnce == 0 {
		p.AtOnce = atOnce
	}
	if p.PerMinute == 0 {
		p.PerMinute = perMinute
	}
}

// The largest limits of evictions.
const (
	mostAtOnce    = 4096
	mostPerMinute = 60_000
)

// UnmarshalJSON takes every field that is none of a profile for an option of its policy: there the
// options stood once, tie_break as tieBreak. Whether there is such an option, inspect has seen.
func (p *Profile) UnmarshalJSON(text []byte) error {
	type profile Profile // without this method
	p.Evictions.Enabled = true
	if err := json.Unmarshal(text, (*profile)(p)); err != nil {
		return err
	}
	old := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	maps.DeleteFunc(old, func(name string, _ json.RawMessage) bool {
		_, is := fieldsOf(reflect.TypeFor[Profile]()).types[name]
		return is
	})
	text, err := json.Marshal(old)
	if err != nil {
		return err
	}
	var options policies.Settings
	if err := json.Unmarshal(text, &options); err != nil {
		return err
	}
	for name, value := range options {
		if p.Policy.Options == nil {
			p.Policy.Options = policies.Settings{}
		}
		p.Policy.Options[snake(name)] = value
	}
	return nil
}

// camel is the old field of an option: tieBreak of tie_break.
func camel(option string) string {
	words := strings.Split(option, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// snake is the option of an old field: tie_break of tieBreak.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func validateProfiles(profiles []Profile, known policies.List, path *field.Path) field.ErrorList {
	if len(profiles) == 0 {
		return field.ErrorList{field.Required(path, "a scheduler without a profile has no pods")}
	}
	var errs field.ErrorList
	taken := map[string]bool{}
	for i := range profiles {
		p := &profiles[i]
		if taken[p.SchedulerName] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("schedulerName"), p.SchedulerName))
		}
		taken[p.SchedulerName] = true
		if first := profiles[0].Mode == Shadow; first != (p.Mode == Shadow) {
			errs = append(errs, field.Invalid(path.Index(i).Child("mode"), p.Mode, fmt.Sprintf(
				"must be that of %s, %q: who watches has no right to bind, and who binds would take the room that is only noted; give the shadow a process, a role and a lease of its own (kube/deploy/shadow)", path.Index(0), profiles[0].Mode)))
		}
		errs = append(errs, p.validate(known, path.Index(i))...)
	}
	return errs
}

func (p *Profile) validate(known policies.List, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	allowed := path.Child("evictions", "enabled")
	// Events carry the name as their reportingController, and the API server
	// refuses those whose controller is not a qualified name.
	for _, problem := range validation.IsQualifiedName(p.SchedulerName) {
		errs = append(errs, field.Invalid(path.Child("schedulerName"), p.SchedulerName, problem))
	}
	if p.Evictions.Enabled {
		errs = append(errs, p.Evictions.validate(path.Child("evictions"))...)
	}
	if !slices.Contains([]string{"", Schedule, Shadow}, p.Mode) {
		errs = append(errs, field.NotSupported(path.Child("mode"), p.Mode, []string{Schedule, Shadow}))
	}
	path = path.Child("policy")
	for _, m := range p.Policy.Check(known) {
		errs = append(errs, field.Invalid(path.Child(m.Field), m.Value, m.Err.Error()))
	}
	if _, ok := p.Decides(known); !ok {
		errs = append(errs, field.Invalid(path, p.Policy.Name,
			fmt.Sprintf("evicts pods to make room, which %s does not allow; set it to true, or choose another policy", allowed)))
	}
	return errs
}

// Decides is the policy as it decides for the profile: one that may do without evictions does so where the profile does
// not allow them. It is false where the policy always evicts, and that is not allowed.
func (p *Profile) Decides(known policies.List) (chosen.Policy, bool) {
	made := p.Policy
	info, err := known.Find(made.Name)
	if err != nil || p.Evictions.Enabled {
		return made, true
	}
	options, ok := info.KeepRunning(made.Options)
	made.Options = options
	return made, ok
}

func (e Evictions) validate(path *field.Path) field.ErrorList {
	errs := append(e.Pace.validate(path), e.Moves.validate(path.Child("moves"))...)
	if e.Budgets != Hard && e.Budgets != BestEffort {
		errs = append(errs, field.NotSupported(path.Child("budgets"), e.Budgets, []string{Hard, BestEffort}))
	}
	return errs
}

func (p *Pace) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.AtOnce < 1 || p.AtOnce > mostAtOnce {
		errs = append(errs, field.Invalid(path.Child("atOnce"), p.AtOnce, "must be between 1 and 4096"))
	}
	if p.PerMinute < 1 || p.PerMinute > mostPerMinute {
		errs = append(errs, field.Invalid(path.Child("perMinute"), p.PerMinute, "must be between 1 and 60000"))
	}
	return errs
}
