package sweep

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the list of runs that a sweep becomes.

// Run is one run of a sweep.
type Run struct {
	Key    string            `json:"key"`    // by which what came of it is found
	Policy string            `json:"policy"` // as the sweep has it, with its options where two are called the same
	Seed   uint64            `json:"seed"`
	Values map[string]string `json:"values,omitempty"` // of each axis, by its path
	Spec   setup.Spec        `json:"-"`                // of this run alone; a list that was read has none
}

// String is what messages call the run.
func (r *Run) String() string { return fmt.Sprintf("policy %s, seed %d", r.apart(), r.Seed) }

// apart is what tells the run from all but those of other seeds: its policy and its values.
func (r *Run) apart() string {
	parts := []string{r.Policy}
	for _, path := range slices.Sorted(maps.Keys(r.Values)) {
		parts = append(parts, path+" "+r.Values[path])
	}
	return strings.Join(parts, ", ")
}

// Specs are the runs without keys: policies in their order, within each the axes in theirs, and within those the
// seeds. The order never depends on anything but the sweep.
func (s *Sweep) Specs() ([]Run, error) {
	if err := s.count(); err != nil {
		return nil, err
	}
	used := make([]bool, len(s.except))
	var runs []Run
	names := s.labels()
	for p := range s.Policies {
		for at := make([]int, len(s.Vary)); at != nil; at = s.next(at) {
			world := Run{Policy: names[p], Values: map[string]string{}, Spec: s.Base}
			world.Spec.Policies = []setup.Policy{s.Policies[p]}
			for a, axis := range s.Vary {
				value := axis.Values[at[a]]
				world.Values[axis.Path] = value.Text
				err := set(&world.Spec, axis.Path, func(into any) { s.in.Decode(value.at, into) })
				if err != nil {
					return nil, err
				}
			}
			for _, seed := range s.Seeds {
				run := world
				run.Seed = seed
				run.Spec.Policies, run.Spec.Seeds = slices.Clone(world.Spec.Policies), setup.Seeds{seed}
				if !s.excepted(&run, used) {
					runs = append(runs, run)
				}
			}
		}
	}
	for i, is := range used {
		if !is {
			s.in.Complain(s.except[i].at, "no run has all of that; remove it, or mend it")
		}
	}
	if err := s.in.Err(); err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s: every run is excepted", s.name)
	}
	return runs, nil
}

// count says why there are no runs, or too many.
func (s *Sweep) count() error {
	if len(s.Policies) == 0 || len(s.Seeds) == 0 {
		return fmt.Errorf("%s: there are no runs: want a policy and a seed", s.name)
	}
	runs := int64(len(s.Policies)) * int64(len(s.Seeds)) // of a file of 64 MiB
	for _, axis := range s.Vary {
		if runs > MostRuns {
			break
		}
		runs *= int64(len(axis.Values))
	}
	if runs > MostRuns {
		return fmt.Errorf("%s: there are more than %d runs; want several sweeps, or fewer values", s.name, MostRuns)
	}
	return nil
}

// next are the next values of all axes, the last of which goes round first; nil after the last.
func (s *Sweep) next(at []int) []int {
	for a := len(at) - 1; a >= 0; a-- {
		if at[a]++; at[a] < len(s.Vary[a].Values) {
			return at
		}
		at[a] = 0
	}
	return nil
}

// excepted reports whether the run is left out, and notes by which exceptions.
func (s *Sweep) excepted(run *Run, used []bool) bool {
	is := false
	for i := range s.except {
		name := run.Spec.Policies[0].Name
		if !slices.ContainsFunc(s.except[i].wants, func(w want) bool {
			switch w.axis {
			case policyName:
				return w.text != run.Policy && w.text != name
			case seedName:
				return w.text != fmt.Sprint(run.Seed)
			}
			return w.text != run.Values[w.axis]
		}) {
			used[i], is = true, true
		}
	}
	return is
}

// labels are what the policies are called: by their names, and with what is chosen about them where that is not enough.
func (s *Sweep) labels() []string {
	count := map[string]int{}
	for _, p := range s.Policies {
		count[p.Name]++
	}
	var names []string
	for i := range s.Policies {
		name := s.Policies[i].Name
		if count[name] > 1 {
			name = label(&s.Policies[i])
		}
		names = append(names, name)
	}
	return names
}

// label is a policy with what is chosen about it.
func label(p *setup.Policy) string {
	parts := []string{p.Name}
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		parts = append(parts, name+"="+p.Options[name])
	}
	for _, of := range []struct {
		name string
		time *setup.Time
	}{{"heartbeat", p.Heartbeat}, {"watchdog", p.Watchdog}} {
		if of.time != nil {
			parts = append(parts, of.name+"="+of.time.String())
		}
	}
	return strings.Join(parts, " ")
}

// Plan checks every run, of policies that there are, and gives it its key, which stands for all that could make
// another result of it: the program, the spec with what that leaves out, what the files hold that it names, and
// whether lists are kept. The program is the text by which one is told from another.
func (s *Sweep) Plan(known policies.List, program string) (*List, error) {
	runs, err := s.Specs()
	if err != nil {
		return nil, err
	}
	list := &List{Version: Version, Program: program, Lists: s.Lists, Runs: runs}
	files := digester{}
	first := map[string]int{} // the run of a key
	var wrong mistakes
	for i := range list.Runs {
		run := &list.Runs[i]
		inputs, err := resolve(run, known)
		if err == nil {
			run.Key, err = list.key(run, files, inputs)
		}
		if err != nil {
			wrong.add(s.name, run, err)
			continue
		}
		if other, twice := first[run.Key]; twice {
			wrong.add(s.name, run, fmt.Errorf("is the same run as %s; a value stands there twice, or is what there is without it", &list.Runs[other]))
			continue
		}
		first[run.Key] = i
	}
	list.Inputs = slices.Sorted(maps.Keys(files))
	return list, wrong.err()
}

// resolve checks the spec of the run, has it say all that it leaves out, and returns the files that it reads.
func resolve(run *Run, known policies.List) ([]string, error) {
	plan, err := run.Spec.Plan(known)
	if err == nil {
		err = plan.Sources.Check()
	}
	if err != nil {
		return nil, err
	}
	run.Spec = plan.Spec
	inputs := plan.Inputs()
	if slices.Contains(inputs, trace.Stdin) {
		return nil, errors.New("the standard input can be read once, and there are several runs; want a file")
	}
	return inputs, nil
}

// mistakes are what is wrong with runs: what is wrong with several is said of the first.
type mistakes struct {
	said map[string]int
	all  []error
}

// mostMistakes is how many are said.
const mostMistakes = 10

func (m *mistakes) add(name string, run *Run, err error) {
	if m.said == nil {
		m.said = map[string]int{}
	}
	text := err.Error()
	if m.said[text]++; m.said[text] == 1 {
		m.all = append(m.all, fmt.Errorf("%s: %s: %w", name, run, err))
	}
}

func (m *mistakes) err() error {
	if more := len(m.all) - mostMistakes; more > 0 {
		return errors.Join(append(m.all[:mostMistakes:mostMistakes], fmt.Errorf("and %d more", more))...)
	}
	return errors.Join(m.all...)
}
