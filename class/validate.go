package class

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file says what is wrong with a table as a whole: what no field can know by
// itself. What nodes it needs is in nodes.go.

// MostReplicas is how many copies of a task a class may want.
const MostReplicas = 1000

// problem is what is wrong with the field at a path.
type problem struct{ path, what string }

func (p problem) Error() string {
	if p.path == "" {
		return p.what
	}
	return p.path + ": " + p.what
}

// Validate says what is wrong with a table, each with the path of its field. What
// Decode returns is right.
func (t *Table) Validate() error {
	var errs []error
	for _, p := range t.problems() {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

func (t *Table) problems() []problem {
	if len(t.Classes) == 0 {
		return []problem{{"classes", "there is none, want at least one"}}
	}
	var found []problem
	add := func(i int, field, format string, args ...any) {
		path := fmt.Sprintf("classes[%d]", i)
		found = append(found, problem{join(path, field), fmt.Sprintf(format, args...)})
	}
	for i := range t.Classes {
		c := &t.Classes[i]
		if why := nameProblem(c.Name); why != "" {
			add(i, "name", "%s", why)
		}
		if first := t.rowNamed(c.Name); first < i {
			add(i, "name", "%q is the name of classes[%d] too", c.Name, first)
		}
		if c.Replicas > MostReplicas {
			add(i, "replicas", "%d, want a whole number from 1 to %d", c.Replicas, MostReplicas)
		}
		t.checkPriority(i, add)
	}
	if err := cluster.CheckClasses(t.Rows()); err != nil {
		found = append(found, problem{"classes", err.Error()})
	}
	if err := t.CheckPrices(); err != nil {
		path, what, ok := strings.Cut(err.Error(), ": ") // credits[1]: attained ...
		if !ok || !strings.HasPrefix(path, "credits") {
			path, what = "classes", err.Error()
		}
		found = append(found, problem{path, what})
	}
	return append(found, t.weightProblems()...)
}

func (t *Table) rowNamed(name string) int {
	return slices.IndexFunc(t.Classes, func(c Class) bool { return c.Name == name })
}

// checkPriority says where a class would get no task by its priority.
func (t *Table) checkPriority(i int, add func(i int, field, format string, args ...any)) {
	from := t.Classes[i].From
	if from == NoPriority {
		return
	}
	for k := range i {
		switch before := t.Classes[k].From; {
		case before == from:
			add(i, "priority", "%d, as classes[%d], which gets all from there on", from, k)
			return
		case before < from:
			add(i, "priority", "%d, but classes[%d] before it gets all from %d on; put the class with the higher priority first", from, k, before)
			return
		}
	}
}

func (t *Table) weightProblems() []problem {
	if t.Criteria == nil {
		return nil
	}
	if len(t.Criteria) != len(Criteria()) {
		return []problem{{"weights", fmt.Sprintf("there are %d, want one for each of %s", len(t.Criteria), strings.Join(Criteria(), ", "))}}
	}
	var found []problem
	sum := 0.0
	for i, c := range t.Criteria {
		sum += c.Weight
		c.Weight = 1 // the sum is judged below, and one criterion is here judged alone
		if err := promethee.Validate([]promethee.Criterion{c}); err != nil {
			found = append(found, problem{"weights." + Criteria()[i], strings.TrimPrefix(err.Error(), "criterion 0: ")})
		}
	}
	if !(sum > 0) {
		found = append(found, problem{"weights", fmt.Sprintf("sum to %g, want at least one above 0", sum)})
	}
	return found
}

// nameProblem says why no class can have that name. It is a value of a label in
// Kubernetes, and a part of the paths of results.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 63:
		return fmt.Sprintf("%q is longer than 63 letters", name)
	case name == "all":
		return "\"all\" is what reports call all classes together; choose another"
	case strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(letters+"-_", r) }):
		return fmt.Sprintf("%q, want letters, digits, - and _ alone", name)
	case strings.Trim(name[:1]+name[len(name)-1:], letters) != "":
		return fmt.Sprintf("%q, want a letter or digit at both ends", name)
	}
	return ""
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
