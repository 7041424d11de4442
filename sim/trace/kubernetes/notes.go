package kubernetes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file keeps the account of what a file says and the simulation does not
// honour: what is refused, and what is passed over in any case.

// gap is a field that restricts a pod in a way that is not simulated.
type gap struct{ path, why string }

// gapsOf lists the fields of a pod that are refused.
func gapsOf(s *manifest.Spec) []gap {
	var gaps []gap
	for i := range s.ResourceClaims {
		gaps = append(gaps, gap{fmt.Sprintf("spec.resourceClaims[%d]", i), "claims of devices are not simulated"})
	}
	return gaps
}

// notes counts what is not honoured.
type notes struct {
	passed    map[string]int // objects of other kinds
	leftOut   map[string]int // pods, by what they are
	ignored   map[string]int // preferences that cannot be kept, by field
	gaps      map[string]*gapCount
	numbers   []string // of what was to come in devices and does not
	leaving   int      // pods that are being deleted and hold their room still
	groupless int      // pods whose group is not in the files
	domains   int      // pod groups whose pods are to stand in one domain of a topology
	parts     int      // pod groups that are parts of composite ones
	stay      int      // pods that run with claims of which the files do not say where they could be
	inexact   []string // where constraints are not exactly what pods ask for
}

// gapCount is how many pods have fields of one sort that are not simulated.
type gapCount struct {
	first *trace.Error
	last  string // the pod counted last
	pods  int
}

func newNotes() notes {
	return notes{passed: map[string]int{}, leftOut: map[string]int{}, ignored: map[string]int{}, gaps: map[string]*gapCount{}}
}

// gap counts a field of a pod that is not simulated.
func (s *Source) gap(file, pod string, g gap) {
	sort := withoutIndexes(g.path)
	c := s.notes.gaps[sort]
	if c == nil {
		c = &gapCount{first: &trace.Error{File: file, At: "pod " + pod + ": " + g.path, Want: "a field that is simulated", Err: errors.New(g.why)}}
		s.notes.gaps[sort] = c
	}
	if c.last != pod {
		c.last = pod
		c.pods++
	}
}

// withoutIndexes is the path of a field wherever it stands: volumes[] for
// volumes[3].
func withoutIndexes(path string) string {
	var b strings.Builder
	for _, r := range path {
		if r < '0' || r > '9' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// refusals returns what is wrong with the file if it must be simulated as it is:
// the first pod for each sort of field.
func (n *notes) refusals(lenient bool) error {
	if lenient || len(n.gaps) == 0 {
		return nil
	}
	var errs []error
	for _, sort := range slices.Sorted(maps.Keys(n.gaps)) {
		c := n.gaps[sort]
		err := error(c.first)
		if c.pods > 1 {
			err = fmt.Errorf("%w (%d pods have such a field)", err, c.pods)
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%w\nwith --lenient such fields are ignored and counted", errors.Join(errs...))
}

// Notes says, a sentence each, what the source left out or ignored.
func (s *Source) Notes() []string {
	var all []string
	add := func(format string, a ...any) { all = append(all, fmt.Sprintf(format, a...)) }
	if s.skips.Count > 0 {
		add("left out %d objects that cannot be read; the first: %v", s.skips.Count, s.skips.First[0])
	}
	for _, kind := range slices.Sorted(maps.Keys(s.notes.passed)) {
		add("passed over %d objects of kind %s", s.notes.passed[kind], kind)
	}
	for _, what := range slices.Sorted(maps.Keys(s.notes.leftOut)) {
		add("left out %d pods that %s", s.notes.leftOut[what], what)
	}
	if s.notes.leaving > 0 {
		add("%d pods that run are being deleted, and count as if they stayed: who waits for their room may get it soon", s.notes.leaving)
	}
	for _, sort := range slices.Sorted(maps.Keys(s.notes.gaps)) {
		c := s.notes.gaps[sort]
		add("ignored %s of %d pods, as --lenient asks: %v; the first: %s", sort, c.pods, c.first.Err, c.first.At)
	}
	for _, field := range slices.Sorted(maps.Keys(s.notes.ignored)) {
		add("ignored a preference: %s (%d)", field, s.notes.ignored[field])
	}
	all = append(all, s.notes.numbers...)
	if s.notes.stay > 0 {
		add("%d pods that run have claims of volumes, and stay where they are, as the files do not say where else they could be: add %s to kubectl get", s.notes.stay, s.storage.lacking())
	}
	if s.notes.groupless > 0 {
		add("%d pods are of pod groups that are not in the files, and are placed one by one: add podgroups to kubectl get", s.notes.groupless)
	}
	if s.notes.domains > 0 {
		add("%d pod groups have schedulingConstraints.topology, which is not simulated: their pods are placed without regard to it", s.notes.domains)
	}
	if s.notes.parts > 0 {
		add("%d pod groups are parts of composite ones, which are not simulated: each is placed by itself", s.notes.parts)
	}
	if n := len(s.notes.inexact); n > 0 {
		add("not exactly as Kubernetes has it, the first of %d: %s", n, s.notes.inexact[0])
	}
	return all
}

// numberNote says why a resource that was to come in devices does not.
func numberNote(name string, resources manifest.Maxima) string {
	if most, there := resources[name]; there {
		return fmt.Sprintf("%s is a number, as there are up to %d of it in one place: of all resources that come in devices a node may have %d together, in equal shares", name, most, cluster.MaxDevices)
	}
	return fmt.Sprintf("no node offers %s, and no pod asks for it", name)
}

func shorten(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}
