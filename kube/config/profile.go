package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/policies"
)

// This file is what a profile says: whose pods they are, by which policy they
// are placed, and whether pods of it may be evicted.

// Profile makes the pods of one spec.schedulerName ours.
type Profile struct {
	SchedulerName string `json:"schedulerName"`
	// Policy is a name from fairlead.dev/fairlead/policies; `fairlead policies`
	// lists them.
	Policy string `json:"policy"`
	// Seed is where the policy's random numbers start.
	Seed uint64 `json:"seed,omitempty"`
	// TieBreak says which of several equally good nodes is taken. Flow policies
	// have none.
	TieBreak string `json:"tieBreak,omitempty"`
	// Solver is what solves a flow policy's network; empty is right for most.
	Solver string `json:"solver,omitempty"`
	// Migrations is how many running pods a round may move, of a policy that moves any.
	Migrations int `json:"migrations,omitempty"`

	Evictions Evictions `json:"evictions"`
}

// Evictions say whether pods of a profile may be evicted, and how fast. Budgets
// of the cluster (PodDisruptionBudget) hold besides.
type Evictions struct {
	Enabled bool `json:"enabled"`
	// AtOnce is how many pods may be on their way out at the same time, from the
	// request until they are gone.
	AtOnce int `json:"atOnce"`
	// PerMinute is how many may be asked to go in a minute.
	PerMinute int `json:"perMinute"`
}

// complete fills in what the profile leaves out.
func (p *Profile) complete() {
	if p.SchedulerName == "" {
		p.SchedulerName = DefaultSchedulerName
	}
	if p.Policy == "" {
		p.Policy = "kube"
	}
	if p.TieBreak == "" {
		p.TieBreak = tieBreak(p.Policy, policies.Fixed)
	}
	// So few that a policy which is wrong does little harm before somebody looks.
	if p.Evictions.AtOnce == 0 {
		p.Evictions.AtOnce = 16
	}
	if p.Evictions.PerMinute == 0 {
		p.Evictions.PerMinute = 60
	}
}

// tieBreak names the tie-break that the policy uses where another is asked for;
// empty if it has none.
func tieBreak(policy string, asked policies.Ties) string {
	info, err := policies.Find(policy)
	if err != nil {
		return asked.String()
	}
	return info.TieBreak(policies.Options{Ties: asked})
}

// Options are those that the profile's policy is made with.
func (p *Profile) Options() (policies.Options, error) {
	o := policies.Options{Seed: p.Seed, Solver: p.Solver, Migrations: p.Migrations}
	if p.TieBreak == "" {
		return o, nil
	}
	var err error
	o.Ties, err = policies.ParseTies(p.TieBreak)
	return o, err
}

func validateProfiles(profiles []Profile, path *field.Path) field.ErrorList {
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
		errs = append(errs, p.validate(path.Index(i))...)
	}
	return errs
}

func (p *Profile) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// Events carry the name as their reportingController, and the API server
	// refuses those whose controller is not a qualified name.
	for _, problem := range validation.IsQualifiedName(p.SchedulerName) {
		errs = append(errs, field.Invalid(path.Child("schedulerName"), p.SchedulerName, problem))
	}
	if p.Evictions.Enabled {
		errs = append(errs, p.Evictions.validate(path.Child("evictions"))...)
	}
	info, err := policies.Find(p.Policy)
	if err != nil {
		return append(errs, field.Invalid(path.Child("policy"), p.Policy, "no such policy; "+nearest(p.Policy, policies.Names())))
	}
	if info.Evicts && !p.Evictions.Enabled {
		errs = append(errs, field.Invalid(path.Child("policy"), p.Policy,
			fmt.Sprintf("evicts pods to make room, which %s does not allow; set it to true, or choose another policy", path.Child("evictions", "enabled"))))
	}
	errs = append(errs, p.validateTies(path.Child("tieBreak"))...)
	return append(errs, p.validateFlow(&info, path)...)
}

// validateTies judges the tie-break by what the policy would make of it.
func (p *Profile) validateTies(path *field.Path) field.ErrorList {
	o, err := p.Options()
	if err != nil {
		return field.ErrorList{field.NotSupported(path, p.TieBreak, policies.TieBreaks())}
	}
	switch is := tieBreak(p.Policy, o.Ties); is {
	case p.TieBreak:
		return nil
	case "":
		return field.ErrorList{field.Invalid(path, p.TieBreak, fmt.Sprintf("the policy %s has no ties to break; leave tieBreak out", p.Policy))}
	default:
		return field.ErrorList{field.Invalid(path, p.TieBreak, fmt.Sprintf("the policy %s is defined by %s; leave tieBreak out", p.Policy, is))}
	}
}

// validateFlow judges what only flow policies have a use for. Who moves pods evicts
// them, and without evictions was refused before.
func (p *Profile) validateFlow(info *policies.Info, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	const none = "the policy %s places one pod at a time and has no use for it; leave it out"
	switch {
	case p.Solver == "":
	case info.Family != policies.Flow:
		errs = append(errs, field.Invalid(path.Child("solver"), p.Solver, fmt.Sprintf(none, p.Policy)))
	default:
		racer := func(g *mcmf.Graph) flow.Solver { return mcmf.NewSolver(g) } // any will do, to see whether there may be one
		if _, err := policies.New(p.Policy, policies.Options{Solver: p.Solver, Racer: racer}); err != nil {
			errs = append(errs, field.Invalid(path.Child("solver"), p.Solver, err.Error()))
		}
	}
	switch {
	case p.Migrations == 0:
	case p.Migrations < 0:
		errs = append(errs, field.Invalid(path.Child("migrations"), p.Migrations, "must be at least 0"))
	case !info.Moves:
		errs = append(errs, field.Invalid(path.Child("migrations"), p.Migrations,
			fmt.Sprintf("the policy %s moves no running pods and has no use for it; leave it out", p.Policy)))
	}
	return errs
}

func (e Evictions) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if e.AtOnce < 1 || e.AtOnce > 4096 {
		errs = append(errs, field.Invalid(path.Child("atOnce"), e.AtOnce, "must be between 1 and 4096"))
	}
	if e.PerMinute < 1 || e.PerMinute > 60_000 {
		errs = append(errs, field.Invalid(path.Child("perMinute"), e.PerMinute, "must be between 1 and 60000"))
	}
	return errs
}
