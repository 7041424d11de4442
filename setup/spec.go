// Package setup is what simulations are made of, as values: a Spec says which cluster, workload,
// policies and faults a run has, and a Plan is a Spec that was checked and can be built and run. The
// command line translates its flags to a Spec, results and recordings carry it, and any program can
// make one, print it, or read it from a file.
//
//	spec, err := setup.Read("run.yaml", text)
//	plan, err := spec.Plan(policies.All())
//	for _, run := range plan.Runs() {
//		source, err := plan.Sources.Open(run.Seed)
//		config, err := plan.Config(run, source, setup.Env{})
//		result, err := sim.Run(config)
//	}
//
// The package also reads what a SRC says, such as synthetic:google?nodes=100: see ParseURL.
package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies/chosen"
)

// Version is that of specs.
const Version = 1

// Spec says what is simulated: the same world for each policy and seed. Fields are named as the
// flags of 'fairlead simulate', with _ for -, and mean the same.
type Spec struct {
	Version  int      `json:"version"`
	Source   Source   `json:"source"`
	Policies []Policy `json:"policies"` // a run each, with each seed
	// LongRunning is who places long-running applications, in a lane of their own before that of
	// each of Policies; nil: those place them too.
	LongRunning *Policy `json:"long_running,omitempty"`
	Seeds       Seeds   `json:"seeds"`
	World       World   `json:"world"`
	// Classes is the table of what was promised: a preset or a file; empty is as the source says: nothing
	// for a cluster's dump, as nobody was promised anything by a priority of Kubernetes, and else google.
	Classes string `json:"classes"`
	Limits  Limits `json:"limits"`
}

// Source says where nodes and tasks come from, each a SRC.
type Source struct {
	// Of Cluster and Workload, the one that is empty is the other; of both, the newcomer's.
	Cluster  string  `json:"cluster"`
	Workload string  `json:"workload,omitempty"`
	Beside   string  `json:"beside,omitempty"`  // further tasks
	Data     string  `json:"data,omitempty"`    // where the input of tasks lies; empty: as the source says
	Speedup  float64 `json:"speedup"`           // divides all times
	Lenient  bool    `json:"lenient,omitempty"` // broken lines are left out and counted
}

// Policy is a policy with what is chosen about it, as profiles of Kubernetes have it, too.
type Policy = chosen.Policy

// Time is a time as specs and flags have it.
type Time = chosen.Time

// World says how nodes and tasks behave.
type World struct {
	Overcommit  map[string]float64 `json:"overcommit,omitempty"` // capacities are multiplied, by kind
	Tiers       string             `json:"tiers,omitempty"`      // of nodes that have none, such as 5/5/5
	Initial     string             `json:"initial"`              // keep or place
	Overheads   Overheads          `json:"overheads,omitzero"`
	EvictedWork string             `json:"evicted_work"` // lost or kept
	Usage       Usage              `json:"usage,omitzero"`
	Faults      Faults             `json:"faults,omitzero"`
	Power       Power              `json:"power,omitzero"`
	NodePrices  string             `json:"node_prices,omitempty"` // of an hour, such as provider=aws:0.192,other:0.1
}

// Overheads say how long a run takes to begin: a file of samples, or times.
type Overheads struct {
	File  string `json:"file,omitempty"`
	Hot   *Time  `json:"hot,omitempty"`
	Cold  *Time  `json:"cold,omitempty"`
	First *Time  `json:"first,omitempty"`
}

// Usage is what nodes measure, as sim.Usage has it; what is nil is as in sim.DefaultUsage, and where
// all is, nothing is measured.
type Usage struct {
	Every *Time `json:"every,omitempty"`
	Least *int  `json:"least,omitempty"`
	Most  *int  `json:"most,omitempty"`
	Noise *int  `json:"noise,omitempty"`
}

// Faults are what goes wrong, as sim.Faults has it: a preset, or times between faults and chances in
// thousandths.
type Faults struct {
	Preset       string `json:"preset,omitempty"` // hostile or none
	NodeLoss     Time   `json:"node_loss,omitempty"`
	Down         Time   `json:"down,omitempty"`
	BindRefused  int    `json:"bind_refused,omitempty"`
	BindLate     int    `json:"bind_late,omitempty"`
	EvictLate    int    `json:"evict_late,omitempty"`
	EvictRefused int    `json:"evict_refused,omitempty"`
	Grace        Time   `json:"grace,omitempty"`
	Twice        int    `json:"twice,omitempty"`
	Late         int    `json:"late,omitempty"`
	Foreign      Time   `json:"foreign,omitempty"`
}

// Power is the table of hardware by which it is measured what nodes draw, a name or a file, and when nodes are switched off. In a file it may be one text as well, as the flag has it.
type Power struct {
	Table    string `json:"table,omitempty"`
	OffAfter *Time  `json:"off_after,omitempty"` // for how long nothing has been on a node; nil is never
	Wake     *Time  `json:"wake,omitempty"`      // how long that takes; nil is two minutes
	Keep     int    `json:"keep,omitempty"`      // how many nodes with nothing on them stay on
}

// Limits say when a run ends, and what planning costs in it.
type Limits struct {
	// Until is the time of the source at which to stop; nil is its end, or DefaultUntil where it has none.
	Until       *Time  `json:"until,omitempty"`
	PlannerTime string `json:"planner_time"` // ticks, zero or measured
}

// The newcomer's run.
const (
	DefaultSource   = "synthetic:google?nodes=1000&tasks-per-node=8"
	DefaultPolicies = "fairlead,kube,priority,best-fit"
	DefaultUntil    = "2h"
)

// Default is the newcomer's run, over which a file or flags say what is to be different.
func Default() Spec {
	s := Spec{
		Version: Version, Source: Source{Speedup: 1}, Seeds: Seeds{chosen.DefaultSeed},
		World: World{Initial: "keep", EvictedWork: "lost"}, Limits: Limits{PlannerTime: "ticks"},
	}
	for name := range strings.SplitSeq(DefaultPolicies, ",") {
		s.Policies = append(s.Policies, Policy{Name: name})
	}
	return s
}

// Read reads a spec, YAML or JSON, in which every field must be known, or that of a file of results;
// errors call it name. The values are not judged yet: see Plan.
func Read(name string, text []byte) (Spec, error) {
	s := Default()
	in, top, err := document.Open(name, text)
	if err != nil {
		return s, err
	}
	if runs := top.At("runs"); runs.Node != top.Node {
		spec := top.At("spec")
		if spec.Node == top.Node {
			return s, fmt.Errorf("%s: results that carry no spec, as they are older than specs", name)
		}
		top = spec
	}
	in.Decode(top, &s)
	// Of another version fields are others, which says nothing, but one that is no number is a mistake.
	if _, err := strconv.Atoi(top.At("version").Node.Value); s.Version != Version && (err == nil || !in.Failed()) {
		return s, fmt.Errorf("%s: a spec of version %d; this program reads version %d", name, s.Version, Version)
	}
	return s, in.Err()
}

// JSON is the spec as a compact text, the same for the same spec.
func (s *Spec) JSON() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // sources have &
	err := e.Encode(s)
	return bytes.TrimSpace(text.Bytes()), err
}

// YAML is the spec as people read it.
func (s *Spec) YAML() ([]byte, error) {
	text, err := s.JSON()
	if err != nil {
		return nil, err
	}
	return document.YAML(text)
}
