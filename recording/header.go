package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/strict"
	"fairlead.dev/fairlead/sched"
)

// This file is the first line of a recording: what the core was made of.

const (
	format  = "recording"
	version = 11
	oldest  = 2 // that is read: it has fewer names than this one
)

// Header says what a core was made of.
type Header struct {
	// Comment says to people what was recorded.
	Comment string
	// Origin is the moment that is time 0; the zero value where nobody knows.
	Origin time.Time
	// Spec is all that the run was made of, as package setup has it; nil where it was no
	// simulation, or the recording is older than specs.
	Spec    json.RawMessage
	Kinds   []cluster.Kind
	Classes []cluster.Class
	Lanes   []Lane
}

// Lane says what a lane of the core was made of.
type Lane struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Seed   uint64 `json:"seed"`
	// Options are what was chosen about the policy, by name; what is not there is its own.
	Options map[string]string `json:"options,omitempty"`
	// User is the one whose jobs the lane owns; empty for every job that no
	// lane before it owns.
	User string `json:"user,omitempty"`
	// LongRunning says that the lane owns long-running applications alone.
	LongRunning bool `json:"long_running,omitempty"`
	// Beside is as sched.Lane has it.
	Beside bool `json:"beside,omitempty"`
	// Races is, in a replay, who won the races of the lane's policy.
	Races *Races `json:"-"`
	// Answers is, in a replay, how far the solver of integer programs was asked.
	Answers             *Answers     `json:"-"`
	Heartbeat, Watchdog cluster.Time `json:"-"`
	// IgnoreOutcomes is as sched.Trigger has it; on the wire it is "patient".
	IgnoreOutcomes bool `json:"patient,omitempty"`
	// Criteria are those of the policy sla; none is the policy's own.
	Criteria []Criterion `json:"criteria,omitempty"`
}

// Criterion is how much something counts where a policy orders its queue by several
// things at once, as in promethee.Criterion; its function is named.
type Criterion struct {
	Weight       float64 `json:"weight"`
	Function     string  `json:"function"`
	Indifference int64   `json:"indifference,omitempty"`
	Preference   int64   `json:"preference,omitempty"`
}

// Owns is the lane's rule, as sched.Lane has it.
func (l *Lane) Owns() func(*cluster.Job) bool {
	user, long := l.User, l.LongRunning
	if user == "" && !long {
		return nil
	}
	return func(j *cluster.Job) bool { return (user == "" || j.User == user) && (!long || j.LongRunning) }
}

// Of is the lane of a core in which the policy decides.
func (l *Lane) Of(policy sched.Policy) sched.Lane {
	return sched.Lane{
		Name: l.Name, Owns: l.Owns(), Policy: policy, Beside: l.Beside,
		When: sched.Trigger{Heartbeat: l.Heartbeat, Watchdog: l.Watchdog, IgnoreOutcomes: l.IgnoreOutcomes},
	}
}

// wireHeader is a header as it is written.
type wireHeader struct {
	Fairlead string          `json:"fairlead"`
	Version  int             `json:"version"`
	Comment  text            `json:"comment,omitempty"`
	Origin   string          `json:"origin,omitempty"`
	Spec     json.RawMessage `json:"spec,omitempty"`
	Kinds    []wireKind      `json:"kinds"`
	Classes  []wireClass     `json:"classes,omitempty"`
	Lanes    []wireLane      `json:"lanes"`
}

type wireKind struct {
	Name    text  `json:"name"`
	Unit    text  `json:"unit,omitempty"`
	PerUnit int64 `json:"per_unit"`
	Devices bool  `json:"devices,omitempty"`
}

type wireClass struct {
	Name text `json:"name"`
	wirePromise
}

// wirePromise is a class but for its name.
type wirePromise struct {
	Name         string        `json:"-"`
	Importance   int32         `json:"importance"`
	Availability cluster.Share `json:"availability,omitempty"`
	Margin       cluster.Time  `json:"margin,omitempty"`
	Restart      cluster.Time  `json:"restart,omitempty"`
	Budget       cluster.Share `json:"budget,omitempty"`
	KeepsWork    bool          `json:"keeps_work,omitempty"`
	LeastRun     cluster.Time  `json:"least_run,omitempty"`
	Urgency      cluster.Level `json:"urgency,omitempty"`
	Tier         cluster.Level `json:"tier,omitempty"`
	Size         cluster.Level `json:"size,omitempty"`
	Redundancy   cluster.Level `json:"redundancy,omitempty"`
	Replicas     int32         `json:"replicas,omitempty"`
}

func wireClassOf(c *cluster.Class) wireClass { return wireClass{text(c.Name), wirePromise(*c)} }

// class is what was written; nothing of an event that has none.
func (w *wireClass) class() cluster.Class {
	if w == nil {
		return cluster.Class{}
	}
	c := cluster.Class(w.wirePromise)
	c.Name = string(w.Name)
	return c
}

// promise appends what a class promises, by encoding/json, as it comes seldom.
func (x *encoder) promise(c *cluster.Class) *encoder {
	line, err := json.Marshal(wireClassOf(c))
	if err != nil {
		panic("recording: a class that cannot be written: " + err.Error())
	}
	x.key("promise")
	x.line = append(x.line, line...)
	return x
}

// wireLane is a lane; what it names again is instead of the lane's own.
type wireLane struct {
	Lane
	wireOptions
	Name      text         `json:"name"`
	User      text         `json:"user,omitempty"`
	Heartbeat cluster.Time `json:"heartbeat,omitempty"`
	Watchdog  cluster.Time `json:"watchdog,omitempty"`
}

// wireOptions are those of lanes before version 8.
type wireOptions struct {
	Ties       string `json:"ties,omitempty"`
	Solver     string `json:"solver,omitempty"`
	Migrations int    `json:"migrations,omitempty"`
}

// into adds them to what was chosen.
func (w *wireOptions) into(chosen map[string]string) map[string]string {
	for name, text := range map[string]string{"tie_break": w.Ties, "solver": w.Solver, "migrations": strconv.Itoa(w.Migrations)} {
		if text == "" || text == "0" {
			continue
		}
		if chosen == nil {
			chosen = map[string]string{}
		}
		chosen[name] = text
	}
	return chosen
}

// encode returns the header as a line.
func (h *Header) encode() ([]byte, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	w := wireHeader{Fairlead: format, Version: version, Comment: text(h.Comment), Spec: h.Spec}
	if !h.Origin.IsZero() {
		w.Origin = h.Origin.UTC().Format(time.RFC3339Nano)
	}
	for _, k := range h.Kinds {
		w.Kinds = append(w.Kinds, wireKind{text(k.Name), text(k.Unit), k.PerUnit, k.Devices})
	}
	for _, c := range h.Classes {
		w.Classes = append(w.Classes, wireClassOf(&c))
	}
	for _, l := range h.Lanes {
		w.Lanes = append(w.Lanes, wireLane{Lane: l, Name: text(l.Name), User: text(l.User), Heartbeat: l.Heartbeat, Watchdog: l.Watchdog})
	}
	line, err := json.Marshal(w)
	if err == nil && len(line) >= maxHeader {
		err = fmt.Errorf("header: it would have %d bytes, and at most %d are read", len(line), maxHeader)
	}
	return append(line, '\n'), err
}

// decodeHeader reads the first line of a recording.
func decodeHeader(line []byte) (*Header, error) {
	var kind struct {
		Fairlead string `json:"fairlead"`
		Version  int    `json:"version"`
	}
	if err := json.Unmarshal(line, &kind); err != nil || kind.Fairlead != format {
		return nil, errors.New(`this is no recording: the first line must be a header, {"fairlead": "recording", …}`)
	}
	if kind.Version < oldest || kind.Version > version {
		return nil, fmt.Errorf("the recording has version %d, and this program reads versions %d to %d; replay it with the one that wrote it", kind.Version, oldest, version)
	}
	var w wireHeader
	if err := strict.Decode(line, &w); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	h := &Header{Comment: string(w.Comment), Spec: w.Spec}
	if w.Origin != "" {
		origin, err := time.Parse(time.RFC3339Nano, w.Origin)
		if err != nil {
			return nil, fmt.Errorf("header: origin %q is no time such as 2026-11-21T13:45:20Z", w.Origin)
		}
		h.Origin = origin
	}
	for _, k := range w.Kinds {
		h.Kinds = append(h.Kinds, cluster.Kind{Name: string(k.Name), Unit: string(k.Unit), PerUnit: k.PerUnit, Devices: k.Devices})
	}
	for _, c := range w.Classes {
		h.Classes = append(h.Classes, c.class())
	}
	for _, l := range w.Lanes {
		l.Lane.Name, l.Lane.User, l.Lane.Heartbeat, l.Lane.Watchdog = string(l.Name), string(l.User), l.Heartbeat, l.Watchdog
		l.Options = l.into(l.Options)
		h.Lanes = append(h.Lanes, l.Lane)
	}
	return h, h.validate()
}

// validate says why no core can be made of the header.
func (h *Header) validate() error {
	if len(h.Kinds) == 0 || len(h.Kinds) > cluster.MaxKinds {
		return fmt.Errorf("header: %d kinds, want 1 to %d", len(h.Kinds), cluster.MaxKinds)
	}
	if err := cluster.CheckKinds(h.Kinds); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := cluster.CheckClasses(h.Classes); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if len(h.Lanes) == 0 || len(h.Lanes) >= math.MaxUint8 {
		return fmt.Errorf("header: %d lanes, want 1 to %d", len(h.Lanes), math.MaxUint8-1)
	}
	for _, l := range h.Lanes {
		if !sensible(l.Heartbeat) || !sensible(l.Watchdog) {
			return fmt.Errorf("header: lane %q has heartbeat %d and watchdog %d, want times from 0 to %d", l.Name, l.Heartbeat, l.Watchdog, maxTime)
		}
	}
	return nil
}

// maxTime bounds times, 36,000 years, so that sums of a few do not overflow.
const maxTime = cluster.Time(1) << 60

func sensible(t cluster.Time) bool { return t >= 0 && t <= maxTime }
